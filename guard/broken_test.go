package guard

import (
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/profiler"
)

// A message that a budget is broken has the figures and the place, and its reason is not
// that nothing can be told.
func TestBrokenByEvidence(t *testing.T) {
	for _, test := range []struct {
		name    string
		verdict budget.Verdict
		reason  string
		want    string
	}{
		{"by one window", budget.Fail, "main.work at 70%, surely above 60% (900 samples)",
			"main.work at 70%, surely above 60% (900 samples)"},
		{"by all", budget.Inconclusive, "38 samples, 120 are needed to tell 20% from 30%",
			"all windows together prove it; the last is at 30.00% (38 samples)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				l := w.still(t, Config{Budgets: budget.Must("x: no function above 20%")})
				told := make(chan Event, 10)
				l.sinks = []*sink{newSink("test", func(e Event) { told <- e }, l.off)}
				r := budget.Result{Budget: l.budgets.entries[0].Budget, Verdict: test.verdict, Value: 0.3, Limit: 0.2, Unit: "ratio", Samples: 38, Reason: test.reason,
					Offenders: []budget.Offender{{Frame: budget.Frame{Function: "main.work", File: "/src/shop/order.go", Line: 46}}}}
				for i := range 20 { // for three periods
					start := l.started.Add(time.Duration(i) * 15 * second)
					j := &judgement{entry: l.budgets.entries[0], result: r, start: start, end: start.Add(10 * second), finding: &judge.Finding{Value: 0.3, Samples: 38, Proven: evidence.Fail, Evidence: 1}}
					l.apply(t.Context(), []*judgement{j}, &profiler.Window{})
				}
				finish(l.sinks[0])
				close(told)
				e := <-told
				const message = "budget x (no function above 20% cumulative) is broken: at 30.00%, limit 20%; offender main.work at shop/order.go:46"
				if e.Name != EventFiring || e.Message != message || e.Result.Reason != test.want {
					t.Errorf("%s: %s (%s), want %s (%s)", e.Name, e.Message, e.Result.Reason, message, test.want)
				}
				if got := l.Status().Budgets[0].Result.Reason; !strings.HasPrefix(got, test.reason) {
					t.Errorf("the window's own reason became %q", got)
				}
			})
		})
	}
}

// Contention is no CPU: two cores cannot be 30 cores busy.
func TestBrokenByContention(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		e := w.still(t, Config{Budgets: budget.Must("locks: no function above 0.1 cores of mutex")}).budgets.entries[0]
		const want = "budget locks (no function above 0.1 cores of mutex) is broken: at 30.2 s waited per second, limit 0.1 s"
		if got := e.broken(alert.Fired, &budget.Result{Budget: e.Budget, Value: 30.17, Limit: 0.1}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}
