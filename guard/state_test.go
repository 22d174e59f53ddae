package guard

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
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
