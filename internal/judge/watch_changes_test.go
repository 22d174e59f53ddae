package judge_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
)

// Who is over the limit when the offender has gone, because it took so much of what
// there is, keeps an alert from being over; who is within it does not.
func TestWatchAnotherIsOver(t *testing.T) {
	for _, n := range []int{60, 250, 1000} {
		l := &load{rand.New(rand.NewPCG(5, uint64(n))), n}
		window := func(print, encode float64) *profile.Profile {
			text := "cpu 10s\n"
			add := func(name string, k int) int {
				if k > 0 {
					text += fmt.Sprintf("main.main;main.run;%s %d\n", name, k)
				}
				return k
			}
			rest := n - add("fmt.Println", l.binomial(n, print))
			rest -= add("json.Encode", l.binomial(rest, encode/(1-print)))
			for i := range 12 {
				add(fmt.Sprintf("main.f%d", i), rest/12)
			}
			return folded.Must(text)
		}
		for _, tt := range []struct {
			encode float64
			stays  bool
		}{{0.4, true}, {0.12, false}} {
			next := watcher(t, "no function above 20%")
			var r watched
			for i := 0; r.Proven != budget.Fail; i++ {
				if r = next(window(0.4, 0.12)); i == 100 {
					t.Fatalf("%d samples: no alarm at twice the limit: %s", n, r)
				}
			}
			for range 5 {
				next(window(0.4, 0.12))
			}
			fails := 0
			for i := range 80 {
				r = next(window(0, tt.encode))
				if r.Proven == budget.Fail {
					fails++
				} else if r.Verdict == budget.Fail {
					t.Errorf("%d samples, window %d: the alarm ends in a window that fails: %s", n, i, r)
				}
			}
			if tt.stays && fails < 80 || !tt.stays && fails > 60 {
				t.Errorf("%d samples, another at %g: the alarm fires in %d of 80 windows after the fix: %s", n, tt.encode, fails, r)
			}
			if tt.stays && (len(r.Offenders) == 0 || !strings.HasSuffix(r.Offenders[0].Function, "json.Encode")) {
				t.Errorf("%d samples: the offender is not who is over the limit now: %s", n, r)
			}
			for range 80 {
				r = next(window(0, 0.05))
			}
			if r.Proven == budget.Fail {
				t.Errorf("%d samples: the alarm goes on when nobody is over it: %s", n, r)
			}
		}
	}
}

// TestWatchInherits: what is kept through a change of the set is known as if
// nothing had changed, and what is not begins anew.
func TestWatchInherits(t *testing.T) {
	base := tableOf(t, folded.Must("cpu 10s\nmain.main;main.run;main.work 1000\nmain.main;main.run;main.rest 9000\n"))
	for _, sentence := range []string{
		"x: main.work below 20%", "x: no function above 20%", "x: main.work below 0.2 cores",
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
			if r[0].Proven != r[1].Proven || math.Abs(r[0].Evidence-r[1].Evidence) > 1e-9 || r[0].Reason != r[1].Reason {
				t.Errorf("%s: window %d: alarm %s with %g where nothing changed, %s with %g after the change: %q, %q",
					sentence, i, r[0].Proven, r[0].Evidence, r[1].Proven, r[1].Evidence, r[0].Reason, r[1].Reason)
			}
			differs = differs || r[0].Evidence != r[2].Evidence || r[0].Proven != r[2].Proven || r[0].Reason != r[2].Reason
		}
		if !differs {
			t.Errorf("%s: a watch that has forgotten says the same: the test proves nothing", sentence)
		}
		if r := feed(l.window(0.1), before); r[0].Proven == budget.Fail {
			t.Errorf("%s: what was moved is still there", sentence)
		}
	}
}
