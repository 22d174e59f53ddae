package guard

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/profguard/profguard/budget"
)

// TestExportsAreDocumented compares the tables of docs/exports.md with what is
// exported. What it means is written by hand.
func TestExportsAreDocumented(t *testing.T) {
	const file = "../docs/exports.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	var metrics strings.Builder
	for _, m := range exportedMetrics(t) {
		labels := "none"
		if m.Labels != "" {
			labels = "`" + strings.Join(strings.Split(m.Labels, ","), "`, `") + "`"
		}
		fmt.Fprintf(&metrics, "| `%s` | %s | %s |\n", m.Name, labels, m.Help)
	}
	if diff := cmp.Diff(metrics.String(), table(doc, "Metric", 3)); diff != "" {
		t.Errorf("%s does not list the metrics that are exported (-want +got):\n%s", file, diff)
	}
	var events strings.Builder
	for _, e := range exportedEvents() {
		fmt.Fprintf(&events, "| `%s` | %s |\n", e.Name, e.Labels)
	}
	if diff := cmp.Diff(events.String(), table(doc, "Event", 2)); diff != "" {
		t.Errorf("%s does not list the events that are emitted (-want +got):\n%s", file, diff)
	}
	var attributes []string
	frame := budget.Frame{Function: "main.burn", File: "main.go", Line: 7}
	e := Event{Name: EventFiring, Budget: "hot", Dump: "profguard-x", DumpURL: "https://x", Result: budget.Result{
		Budget: budget.Must("hot: no function above 20%")[0], Offenders: []budget.Offender{{Frame: frame, Blame: frame}},
	}}
	e.attributes("", func(name, logged string, _ any) {
		if name != "" {
			attributes = append(attributes, "`"+name+"`")
		}
		if !strings.Contains(doc, "`"+logged+"`") && logged != "" {
			t.Errorf("%s does not name the attribute %s of the log", file, logged)
		}
	})
	listed := regexp.MustCompile("`[^`]+`").FindAllString(table(doc, "Attribute", 1), -1)
	if diff := cmp.Diff(attributes, listed); diff != "" {
		t.Errorf("%s does not list the attributes of events (-want +got):\n%s", file, diff)
	}
}

// table is the first cells of the rows of a table, by the head of its first column.
func table(doc, head string, cells int) string {
	_, rows, _ := strings.Cut(doc, "\n| "+head+" |")
	rows, _, _ = strings.Cut(rows, "\n\n")
	var b strings.Builder
	for line := range strings.Lines(rows) {
		if strings.HasPrefix(line, "| `") {
			parts := strings.Split(strings.TrimSpace(line), " | ")
			b.WriteString(strings.TrimSuffix(strings.Join(parts[:min(cells, len(parts))], " | "), " |") + " |\n")
		}
	}
	return b.String()
}
