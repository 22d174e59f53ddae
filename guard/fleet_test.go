package guard

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/series"
)

// Ten functions have 10% each, in windows of 5 to 20 samples. The hits of "no function", of the
// worst of each window, add up to more than its limit of 20%, and the metric says that they are no
// share. Its twin on a pattern is one, and within the limit.
func TestFault_88_SumOfMaxima(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		random := rand.New(rand.NewPCG(41, 88))
		w.linked = append(w.linked, "main.f3")
		w.take = func(int) profiler.Window {
			text := "cpu 10s\n"
			for range 5 + random.IntN(16) {
				text += fmt.Sprintf("main.main;main.serve;main.f%d 1\n", random.IntN(10))
			}
			return cpuWindow(text)
		}
		g := w.start(t, Config{Budgets: budget.Must("each: no function above 20%", "pattern: main.f3 below 20%"), Window: 10 * second, Every: 10 * second})
		pass(time.Hour)
		share := func(name, additive string) float64 {
			var hits, samples float64
			registry := prometheus.NewRegistry()
			registry.MustRegister(g.collector())
			labels := fmt.Sprintf("_total{additive=%q,budget=%q} ", additive, name)
			for line := range strings.Lines(scrape(t, registry, "text/plain")) {
				if v, ok := strings.CutPrefix(line, "profguard_hits"+labels); ok {
					fmt.Sscan(v, &hits)
				} else if v, ok := strings.CutPrefix(line, "profguard_samples"+labels); ok {
					fmt.Sscan(v, &samples)
				}
			}
			return hits / samples
		}
		if got := share("each", "function"); !(got > 0.22 && got < 0.35) {
			t.Errorf("hits of the worst function add up to %.3f, want about a quarter, and not as a share", got)
		}
		if got := share("pattern", "true"); !(got > 0.08 && got < 0.12) {
			t.Errorf("the pattern has a share of %.3f, want 0.1", got)
		}
		g.Stop()
	})
}

func TestWhatAddsUp(t *testing.T) {
	for sentence, want := range map[string]bool{
		"fmt below 5%":                         true,
		"fmt below 5% flat in main.handle":     true,
		"fmt below 5% where endpoint=a":        true,
		"fmt absent":                           true,
		"fmt below 5% of allocs":               true,
		"no function above 20%":                false,
		"no package above 20% flat":            false,
		"fmt grows below 5 points":             false,
		"no function grows above 5 points":     false,
		"fmt below 0.2 cores":                  false,
		"fmt below 40us per request":           false,
		"process below 2ms per request":        false,
		"process below 1.5 cores":              false,
		"gc below 5%":                          false,
		"goroutines below 50":                  false,
		"fmt below 5% of heap":                 false,
		"no goroutine leaked":                  false,
		"heap steady":                          false,
		"no function above 64MiB of heap":      false,
		"fmt below 5% of goroutine":            false,
		"no function above 0.1 cores of mutex": false,
	} {
		if got := series.Additive(&entryOf(sentence).Rule) == "true"; got != want {
			t.Errorf("%s: adds up %t, want %t", sentence, got, want)
		}
	}
}
