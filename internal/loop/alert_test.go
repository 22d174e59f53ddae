package loop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/profiler"
)

// One lost window of an idle process does not end an alert of growth, which stays proven.
func TestLostIdleWindowKeepsTheEvidence(t *testing.T) {
	s := newStill(t, nil, "fmt.Println grows below 5 points when process above 0.2 cores")
	s.stand(s.Budgets.Budgets[0], alert.Firing, budget.Fail, 2)
	r := s.figures(1, map[string]float64{"cores": 0.1})
	r.CPU = profiler.Window{Outcome: profiler.Busy}
	s.judgeFigures(t, r)
	if len(s.changes) != 1 {
		t.Fatalf("%d verdicts", len(s.changes))
	}
	if c := s.changes[0]; c.silent || c.Notice != nil || c.Alert.State != alert.Firing || c.Evidence != 2 || !c.Result.Idle {
		t.Errorf("silent %t, notice %v, %s, evidence %v: %s", c.silent, c.Notice, c.Alert.State, c.Evidence, c.Result)
	}
}

// After an alert has ended, its evidence counts no more.
func TestEvidenceOfAnEndedAlert(t *testing.T) {
	s := newStill(t, nil, "fmt.Println below 20% when process above 0.2 cores")
	s.stand(s.Budgets.Budgets[0], alert.Firing, budget.Fail, 0.8)
	for i := range 5 {
		c := s.find(s.Budgets.Budgets[0], float64(i), judge.Finding{Verdict: evidence.Pass, Samples: 500, High: 0.1, Proof: alert.Proof{Evidence: 0.8}, Reason: judge.Measured{}})
		if ended := c.Alert.State == alert.OK; ended != (c.Evidence == 0) || ended != (c.Proven == budget.Inconclusive) {
			t.Errorf("%s, evidence %v, proven %v", c.Alert.State, c.Evidence, c.Proven)
		} else if ended {
			return
		}
	}
	t.Error("it has not ended")
}

// The offender comes and goes with the state, before the event, which waits for the dump. An
// alert on the state asks for the offender at once.
func TestOffenderComesWithTheState(t *testing.T) {
	s := newStill(t, nil, "fmt.Println below 20%")
	bad := judge.Finding{Verdict: evidence.Fail, Proof: alert.Proof{Proven: evidence.Fail, Evidence: 2}, Samples: 500, Value: 0.7, Low: 0.6, High: 0.8,
		Reason: judge.Measured{}, Offenders: []judge.Offender{{Frame: judge.Frame{Function: "fmt.Println"}}}}
	clean := judge.Finding{Verdict: evidence.Pass, Samples: 500, High: 0.1, Reason: judge.Measured{}}
	states := ""
	for i := range 10 {
		f := clean
		if i <= 4 {
			f = bad
		}
		c := s.find(s.Budgets.Budgets[0], float64(i), f)
		states += c.Alert.State.String()[:1]
		if firing := c.Alert.State == alert.Firing; firing != (c.Offender != nil) {
			t.Errorf("window %d: %s with the offender %v", i, c.Alert.State, c.Offender)
		}
	}
	if !strings.Contains(states, "ffo") {
		t.Errorf("states %s: expected one that fires and is resolved", states)
	}
}

