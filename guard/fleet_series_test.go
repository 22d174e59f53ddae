package guard

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
)

// docs/reference.md says how many series a process has, with a unit of work, without those of
// functions.
func TestSeriesOfAProcess(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = story("g")
		var sentences []string
		for n := range 10 {
			sentences = append(sentences, fmt.Sprintf("b%d: fmt.Println below %d%%", n, 50+n))
		}
		g := w.start(t, Config{
			Every: 10 * second, Window: 10 * second, FunctionSeries: 100, Budgets: budget.Must(sentences...),
			Work: map[string]func() float64{"request": func() float64 { return 1 }},
		})
		defer g.Stop()
		pass(3 * time.Minute) // functions are counted after the first
		registry := prometheus.NewPedanticRegistry()
		if err := registry.Register(g.collector()); err != nil {
			t.Fatal(err)
		}
		ofBudgets, others := 0, 0
		for line := range strings.Lines(scrape(t, registry, "text/plain")) {
			switch {
			case strings.HasPrefix(line, "#") || strings.HasPrefix(line, "profguard_function_hits_total"):
			case strings.Contains(line, `"callback"`): // of OnEvent, which the tests have
			case strings.Contains(line, "budget="):
				ofBudgets++
			default:
				others++
			}
		}
		doc, err := os.ReadFile("../docs/reference.md")
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("With 10 budgets and 100 functions a process has %d series,", ofBudgets+100+others)
		each := fmt.Sprintf("%d for each budget, one for each function, and %d others", ofBudgets/10, others)
		for _, text := range []string{want, each} {
			if !strings.Contains(strings.Join(strings.Fields(string(doc)), " "), text) {
				t.Errorf("docs/reference.md does not say %q", text)
			}
		}
	})
}
