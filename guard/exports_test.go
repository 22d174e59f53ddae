package guard

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExportsAreDocumented compares the tables of docs/exports.md with what is
// exported. What an event means is written by hand.
func TestExportsAreDocumented(t *testing.T) {
	const file = "../docs/exports.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var metrics strings.Builder
	for _, m := range exportedMetrics(t) {
		labels := "none"
		if m.Labels != "" {
			labels = "`" + strings.Join(strings.Split(m.Labels, ","), "`, `") + "`"
		}
		fmt.Fprintf(&metrics, "| `%s` | %s | %s |\n", m.Name, labels, m.Help)
	}
	if diff := cmp.Diff(metrics.String(), rows(string(data), "profguard_", 3)); diff != "" {
		t.Errorf("%s does not list the metrics that are exported (-want +got):\n%s", file, diff)
	}
	var events strings.Builder
	for _, e := range exportedEvents() {
		fmt.Fprintf(&events, "| `%s` | %s |\n", e.Name, e.Labels)
	}
	if diff := cmp.Diff(events.String(), rows(string(data), "profguard.", 2)); diff != "" {
		t.Errorf("%s does not list the events that are emitted (-want +got):\n%s", file, diff)
	}
}

// rows are the first cells of the table rows about names with a prefix.
func rows(doc, prefix string, cells int) string {
	var b strings.Builder
	for line := range strings.Lines(doc) {
		if !strings.HasPrefix(line, "| `"+prefix) || strings.Contains(line, "attribute") {
			continue
		}
		parts := strings.Split(strings.TrimSpace(line), " | ")
		b.WriteString(strings.TrimSuffix(strings.Join(parts[:min(cells, len(parts))], " | "), " |") + " |\n")
	}
	return b.String()
}
