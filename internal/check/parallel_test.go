package check

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/profguard/profguard/budget"
)

// Two checks at a time, one of them guilty: exactly one fails, and none has a
// sample of another's.
func TestCheckParallel(t *testing.T) {
	t.Parallel()
	needProfiler(t)
	const guilty = 1
	work := []func(guilty, innocent int) uint64{lane0, lane1}
	out := make([]checked, len(work))
	var wg sync.WaitGroup
	for i, lane := range work {
		const rounds = restEvery * mixRounds
		mine := 0
		if i == guilty {
			mine = rounds
		}
		wg.Go(func() {
			set := budget.Must("check.burnGuilty below 30% cumulative") // both lanes together have 50%
			out[i] = tryCheckAs(newFakeTB(t), Config{Max: ample}, set, func(ctx context.Context) {
				if lane(mine, rounds-mine) == 0 {
					t.Error("the sums are odd numbers")
				}
				pause(ctx, restTime)
			})
		})
	}
	wg.Wait()
	for i, got := range out {
		want := "pass"
		if i == guilty {
			want = "fail"
		}
		if got.verdict() != want {
			t.Errorf("check %d: %s, want %s:\n%s", i, got.verdict(), want, got.text())
			continue
		}
		p := got.run.judged["cpu"]
		own := false
		for _, line := range p.Lines { // of its samples
			_, lane, ok := strings.Cut(p.Symbols.Name(line.Name), "check.lane")
			own = own || ok && lane == fmt.Sprint(i)
			if ok && lane != fmt.Sprint(i) {
				t.Errorf("check %d has samples of lane %s", i, lane)
			}
		}
		if !own {
			t.Errorf("check %d does not see itself", i)
		}
	}
}

//go:noinline
func lane0(guilty, innocent int) uint64 { return burnGuilty(guilty) + burnInnocent(innocent) + 0 }

//go:noinline
func lane1(guilty, innocent int) uint64 { return burnGuilty(guilty) + burnInnocent(innocent) + 1 }
