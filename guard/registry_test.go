package guard

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/registrytest"
)

// A registry of which a collector fails may have lost series of others: no unit is said to be unknown.
func TestRegistryInPart(t *testing.T) {
	r, _ := registrytest.Shop()
	registrytest.Break(r)
	for _, unit := range []string{"order_size", "lost_total"} {
		if _, err := completed(Config{Registerer: r, Budgets: budget.Must("process below 2ms per " + unit)}); err != nil {
			t.Errorf("per %s: %v", unit, err)
		}
	}
}

// A unit that nobody counts is an error. One that is registered is none, even while it has
// no series.
func TestUnitsNobodyCounts(t *testing.T) {
	r, _ := registrytest.Shop()
	work := map[string]func() float64{"request": func() float64 { return 0 }}
	tests := []struct{ unit, want string }{
		{"request", ""},
		{"http_requests_total", ""},
		{`http_requests_total{code="200"}`, ""},
		{"rpc_duration_seconds_count", ""},
		{"jobs_total", ""},
		{`http_requests_total{cod="200"}`, ""},
		{"http_request_total", `nobody counts "http_request_total": it does not exist: expected Work["http_request_total"], or a counter of that name in the Prometheus registry before Start`},
		{"requests", `in the Prometheus registry before Start`},
		{"call", `in the Prometheus registry before Start`},
		{"in_flight_count", `nobody counts "in_flight_count": it does not exist: expected Work["in_flight_count"], or a counter of that name in the Prometheus registry before Start`},
		{"http_requests_total_count", `in the Prometheus registry before Start`},
		{"in_flights", `in the Prometheus registry before Start`},
		{"in_flight", `nobody counts "in_flight": in_flight is a gauge, not a counter, histogram or summary: expected Work["in_flight"], or a counter of that name in the Prometheus registry before Start`},
	}
	for _, test := range tests {
		_, err := completed(Config{Work: work, Registerer: r, Budgets: budget.Must("process below 2ms per " + test.unit)})
		if (err != nil) != (test.want != "") || err != nil && !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("per %s: %v, want %s", test.unit, err, test.want)
		}
	}
}

// A registry that hangs does not hang Start, and not the loop.
func TestFault_26_RegistryHangs(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		r, _ := registrytest.Shop()
		block := make(chan struct{})
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "slow"}, func() float64 { <-block; return 0 }))
		cfg := Config{Registerer: r, Budgets: budget.Must("x: process below 2ms per http_requests_total")}
		began := time.Now()
		if _, err := completed(cfg); err != nil || time.Since(began) != loop.GatherTimeout {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		g := w.start(t, cfg)
		pass(minute)
		if s := g.Status(); !strings.Contains(s.Reason, "an earlier call has not returned") || s.Windows["ok"] == 0 {
			t.Errorf("the status says %q, windows %v", s.Reason, s.Windows)
		}
		close(block)
	})
}

// SetBudgets does not leave a goroutine with each call in a registry that hangs.
func TestSetBudgetsWhileRegistryHangs(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		r, _ := registrytest.Shop()
		block, hanging := make(chan struct{}), atomic.Int64{}
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "slow"}, func() float64 {
			hanging.Add(1)
			<-block
			return 0
		}))
		g := w.start(t, Config{Registerer: r, Every: minute, Budgets: budget.Must("portlist absent")})
		for range 5 {
			if err := g.SetBudgets(budget.Must("x: process below 2ms per http_requests_total")); err != nil {
				t.Error(err)
			}
			pass(5 * minute)
		}
		if n := hanging.Load(); n != 2 {
			t.Errorf("%d calls hang in the registry, want one of SetBudgets and one of the loop", n)
		}
		close(block)
		g.Stop()
	})
}

// The units of a guard's budgets are read around its windows: the budget is judged by
// what was counted meanwhile, also when it was set later, and one without such a unit
// makes nobody gather the registry.
func TestPerCounterOfRegistry(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		r, requests := registrytest.Shop()
		var gathered atomic.Int64
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "ticks_total"}, func() float64 {
			gathered.Add(1)
			return 5000 * time.Since(w.began).Seconds()
		}))
		w.take = always(bad)
		g := w.start(t, Config{Registerer: r, Window: 10 * second, Every: 10 * second, Budgets: budget.Must("other: fmt.Println below 10% for 1 windows")})
		pass(35 * second)
		if n := gathered.Load(); n != 0 {
			t.Errorf("gathered %d times for a budget without a unit of work", n)
		}
		if err := g.SetBudgets(budget.Must("broken: fmt.Println below 10us per ticks_total", "kept: fmt.Println below 1s per ticks_total",
			`none: fmt.Println below 10us per http_requests_total{code="200"}`)); err != nil {
			t.Fatal(err)
		}
		was := gathered.Load()
		pass(35 * second)
		s := g.Status()
		if n := gathered.Load() - was; n < 4 || n > 10 {
			t.Errorf("gathered %d times in three windows, want twice for each", n)
		}
		for i, want := range []budget.Verdict{budget.Fail, budget.Pass, budget.Inconclusive} {
			if got := s.Budgets[i].Result; got.Verdict != want {
				t.Errorf("%s: %v, %s", s.Budgets[i].Name, got.Verdict, got.Reason)
			}
		}
		if reason := s.Budgets[2].Result.Reason; !strings.Contains(reason, `no http_requests_total{code="200"} was counted`) {
			t.Errorf("without requests: %s", reason)
		}
		requests.Reset()
		requests.WithLabelValues("200", "GET").Inc()
		pass(10 * second)
		if reason := g.Status().Reason; !strings.Contains(reason, `budgets per http_requests_total{code="200"} cannot be judged: the counter of http_requests_total{code="200"} went from 90 to 1`) {
			t.Errorf("after a reset the status says %q", reason)
		}
		g.Stop()
	})
}
