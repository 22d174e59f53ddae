package guard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/profiler"
)

// requestsOf is a counter of requests by a label, in a registry of its own.
func requestsOf(label string) (*prometheus.Registry, *prometheus.CounterVec) {
	r := prometheus.NewRegistry()
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "http_requests_total", Help: "Requests."}, []string{label, "code"})
	r.MustRegister(v)
	return r, v
}

// TestEachByWork: a guard divides the CPU of each value by its own series of the counter, under its own name or
// another one. The dear one fires, its twin with as much CPU and more requests does not.
func TestEachByWork(t *testing.T) {
	for label, sentence := range map[string]string{
		"endpoint": "dear: no endpoint above 5ms per http_requests_total for 1 windows",
		"handler":  "dear: no endpoint above 5ms per http_requests_total by handler for 1 windows",
	} {
		for _, requests := range []float64{100, 5000} {
			bubble(t, func(t *testing.T, w *world) {
				registry, counter := requestsOf(label)
				counter.WithLabelValues("/report", "200").Inc()
				w.take = func(int) profiler.Window {
					counter.WithLabelValues("/report", "200").Add(requests / 2)
					counter.WithLabelValues("/report", "500").Add(requests / 2)
					counter.WithLabelValues("/page", "200").Add(1000)
					return cpuWindow("cpu 10s\nmain.main;main.serve;main.report 500 {endpoint=/report}\nmain.main;main.serve 100 {endpoint=/page}\nmain.main;main.serve 5 {endpoint=/uncounted}\n")
				}
				g := w.start(t, Config{Window: 10 * second, Every: 10 * second, Registerer: registry, Budgets: budget.Must(sentence)})
				initials(t, g, 5)
				b, proven := g.Status().Budgets[0], g.standing(0).Proven
				if isDear := requests == 100; isDear != (b.State == StateFiring) || isDear && b.Result.Offenders[0].Function != "/report" || !isDear && (proven != budget.Inconclusive || !strings.Contains(b.Result.Reason, "endpoint /uncounted")) {
					t.Errorf("%s, %v requests: %v, proven %v\n%s", sentence, requests, b.State, proven, b.Result)
				}
				for _, e := range w.seen() {
					if e.Name == EventDegraded {
						t.Errorf("degraded: %s", e.Message)
					}
				}
				g.Stop()
			})
		}
	}
}

// TestEachByWorkMistakes are told at Start, with what to write.
func TestEachByWorkMistakes(t *testing.T) {
	for sentence, want := range map[string]string{
		"no endpoint above 5ms per http_requests_total":            `no series of http_requests_total has the label endpoint: say which one has the values, as in "per http_requests_total by handler"`,
		"no endpoint above 5ms per jobs_total":                     `nobody counts "jobs_total by endpoint": it does not exist: expected a counter of that name, with the label "endpoint"`,
		"no endpoint above 5ms per request":                        `nobody counts "request by endpoint"`,
		"no endpoint above 5ms per http_requests_total by handler": "",
	} {
		registry, counter := requestsOf("handler")
		counter.WithLabelValues("/", "200").Inc()
		cfg := Config{Registerer: registry, Budgets: budget.Must(sentence), Work: map[string]func() float64{"request": func() float64 { return 0 }}}
		g, err := Start(cfg)
		if err == nil {
			g.Stop()
		}
		if got := fmt.Sprint(err); (want == "") != (err == nil) || !strings.Contains(got, want) {
			t.Errorf("%s: %v, want %s", sentence, err, want)
		}
	}
}
