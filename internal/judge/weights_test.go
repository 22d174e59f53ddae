package judge_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
)

// A function is judged by its own observations, and not by those of a profile in which the
// others weigh less.
func TestUnevenWeights(t *testing.T) {
	const (
		once   = "main.main;main.heavy 1 36ms\nmain.main;main.light 1296 1296ms\n"
		often  = "main.main;main.heavy 20 720ms\nmain.main;main.light 1296 1296ms\n"
		beside = "main.main;main.heavy 1 1000ms\nmain.main;main.other 1200 1200ms\nmain.main;main.light 1000000 1000000ms\n"
		even   = "main.main;main.heavy 1000 1000ms\nmain.main;main.other 1200 1200ms\nmain.main;main.light 1000000 1000000ms\n"
		small  = "main.main;main.small 32768 524288\nmain.main;main.large 85106 5577506816\n"
		smalls = "main.main;main.small 655360 10485760\nmain.main;main.large 85106 5577506816\n"
	)
	for _, tt := range []struct {
		name, kind, stacks, sentence string
		want                         budget.Verdict
	}{
		{"one long wait", "mutex", once, "main.heavy below 0.0005 cores of mutex", budget.Inconclusive},
		{"one long wait, of each", "mutex", once, "no function above 0.0005 cores of mutex except main.light", budget.Inconclusive},
		{"twenty long waits", "mutex", often, "main.heavy below 0.01 cores of mutex", budget.Fail},
		{"twenty long waits, of each", "mutex", often, "no function above 0.01 cores of mutex except main.light", budget.Fail},
		{"one long wait within the limit", "block", beside, "main.heavy below 0.125 cores of block", budget.Inconclusive},
		{"one long wait behind short ones", "block", beside, "no function above 0.125 cores of block except main.light", budget.Inconclusive},
		{"short waits within the limit", "block", even, "no function above 0.125 cores of block except main.light", budget.Pass},
		{"one long wait without a count", "mutex", "main.main;main.heavy 0 1000ms\nmain.main;main.light 1000 1000ms\n", "main.heavy below 0.5 cores of mutex", budget.Inconclusive},
		{"one long wait behind a deep stack", "block", strings.Replace(beside, "main.main;main.heavy", deep(128), 1), "main.heavy below 0.125 cores of block", budget.Inconclusive},
		{"one small object", "heap", small, "main.small below 200 of heap", budget.Inconclusive},
		{"twenty small objects", "heap", smalls, "main.small below 50000 of heap", budget.Fail},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := judged(t, budget.Must(tt.sentence), folded.Must(tt.kind+" 10s\n"+tt.stacks))[0]
			if r.Verdict != tt.want {
				t.Errorf("%v, want %v: %s", r.Verdict, tt.want, r)
			}
			if tt.want == budget.Fail && (len(r.Offenders) == 0 || r.Offenders[0].Function == "main.light") {
				t.Errorf("offenders %v", r.Offenders)
			}
		})
	}
}

// A watch takes one long wait for one observation, too, in this window and in later ones.
func TestUnevenWeightsWatched(t *testing.T) {
	const light = "mutex 10s\nmain.main;main.light 4000 4000ms\n"
	for _, tt := range []struct {
		waits int // of 50 ms, in one window of ten
		want  budget.Verdict
	}{{1, budget.Pass}, {4, budget.Fail}, {20, budget.Fail}} {
		for _, s := range []string{"main.heavy below 0.001 cores of mutex", "no function above 0.001 cores of mutex except main.light"} {
			w, last := watcher(t, s), watched{}
			for i := range 1000 {
				text := light
				if i%10 == 0 {
					text += fmt.Sprintf("main.main;main.heavy %d %dms\n", tt.waits, 50*tt.waits)
				}
				last = w(folded.Must(text))
				if tt.want == budget.Pass && last.Proven == budget.Fail {
					t.Fatalf("%s: an alarm after window %d, at half of the limit", s, i)
				}
			}
			if last.Proven != tt.want {
				t.Errorf("%s, %d waits: %v, want %v", s, tt.waits, last.Proven, tt.want)
			}
		}
	}
}

// A function whose few waits are long, and which on average is at its limit, fails in no
// more windows than one whose waits are like the others'.
func TestUnevenWeightsAtTheLimit(t *testing.T) {
	const mean = 2 // waits of 50 ms in a window of 10 s
	r := rand.New(rand.NewPCG(1, 2))
	set := budget.Must("main.heavy below 0.01 cores of mutex", "no function above 0.01 cores of mutex except main.light")
	failed := 0
	for range 2000 {
		waits := 0
		for at := r.ExpFloat64(); at < mean; at += r.ExpFloat64() {
			waits++
		}
		if waits == 0 {
			continue
		}
		for _, res := range judged(t, set, folded.Must(fmt.Sprintf("mutex 10s\nmain.main;main.heavy %d %dms\nmain.main;main.light 4000 4000ms\n", waits, 50*waits))) {
			if res.Verdict == budget.Fail {
				failed++
			}
		}
	}
	if failed > 0 { // one in 500,000 is promised
		t.Errorf("%d of 4000 fail", failed)
	}
}

// What a hit is worth differs from window to window. Growth per unit of work is compared in
// hits of the baseline, so that the first window does not set the limit of the next ones.
func TestGrowthOfUnlikeWindows(t *testing.T) {
	const same = "allocs rate=1\nmain.main;main.work 1000 1000000\nmain.main;main.other 10000 10000000\n"
	f := judge.Facts{Work: map[string]float64{"request": 1000}, BaselineWork: map[string]float64{"request": 1000}}
	f.Baseline = tableOf(t, folded.Must(same))
	for _, first := range []string{same, same + "main.main;main.init 1 1000000000\n", same + "main.main;main.tiny 1000000 20000000\n"} {
		for bytes, want := range map[int]bool{1000000: false, 2000000: true} {
			w := watcher(t, "main.work grows below 10% per request of allocs")
			last := w(folded.Must(first), f)
			for range 100 {
				last = w(folded.Must(fmt.Sprintf("allocs rate=1\nmain.main;main.work 1000 %d\nmain.main;main.other 10000 10000000\n", bytes)), f)
			}
			if fails := last.Proven == budget.Fail; fails != want {
				t.Errorf("%d bytes after %q: %v", bytes, first, last.Proven)
			}
		}
	}
}