// Each reason why a budget is not judged is no data, what is judged and not proven is undecided, and
// only proof is ok: the absence of a failure is not. Each row is of one window after the first.
func TestStateByReason(t *testing.T) {
	share := "x: fmt.Println below 20%"
	for _, tt := range []struct {
		name, sentence string
		f              judge.Finding
		want           alert.State
	}{
		{"passes", share, judge.Finding{Verdict: evidence.Pass, Value: 0.1, High: 0.15, Samples: 500, Reason: judge.Measured{}}, alert.OK},
		{"passes above the limit, within the zone", share, judge.Finding{Verdict: evidence.Pass, Value: 0.21, High: 0.24, Samples: 9000, Reason: judge.Measured{}}, alert.Undecided},
		{"too few", share, judge.Finding{High: 0.9, Samples: 3, Reason: judge.TooFew{Needed: 120}}, alert.Undecided},
		{"too close", share, judge.Finding{Value: 0.19, High: 0.26, Samples: 300, Reason: judge.TooClose{}}, alert.Undecided},
		{"stacks are cut off", share, judge.Finding{Value: 0.1, High: 0.9, Samples: 900, Reason: judge.UpTo{}}, alert.Undecided},
		{"all windows prove it", share, judge.Finding{High: 0.9, Samples: 3, Reason: judge.TooFew{}, Proof: alert.Proof{Proven: evidence.Pass, Kept: 400 * minute}}, alert.OK},
		{"all windows prove it, and this one is above", share, judge.Finding{Value: 0.3, High: 0.9, Samples: 3, Reason: judge.TooFew{}, Proof: alert.Proof{Proven: evidence.Pass, Kept: 400 * minute}}, alert.OK},
		{"all windows proved it, long ago", share, judge.Finding{High: 0.9, Samples: 3, Reason: judge.TooFew{}, Proof: alert.Proof{Proven: evidence.Pass, Kept: 40 * minute}}, alert.Undecided},
		{"fails", share, judge.Finding{Verdict: evidence.Fail, Value: 0.7, Low: 0.6, High: 0.8, Samples: 500, Reason: judge.Measured{}}, alert.Pending},
		{"idle", share, judge.Finding{Reason: judge.Idle{Value: 0.01}}, alert.NoData},
		{"out of scope", share + " in main.handle", judge.Finding{Reason: judge.OutOfScope{}}, alert.NoData},
		{"no samples", share, judge.Finding{Reason: judge.NoSamples{}}, alert.NoData},
		{"not linked", share, judge.Finding{Reason: judge.NotLinked{}}, alert.NoData},
		{"no work", "x: fmt.Println below 1ms per row", judge.Finding{Reason: judge.NoWork{}}, alert.NoData},
		{"not linked, of a default budget", budget.Default()[3].String(), judge.Finding{Reason: judge.NotLinked{}}, alert.OK},
		{"absent and not linked", "x: portlist absent", judge.Finding{Verdict: evidence.Pass, Reason: judge.NotLinked{}}, alert.OK},
		{"absent, too few", "x: portlist absent", judge.Finding{High: 0.1, Samples: 15, Reason: judge.Occurs{Needed: 299}}, alert.Undecided},
		{"absent, one hit", "x: portlist absent", judge.Finding{Verdict: evidence.Fail, Value: 0.1, High: 0.1, Samples: 15, Hits: 1, Reason: judge.Occurs{}}, alert.Firing},
		{"a figure", "x: goroutines below 50", judge.Finding{Verdict: evidence.Pass, Value: 10, Low: 10, High: 10, Reason: judge.Counted{}}, alert.OK},
		{"a figure that is not known", "x: gc below 5%", judge.Finding{Reason: judge.FigureUnknown{Name: "gc"}}, alert.NoData},
	} {
		s := newStill(t, nil, tt.sentence)
		c := s.find(s.Budgets.Budgets[0], 400, tt.f)
		if got := c.Alert.State; got != tt.want {
			t.Errorf("%s: %s, want %s: %s", tt.name, got, tt.want, c.Result.Reason)
		}
	}
}

// named are the notices about offenders, each of a window that fails by so much that it fires.
func named(s *still, minutes float64, names ...string) *Notice {
	f := judge.Finding{Verdict: evidence.Fail, Value: 0.7, Proof: alert.Proof{Proven: evidence.Fail, Evidence: 2}, Samples: 500, Reason: judge.Measured{}}
	for _, name := range names {
		f.Offenders = append(f.Offenders, judge.Offender{Frame: judge.Frame{Function: name}})
	}
	return s.find(s.Budgets.Budgets[0], minutes, f).Notice
}

// An alert names each of its offenders once, and not too many.
func TestOffendersOfOneAlert(t *testing.T) {
	s := newStill(t, nil, "no function above 20% for 2 windows")
	if n := named(s, 1, "a"); n != nil {
		t.Errorf("named by an alert that has not fired: %+v", n)
	}
	if n := named(s, 2, "a"); n == nil || n.Event != alert.Fired {
		t.Errorf("it has not fired: %+v", n)
	}
	told, last := 1, ""
	for i := range 200 {
		if n := named(s, float64(3+i), fmt.Sprint(i/2)); n != nil {
			told, last = told+1, n.Result.Offenders[0].Function
		}
	}
	if told != mostNamed || last != fmt.Sprint(mostNamed-2) {
		t.Errorf("%d are named, the last is %s; want %d", told, last, mostNamed)
	}
}

