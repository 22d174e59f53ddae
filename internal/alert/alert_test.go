package alert

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/evidence"
)

// step is one window of a story, a minute after the one before.
type step struct {
	window   evidence.Verdict
	evidence Evidence
	state    State
	event    Event
}

func TestStories(t *testing.T) {
	const (
		dunno = Inconclusive
		open  = Open
	)
	tests := []struct {
		name  string
		with  Input
		steps []step
	}{
		{"the evidence decides", Input{}, []step{
			{Pass, open, Inactive, None},
			{Fail, open, Pending, BecamePending},
			{dunno, open, Pending, None},
			{Pass, open, Inactive, None},
			{Fail, Rising, Pending, BecamePending},
			{Fail, Alarm, Firing, Fired},
			{Pass, Alarm, Firing, None}, // one good window in the middle of an alarm
			{dunno, Alarm, Firing, None},
			{Pass, Recovered, Resolved, Recovery},
			{dunno, Recovered, Resolved, None},
			{Pass, Recovered, Inactive, None},
		}},
		{"few samples: no window ever decides by itself", Input{}, []step{
			{dunno, open, Inactive, None},
			{dunno, Rising, Pending, BecamePending},
			{dunno, Rising, Pending, None},
			{dunno, Alarm, Firing, Fired},
			{dunno, Alarm, Firing, None},
			{dunno, Recovered, Resolved, Recovery},
			{dunno, Recovered, Resolved, None},
		}},
		{"relapse", Input{}, []step{
			{Fail, Alarm, Firing, Fired},
			{Pass, Recovered, Resolved, Recovery},
			{Fail, Recovered, Pending, BecamePending},
			{Fail, Alarm, Firing, Fired},
			{Pass, Recovered, Resolved, Recovery},
			{Fail, Alarm, Firing, Fired},
		}},
		{"for 3 windows", Input{For: For{Windows: 3}}, []step{
			{Fail, Alarm, Pending, BecamePending},
			{Fail, Alarm, Pending, None},
			{Pass, Alarm, Inactive, None},
			{Fail, Alarm, Pending, BecamePending},
			{dunno, Alarm, Pending, None}, // does not count
			{Fail, Alarm, Pending, None},
			{dunno, Alarm, Pending, None}, // does not interrupt
			{Fail, open, Firing, Fired},
			{Fail, open, Firing, None},
			{dunno, Recovered, Firing, None},
			{Pass, open, Resolved, Recovery},
			{Fail, open, Pending, BecamePending},
			{Pass, open, Inactive, None},
		}},
		{"for 2m", Input{For: For{Time: 2 * time.Minute}}, []step{
			{Fail, open, Pending, BecamePending},
			{Fail, open, Pending, None},
			{dunno, open, Pending, None}, // old enough, but no failure to say so
			{Fail, open, Firing, Fired},
			{Pass, open, Resolved, Recovery},
			{Fail, open, Pending, BecamePending}, // the clock starts again
			{Fail, open, Pending, None},
			{Fail, open, Firing, Fired},
		}},
		{"absent: one hit is proof", Input{Proof: true}, []step{
			{dunno, open, Inactive, None},
			{Fail, open, Firing, Fired},
			{dunno, open, Firing, None},
			{Pass, open, Resolved, Recovery},
			{Fail, Recovered, Firing, Fired}, // a hit outweighs any number of clean windows
			{Fail, Recovered, Firing, None},
			{dunno, Recovered, Resolved, Recovery},
			{Pass, open, Inactive, None},
		}},
		{"absent for 2 windows", Input{Proof: true, For: For{Windows: 2}}, []step{
			{Fail, open, Pending, BecamePending},
			{Fail, open, Firing, Fired},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var a Alert
			for i, s := range tt.steps {
				in := tt.with
				in.Window, in.Evidence = s.window, s.evidence
				var event Event
				a, event = a.Next(in, time.Duration(i)*time.Minute)
				if a.State != s.state || event != s.event || a.Last != s.window {
					t.Fatalf("step %d, %v with %v evidence: %v, event %v, last %v; want %v, event %v",
						i, s.window, s.evidence, a.State, event, a.Last, s.state, s.event)
				}
			}
		})
	}
}

// TestForModeChangesLive: budgets may be replaced under a running alert.
func TestForModeChangesLive(t *testing.T) {
	a, _ := Alert{}.Next(Input{Window: Fail, Evidence: Alarm}, 0)
	if a.State != Firing {
		t.Fatalf("%v, want firing", a.State)
	}
	a, event := a.Next(Input{Window: Pass, For: For{Windows: 3}}, time.Minute)
	if a.State != Resolved || event != Recovery {
		t.Errorf("after the budget gained a `for`: %v, event %v; want resolved", a.State, event)
	}
}

