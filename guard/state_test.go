package guard

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/profiler"
)

// What marshals unmarshals again, and an unknown state is no panic.
func TestStateText(t *testing.T) {
	for s := StateNoData; s <= StateFiring; s++ {
		data, err := json.Marshal(s)
		var back State = -1
		if err == nil {
			err = json.Unmarshal(data, &back)
		}
		if err != nil || back != s || s.String() != alert.State(s).String() {
			t.Errorf("%s is read back as %s: %v", data, back, err)
		}
	}
	if got := State(7).String(); got != "State(7)" {
		t.Errorf("state 7 is %s", got)
	}
	s := StateOK
	if err := json.Unmarshal([]byte(`"of a later version"`), &s); err != nil || s != StateNoData {
		t.Errorf("a state that is not known is read as %s, %v", s, err)
	}
	if StateNoData.gauge() != -2 || StateOK.gauge() != 0 || StateFiring.gauge() != 2 {
		t.Errorf("the gauge goes from %v over %v to %v, want -2, 0, 2", StateNoData.gauge(), StateOK.gauge(), StateFiring.gauge())
	}
}

// Each reason why a budget is not judged is no data, what is judged and not proven is undecided, and
// only proof is ok: the absence of a failure is not. Each row is of one window after the first.
func TestStateByReason(t *testing.T) {
	share := "x: fmt.Println below 20%"
	for _, tt := range []struct {
		name, sentence string
		f              judge.Finding
		want           State
	}{
		{"passes", share, judge.Finding{Verdict: evidence.Pass, Value: 0.1, High: 0.15, Samples: 500, Reason: judge.Measured{}}, StateOK},
		{"passes above the limit, within the zone", share, judge.Finding{Verdict: evidence.Pass, Value: 0.21, High: 0.24, Samples: 9000, Reason: judge.Measured{}}, StateUndecided},
		{"too few", share, judge.Finding{High: 0.9, Samples: 3, Reason: judge.TooFew{Needed: 120}}, StateUndecided},
		{"too close", share, judge.Finding{Value: 0.19, High: 0.26, Samples: 300, Reason: judge.TooClose{}}, StateUndecided},
		{"stacks are cut off", share, judge.Finding{Value: 0.1, High: 0.9, Samples: 900, Reason: judge.UpTo{}}, StateUndecided},
		{"all windows prove it", share, judge.Finding{High: 0.9, Samples: 3, Reason: judge.TooFew{}, Proven: evidence.Pass, Kept: 400 * minute}, StateOK},
		{"all windows prove it, and this one is above", share, judge.Finding{Value: 0.3, High: 0.9, Samples: 3, Reason: judge.TooFew{}, Proven: evidence.Pass, Kept: 400 * minute}, StateOK},
		{"all windows proved it, long ago", share, judge.Finding{High: 0.9, Samples: 3, Reason: judge.TooFew{}, Proven: evidence.Pass, Kept: 40 * minute}, StateUndecided},
		{"fails", share, judge.Finding{Verdict: evidence.Fail, Value: 0.7, Low: 0.6, High: 0.8, Samples: 500, Reason: judge.Measured{}}, StatePending},
		{"idle", share, judge.Finding{Reason: judge.Idle{Value: 0.01}}, StateNoData},
		{"out of scope", share + " in main.handle", judge.Finding{Reason: judge.OutOfScope{}}, StateNoData},
		{"no samples", share, judge.Finding{Reason: judge.NoSamples{}}, StateNoData},
		{"not linked", share, judge.Finding{Reason: judge.NotLinked{}}, StateNoData},
		{"no work", "x: fmt.Println below 1ms per row", judge.Finding{Reason: judge.NoWork{}}, StateNoData},
		{"not linked, of a default budget", budget.Default()[3].String(), judge.Finding{Reason: judge.NotLinked{}}, StateOK},
		{"absent and not linked", "x: portlist absent", judge.Finding{Verdict: evidence.Pass, Reason: judge.NotLinked{}}, StateOK},
		{"absent, too few", "x: portlist absent", judge.Finding{High: 0.1, Samples: 15, Reason: judge.Occurs{Needed: 299}}, StateUndecided},
		{"absent, one hit", "x: portlist absent", judge.Finding{Verdict: evidence.Fail, Value: 0.1, High: 0.1, Samples: 15, Hits: 1, Reason: judge.Occurs{}}, StateFiring},
		{"a figure", "x: goroutines below 50", judge.Finding{Verdict: evidence.Pass, Value: 10, Low: 10, High: 10, Reason: judge.Counted{}}, StateOK},
		{"a figure that is not known", "x: gc below 5%", judge.Finding{Reason: judge.FigureUnknown{Figure: "gc"}}, StateNoData},
		{"what is steady is not known before it has learnt", "x: goroutines steady", judge.Finding{Value: 10, Low: 10, High: 10, Reason: judge.Learning{Share: 0.5}}, StateUndecided},
	} {
		e := entryOf(tt.sentence)
		g := stillGuard(t, nil, e)
		g.started, g.cfg.Every, g.cfg.Window = time.Now(), minute, 10*second
		addFinding(g, 400, tt.f)
		if got := e.status(g).State; got != tt.want {
			t.Errorf("%s: %s, want %s: %s", tt.name, got, tt.want, e.Result.Reason)
		}
	}
	if s := (&BudgetStatus{Budget: budget.Budget{}}).State; s != StateNoData {
		t.Errorf("the zero state is %s", s)
	}
}

// A small service has 20 samples a window, of hundreds of functions, so that new ones show all the
// time and the worst of a window is mostly above the limit by chance. It is ok when enough windows
// have come, and stays so. Its twins, of which one function has more than the limit, never are; and
// one that turns bad is ok no more.
func TestKeptWithFewSamples(t *testing.T) {
	for _, tt := range []struct {
		name  string
		share float64 // of one function
		from  time.Duration
	}{
		{"kept", 0, 0},
		{"26%, and the limit is 20%", 0.26, 0},
		{"40%, after three hours", 0.4, 3 * time.Hour},
	} {
		bubble(t, func(t *testing.T, w *world) {
			random := rand.New(rand.NewPCG(41, 12))
			w.take = func(int) profiler.Window {
				text := "cpu 10s\n"
				for range 20 {
					i := int(500 * random.Float64() * random.Float64() * random.Float64()) // the first has some 7%
					if random.Float64() < tt.share && w.since() >= tt.from {
						i = 501
					}
					text += fmt.Sprintf("main.main;main.serve;main.f%d 1\n", i)
				}
				return cpuWindow(text)
			}
			g := w.start(t, Config{Budgets: budget.Must("no function above 20%")})
			defer g.Stop()
			for range 7 * 12 {
				pass(5 * minute)
				s := g.Status().Budgets[0].State
				good := tt.share == 0 || w.since() < tt.from
				settled := !good && tt.from == 0 || w.since() > time.Hour && (good || w.since() > tt.from+30*minute)
				if settled && (s == StateOK) != good {
					t.Fatalf("%s: after %v it is %s", tt.name, w.since(), s)
				}
			}
		})
	}
}
