package guard

import (
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/profiler"
)

// A message that a budget is broken does not give as its reason that nothing can be
// told.
func TestBrokenByEvidence(t *testing.T) {
	for _, test := range []struct {
		name    string
		verdict budget.Verdict
		reason  string
		want    string
	}{
		{"by one window", budget.Fail, "main.work at 70%, surely above 60% (900 samples)",
			"budget x is broken: main.work at 70%, surely above 60% (900 samples)"},
		{"by all", budget.Inconclusive, "38 samples, 120 are needed to tell 20% from 30%",
			"budget x is broken: the windows so far prove it together; this one alone does not: 38 samples, 120 are needed to tell 20% from 30%"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				l := w.still(t, Config{Budgets: budget.Must("x: no function above 20%")})
				told := make(chan Event, 10)
				l.sinks = []*sink{newSink("test", func(e Event) { told <- e })}
				r := budget.Result{Budget: l.panel.entries[0].budget, Verdict: test.verdict, Samples: 38, Reason: test.reason}
				for i := range 20 { // for three periods
					start := l.started.Add(time.Duration(i) * 15 * second)
					l.apply(t.Context(), l.panel.entries[0], r, nil, &profiler.Window{}, span{start: start, end: start.Add(10 * second), proven: evidence.Fail, strength: 1})
				}
				<-l.sinks[0].close()
				close(told)
				e := <-told
				if e.Name != eventFiring || e.Message != test.want || "budget x is broken: "+e.Result.Reason != test.want {
					t.Errorf("%s: %s (%s), want %s", e.Name, e.Message, e.Result.Reason, test.want)
				}
				if got := l.Status().Budgets[0].Result.Reason; !strings.HasPrefix(got, test.reason) {
					t.Errorf("the window's own reason became %q", got)
				}
			})
		})
	}
}