// TestUnknownValues: a value out of range is no reason to raise or to lower an
// alarm, and prints as a number.
func TestUnknownValues(t *testing.T) {
	for _, s := range states {
		before := Alert{State: s, Since: 3}
		if after, event := before.Next(Input{Window: 9, Evidence: 9}, 5); after.State != s || after.Since != 3 || event != None {
			t.Errorf("%v, unknown input: %v, event %v", s, after, event)
		}
	}
	if after, event := (Alert{State: 7}).Next(Input{Window: Fail, Evidence: Alarm}, 5); after.State != Firing || event != Fired {
		t.Errorf("unknown state, alarm: %v, event %v", after, event)
	}
	for _, tt := range []struct {
		got  fmt.Stringer
		want string
	}{
		{State(7), "State(7)"}, {State(-1), "State(-1)"}, {Evidence(7), "Evidence(7)"}, {Event(7), "Event(7)"},
	} {
		if tt.got.String() != tt.want {
			t.Errorf("String() = %q, want %q", tt.got, tt.want)
		}
	}
}

// TestTimeGoingBack: an age is never negative enough, or wrapped, to fire.
func TestTimeGoingBack(t *testing.T) {
	in := Input{Window: Fail, For: For{Time: time.Minute}}
	a, _ := Alert{}.Next(in, time.Hour)
	if a, event := a.Next(in, 0); a.State != Pending || event != None {
		t.Errorf("%v, event %v; want pending", a.State, event)
	}
}

// TestProperties walks random stories and checks, after each step, what must
// hold whatever came before. It recounts the row of failures and its age by
// itself, so that it does not trust the fields that it checks.
func TestProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var firings int
	for range 2000 {
		in := Input{Proof: rng.IntN(2) == 0}
		switch rng.IntN(4) {
		case 0:
			in.For.Windows = 1 + rng.IntN(4)
		case 1:
			in.For.Time = time.Duration(1+rng.IntN(6)) * time.Minute
		case 2:
			in.For = For{Windows: 1 + rng.IntN(4), Time: time.Duration(1+rng.IntN(6)) * time.Minute}
		}
		var (
			a        Alert
			now      time.Duration
			row      int           // failures since the last pass
			rowStart time.Duration // time of the first of them
			toldOpen bool          // a firing was told and not yet a recovery
		)
		for range 60 {
			now += time.Duration(rng.IntN(120)) * time.Second
			in.Window, in.Evidence = verdicts[rng.IntN(3)], evidences[rng.IntN(4)]
			switch in.Window {
			case Fail:
				if row == 0 {
					rowStart = now
				}
				row++
			case Pass:
				row = 0
			}
			before := a
			var event Event
			a, event = a.Next(in, now)

			fail := func(what string) {
				t.Fatalf("%s: %+v with %+v at %v became %+v, event %v", what, before, in, now, a, event)
			}
			hasFor := in.For != For{}
			if in.Window == Inconclusive && (hasFor || in.Evidence == Open) {
				want := before
				want.Last = Inconclusive
				if a != want || event != None {
					fail("inconclusive changed something")
				}
			}
			if a.Fails != row {
				fail(fmt.Sprintf("row of failures is %d", row))
			}
			switch event {
			case None:
				if a.State != before.State && a.State != Inactive {
					fail("silent transition")
				}
			case Fired:
				firings++
				switch {
				case toldOpen:
					fail("fired twice without a recovery")
				case hasFor && (row < in.For.Windows || now-rowStart < in.For.Time || in.Window != Fail):
					fail("fired before its time")
				case !hasFor && in.Evidence != Alarm && !(in.Proof && in.Window == Fail):
					fail("fired without evidence")
				}
				toldOpen = true
			case Recovery:
				switch {
				case !toldOpen || before.State != Firing:
					fail("recovered without having fired")
				case hasFor && in.Window != Pass:
					fail("recovered without a passing window")
				}
				toldOpen = false
			}
			if toldOpen != (a.State == Firing) {
				fail("the events told do not agree with the state")
			}
		}
	}
	if firings < 1000 {
		t.Errorf("only %d firings: the stories prove little", firings)
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	var a Alert
	var now time.Duration
	if n := testing.AllocsPerRun(100, func() {
		now += time.Second
		a, _ = a.Next(Input{Window: Fail, Evidence: Alarm}, now)
	}); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
}