// The first offender that is known is not called another one.
func TestFirstOffenderIsNotAnother(t *testing.T) {
	s := newStill(t, nil, "no function above 20% for 1 windows")
	for i, is := range []string{" is broken: ", " is still broken: ", " is broken by another offender, too: "} {
		n := named(s, float64(60*i), [][]string{nil, {"main.a"}, {"main.b"}}[i]...)
		if n == nil || !strings.Contains(n.Message, is) {
			t.Errorf("%+v; want it to say %q", n, is)
		}
	}
}

// The offenders of a budget on the process are parts of it. That another one is the largest in a
// later window is no news, and needs no further dump.
func TestAnotherPartIsNoOffender(t *testing.T) {
	s := newStill(t, nil, "process below 1 core for 1 windows")
	for i, name := range []string{"main.a", "main.b", "main.c"} {
		if n := named(s, float64(60*i), name); (n != nil) != (i == 0) {
			t.Errorf("window %d: %+v, want one notice of the first", i, n)
		}
	}
}

// A message that a budget is broken has the figures and the place, and its reason is not only
// that one window can tell nothing.
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
			"all windows together prove it; this one alone: 38 samples, 120 are needed to tell 20% from 30%"},
	} {
		s := newStill(t, nil, "x: no function above 20%")
		of := s.Budgets.Budgets[0]
		r := budget.Result{Budget: of.Of, Verdict: test.verdict, Value: 0.3, Limit: 0.2, Unit: "ratio", Samples: 38, Reason: test.reason,
			Offenders: []budget.Offender{{Frame: budget.Frame{Function: "main.work", File: "/src/shop/order.go", Line: 46}}}}
		var fired *Notice
		for i := range 20 { // for three periods
			c := s.change(of, float64(i)/4, judge.Finding{Value: 0.3, Samples: 38, Proof: alert.Proof{Proven: evidence.Fail, Evidence: 1}}, r)
			if fired == nil {
				fired = c.Notice
			}
			if c.Result.Reason != test.reason {
				t.Errorf("the window's own reason became %q", c.Result.Reason)
			}
		}
		const message = "budget x (no function above 20% cumulative) is broken: at 30.00%, limit 20%; offender main.work at shop/order.go:46"
		if fired == nil || fired.Event != alert.Fired || fired.Message != message || fired.Result.Reason != test.want {
			t.Errorf("%s: %+v, want %s (%s)", test.name, fired, message, test.want)
		}
	}
}

// Contention is no CPU: two cores cannot be 30 cores busy.
func TestBrokenByContention(t *testing.T) {
	s := newStill(t, nil, "locks: no function above 0.1 cores of mutex for 1 windows")
	const want = "budget locks (no function above 0.1 cores of mutex for 1 window) is broken: at 30.2 s waited per second, limit 0.1 s"
	c := s.find(s.Budgets.Budgets[0], 1, judge.Finding{Verdict: evidence.Fail, Value: 30.17, Reason: judge.Measured{}})
	if c.Notice == nil || c.Notice.Message != want {
		t.Errorf("%+v, want %s", c.Notice, want)
	}
}

// Growth in points is no share.
func TestShownPoints(t *testing.T) {
	for sentence, want := range map[string]string{"no function grows above 5 points": "6.21 points", "no function above 5%": "6.21%"} {
		if got := newStill(t, nil, sentence).Budgets.Budgets[0].shown(0.0621); got != want {
			t.Errorf("%s: %s, want %s", sentence, got, want)
		}
	}
}

// A budget's standing has an hour of its values, and one that was handed out does not change.
func TestHistory(t *testing.T) {
	s := newStill(t, nil, "goroutines below 5000")
	var before Standing
	for i := range maxHistory + 10 {
		c := s.find(s.Budgets.Budgets[0], float64(i), judge.Finding{Verdict: evidence.Pass, Value: float64(i)})
		if h := c.History; len(h) != min(i+1, maxHistory) || h[len(h)-1].Value != float64(i) {
			t.Fatalf("%d values after %d windows: %v", len(h), i+1, h)
		}
		if i == maxHistory {
			before = c.Standing
		}
	}
	if h := before.History; h[0].Value != 1 || h[maxHistory-1].Value != maxHistory {
		t.Errorf("a standing has changed since: from %v to %v", h[0].Value, h[maxHistory-1].Value)
	}
}
