package guard

import (
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
)

// A budget that is judged by counters is not judged by the samples of its windows as well, which
// fall on bursts. Here each window has a burst of twice the limit, and each minute half of it.
// Then there is so little work that no minute is judged alone.
func TestCountedBursts(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		const busy = 12 * minute
		w.take = always(fullCore)
		w.random = func() float64 { return 0.5 }
		w.cores = func(since time.Duration) float64 {
			if (since+54*second)%minute < 10*second && since < busy {
				return 1
			}
			return 0.01
		}
		requests := func() float64 { return 100*min(w.since(), busy).Minutes() + 2*max(0, w.since()-busy).Minutes() }
		g := w.start(t, Config{Budgets: budget.Must("process below 200ms per request", "process below 0.5 cores"), Every: minute, Window: 10 * second,
			Work: map[string]func() float64{"request": requests}})
		for range 20 {
			pass(minute)
			for i, b := range g.Status().Budgets {
				if k := g.standing(i); b.State >= StatePending || k.Proven == budget.Fail || k.Evidence > 0 {
					t.Errorf("after %v: %s is %s, proven %v, evidence %.2f: %s", w.since(), b.Name, b.State, k.Proven, k.Evidence, b.Result.Reason)
				}
				if b.Result.Verdict == budget.Pass && (len(b.Result.Offenders) > 0 || b.Result.Over > 0) {
					t.Errorf("after %v: %s passes with offenders: %v", w.since(), b.Name, b.Result.Offenders)
				}
			}
		}
		g.Stop()
		if told := w.told(); len(told) > 0 {
			t.Errorf("there were events: %v", told)
		}
	})
}

// The offenders of a budget that counters judge are those of the period's window, also if the
// window itself is within the limit.
func TestCountedOffenders(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = always(fullCore)
		w.random = func() float64 { return 0.5 }
		w.cores = func(since time.Duration) float64 {
			if (since+57*second)%minute < 10*second {
				return 0.4
			}
			return 0.8
		}
		g := w.start(t, Config{Budgets: budget.Must("process below 0.5 cores"), Every: minute, Window: 10 * second})
		pass(6 * minute)
		g.Stop()
		if told := w.events; len(told) != 1 || len(told[0].Result.Offenders) == 0 || !strings.Contains(told[0].Message, "; offender main.") {
			t.Errorf("the events are %+v, want one with an offender", told)
		}
	})
}

// A counter that cannot be read when a window begins, and can be at its end, is read often
// enough for the period: the alert takes its result.
func TestCountedBesideAFailedReading(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		readings := 0
		g := w.start(t, Config{Budgets: budget.Must("process below 5ms per row"), Every: minute, Window: 10 * second,
			Work: map[string]func() float64{"row": func() float64 {
				if readings++; readings%2 == 1 && readings > 2 {
					panic("busy")
				}
				return 100 * w.since().Minutes()
			}}})
		pass(6 * minute)
		if b := g.Status().Budgets[0]; b.State != StateFiring {
			t.Errorf("%s after %d readings: %s", b.State, readings, b.Result.Reason)
		}
		g.Stop()
	})
}
