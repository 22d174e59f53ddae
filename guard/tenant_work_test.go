package guard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/unit"
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

// TestReadByLabel: of the series of a counter, those of the values with the most are kept, whatever clients send.
func TestReadByLabel(t *testing.T) {
	registry, counter := requestsOf("user")
	long := strings.Repeat("x", 5000)
	for i := range 10_000 {
		counter.WithLabelValues(fmt.Sprintf("%s%d", long[:i%200], i), "200").Add(1)
	}
	counter.WithLabelValues(long+"a", "200").Add(7)
	counter.WithLabelValues(long+"b", "200").Add(8)
	counter.WithLabelValues(long+"b", "500").Add(2)
	a := reading(t, registry, "http_requests_total by user", map[string]bool{})
	bytes := 0
	for value := range a.By {
		bytes += len(value)
	}
	if len(a.By) != charge.MostValues || bytes > 130*charge.MostValues || a.By[charge.Shown(long+"a")] != 7 || a.By[charge.Shown(long+"b")] != 10 || a.Why != "" {
		t.Errorf("%d values, %d bytes, %v and %v, %q", len(a.By), bytes, a.By[charge.Shown(long+"a")], a.By[charge.Shown(long+"b")], a.Why)
	}
	if a := reading(t, registry, `http_requests_total{code="500"} by user`, map[string]bool{}); len(a.By) != 1 || a.By[charge.Shown(long+"b")] != 2 {
		t.Errorf("of one code: %+v", a)
	}
	if a := reading(t, registry, "http_requests_total by tenant", map[string]bool{}); a.Why == "" {
		t.Errorf("a label that no series has: %+v", a)
	}
	if a := reading(t, registry, "other_total by tenant", map[string]bool{}); a.By == nil || a.Why != "" {
		t.Errorf("no series yet: %+v", a)
	}
	if a := reading(t, registry, "other_total by tenant", map[string]bool{"other_total": true}); a.Why == "" {
		t.Errorf("its series are gone: %+v", a)
	}
	if w, ok := unit.ParseWork("a by b"); !ok || w.Of("c\n") != `a{b="c\n"}` {
		t.Errorf("%+v", w)
	}
}
