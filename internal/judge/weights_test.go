package judge_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
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
		{"one small object", "heap", small, "main.small below 200 of heap", budget.Inconclusive},
		{"twenty small objects", "heap", smalls, "main.small below 50000 of heap", budget.Fail},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := budget.Must(tt.sentence).Judge(folded.Must(tt.kind + " 10s\n" + tt.stacks))[0]
			if r.Verdict != tt.want {
				t.Errorf("%v, want %v: %s", r.Verdict, tt.want, r)
			}
			if tt.want == budget.Fail && (len(r.Offenders) == 0 || r.Offenders[0].Function == "main.light") {
				t.Errorf("offenders %v", r.Offenders)
			}
		})
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
		for _, res := range set.Judge(folded.Must(fmt.Sprintf("mutex 10s\nmain.main;main.heavy %d %dms\nmain.main;main.light 4000 4000ms\n", waits, 50*waits))) {
			if res.Verdict == budget.Fail {
				failed++
			}
		}
	}
	if failed > 0 { // one in 500,000 is promised
		t.Errorf("%d of 4000 fail", failed)
	}
}
