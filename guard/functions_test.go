package guard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/series"
)

// scraped are the values of a guard's series, by their text.
func scraped(t *testing.T, g *Guard) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(g.collector())
	values := map[string]float64{}
	for line := range strings.Lines(scrape(t, registry, "text/plain")) {
		if series, value, ok := strings.Cut(strings.TrimSpace(line), "} "); ok {
			v := 0.0
			fmt.Sscan(value, &v)
			values[series+"}"] = v
		} else if series, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && line[0] != '#' {
			v := 0.0
			fmt.Sscan(value, &v)
			values[series] = v
		}
	}
	return values
}

// Functions are counted in all good windows but those of the first minute, with the work that was
// done in them.
func TestFunctions(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		done := 0.0
		w.take = func(n int) profiler.Window {
			done += 50
			if n%2 == 1 {
				return profiler.Window{Outcome: profiler.Busy, Reason: "other code has it"}
			}
			return cpuWindow(fullCore)
		}
		g := w.still(t, Config{
			FunctionSeries: 2, Window: 10 * second, Every: 10 * second, Budgets: budget.Must("goroutines below 1000000"),
			Work: map[string]func() float64{"request": func() float64 { return done }},
		})
		for window := range 16 {
			time.Sleep(10 * second)
			step(t, g)
			if at := time.Since(g.started); at < time.Minute && g.counts != nil {
				t.Errorf("window %d, %v after the start, is counted", window, at)
			}
		}
		got := scraped(t, g)
		samples := got["profguard_function_samples_total"]
		if good := samples / 1000; !(good >= 2) || got[`profguard_window_work_total{unit="request"}`] != 50*good {
			t.Errorf("%v samples and %v requests, want 50 requests for each 1000 samples", samples, got[`profguard_window_work_total{unit="request"}`])
		}
		if good := samples / 1000; got["profguard_window_seconds_total"] != 10*good {
			t.Errorf("%v windows of 10s, and %v seconds", good, got["profguard_window_seconds_total"])
		}
		for series, share := range map[string]float64{
			`profguard_function_hits_total{function="main.work"}`:   0.99,
			`profguard_function_hits_total{function="fmt.Println"}`: 0.01,
			`profguard_function_rest_ratio`:                         0,
		} {
			if v, ok := got[series]; !ok || v != share*samples {
				t.Errorf("%s is %v, want %v", series, v, share*samples)
			}
		}
	})
}

// By default there are no series of functions.
func TestNoFunctions(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		g := w.start(t, Config{})
		pass(10 * time.Minute)
		for series := range scraped(t, g) {
			if strings.HasPrefix(series, "profguard_function_") || strings.HasPrefix(series, "profguard_window_work") {
				t.Error(series)
			}
		}
		for _, n := range []int{-1, maxFunctions + 1} {
			if _, err := completed(Config{FunctionSeries: n}); err == nil || !strings.Contains(err.Error(), "FunctionSeries: expected 0 to 1000") {
				t.Errorf("%d functions: %v", n, err)
			}
		}
	})
}

// A window whose work is not known is left out, and the status says so.
func TestFunctionsWithoutWork(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		done := 0.0
		w.take = func(n int) profiler.Window {
			if done += 5; n == 1 {
				done = 1 // its counter goes back
			}
			return cpuWindow(fullCore)
		}
		g := w.still(t, Config{
			FunctionSeries: 2, Window: 10 * second, Every: 10 * second, Work: map[string]func() float64{"request": func() float64 { return done }},
		})
		pass(2 * time.Minute)
		step(t, g)
		samples := g.counts.Samples
		step(t, g)
		if g.counts.Samples != samples || !strings.Contains(g.Status().Reason, "a window was left out: count functions: the counter of request went") {
			t.Errorf("%d samples after %d: %s", g.counts.Samples, samples, g.Status().Reason)
		}
		step(t, g)
		if g.counts.Samples <= samples || strings.Contains(g.Status().Reason, "left out") {
			t.Errorf("%d samples after %d: %s", g.counts.Samples, samples, g.Status().Reason)
		}
	})
}

func TestCountedByFunction(t *testing.T) {
	for sentence, want := range map[string]string{
		"no function above 20%":                              "function",
		"no function above 20% for 3 windows":                "function",
		"no function above 20% flat":                         "false",
		"no function above 20% except main.f":                "false",
		"no function above 20% except none":                  "false",
		"no function above 20% in main.f":                    "false",
		"no function above 20% where a=b":                    "false",
		"no function above 20% when process above 0.1 cores": "false",
		"no function above 20% of allocs":                    "false",
		"no function above 2 cores":                          "false",
		"no function grows above 5 points":                   "false",
		"no package above 20%":                               "false",
		"main.f below 20%":                                   "true",
	} {
		if got := series.Additive(&entryOf(sentence).Rule); got != want {
			t.Errorf("%s: %s, want %s", sentence, got, want)
		}
	}
}
