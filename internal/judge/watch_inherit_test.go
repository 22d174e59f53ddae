package judge_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
)

// TestWatchInherits: what is kept through a change of the set is known as if
// nothing had changed, and what is not begins anew.
func TestWatchInherits(t *testing.T) {
	base := folded.Must("cpu 10s\nmain.main;main.run;main.work 1000\nmain.main;main.run;main.rest 9000\n")
	for _, sentence := range []string{
		"x: main.work below 20%", "x: no function above 20%", "x: main.work below 0.2 cores",
		"x: no function grows above 15 points except main.rest", "x: goroutines steady",
	} {
		l := &load{rand.New(rand.NewPCG(3, 3)), 1000}
		watchOf := func(lines ...string) *watch {
			return newWatch(t, budget.Must(lines...), time.Minute)
		}
		at := time.Duration(0)
		feed := func(p *profile.Profile, watches ...*watch) (ofX []watched) {
			at += time.Minute
			for _, w := range watches {
				facts := judge.Facts{Baseline: base, Figures: map[string]float64{"goroutines": 100, "cores": 1}}
				for _, r := range w.profile(t, p, at, facts) {
					if r.Budget.Name == "x" {
						ofX = append(ofX, r)
					}
				}
			}
			return ofX
		}
		// A twin that nobody touches, and one that is replaced half way.
		twin, before := watchOf("z: fmt below 90%", sentence), watchOf(sentence, "y: fmt below 80%")
		for range 40 {
			feed(l.window(0.1), twin, before)
		}
		after, fresh := watchOf("z: fmt below 90%", sentence), watchOf("z: fmt below 90%", sentence)
		after.Inherit(1, before.Watch, 0)
		for range 3 {
			feed(l.window(0.1), twin, after, fresh)
		}
		differs := false
		for i := range 12 {
			r := feed(l.window(0.4), twin, after, fresh)
			if r[0].Alarm != r[1].Alarm || math.Abs(r[0].Evidence-r[1].Evidence) > 1e-9 || r[0].Reason != r[1].Reason {
				t.Errorf("%s: window %d: alarm %s with %g where nothing changed, %s with %g after the change: %q, %q",
					sentence, i, r[0].Alarm, r[0].Evidence, r[1].Alarm, r[1].Evidence, r[0].Reason, r[1].Reason)
			}
			differs = differs || r[0].Evidence != r[2].Evidence || r[0].Alarm != r[2].Alarm || r[0].Reason != r[2].Reason
		}
		if !differs {
			t.Errorf("%s: a watch that has forgotten says the same: the test proves nothing", sentence)
		}
		if r := feed(l.window(0.1), before); r[0].Alarm == budget.Fail {
			t.Errorf("%s: what was moved is still there", sentence)
		}
	}
}
