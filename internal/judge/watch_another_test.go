package judge_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
)

// Who is over the limit when the culprit has gone, because it took so much of what
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
			for i := 0; r.Alarm != budget.Fail; i++ {
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
				if r.Alarm == budget.Fail {
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
			if r.Alarm == budget.Fail {
				t.Errorf("%d samples: the alarm goes on when nobody is over it: %s", n, r)
			}
		}
	}
}
