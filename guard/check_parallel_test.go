package guard

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
)

// Eight checks at a time, one of them guilty: exactly one fails, and none has a
// sample of another's.
func TestCheckParallel(t *testing.T) {
	needProfiler(t)
	const guilty = 5
	work := []func(rounds int) uint64{lane0, lane1, lane2, lane3, lane4, lane5, lane6, lane7}
	out := make([]checked, len(work))
	var wg sync.WaitGroup
	for i, lane := range work {
		share := 0.1
		if i == guilty {
			share = 0.97
		}
		wg.Go(func() {
			set := budget.Must(fmt.Sprintf("guard.lane%d below 50%% cumulative", i))
			out[i] = tryCheckAs(&fakeTB{name: t.Name()}, Checker{Max: 2 * time.Minute}, set, func(context.Context) {
				const rounds = mixRounds / 2
				mine := int(share * rounds)
				if lane(mine)+burnInnocent(rounds-mine) == 0 {
					t.Error("the sums are odd numbers")
				}
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
		p, err := got.run.cpu.profile(got.run)
		if err != nil {
			t.Fatal(err)
		}
		own := false
		for _, f := range p.Function {
			_, lane, ok := strings.Cut(f.Name, "guard.lane")
			own = own || ok && lane == fmt.Sprint(i)
		}
		if !own {
			t.Errorf("check %d does not see itself", i)
		}
		for _, s := range p.Sample {
			for _, l := range s.Location {
				for _, line := range l.Line {
					if _, lane, ok := strings.Cut(line.Function.Name, "guard.lane"); ok && lane != fmt.Sprint(i) {
						t.Errorf("check %d has samples of lane %s", i, lane)
					}
				}
			}
		}
	}
}

//go:noinline
func lane0(rounds int) uint64 { return spin(rounds) + 1 }

//go:noinline
func lane1(rounds int) uint64 { return spin(rounds) + 3 }

//go:noinline
func lane2(rounds int) uint64 { return spin(rounds) + 5 }

//go:noinline
func lane3(rounds int) uint64 { return spin(rounds) + 7 }

//go:noinline
func lane4(rounds int) uint64 { return spin(rounds) + 9 }

//go:noinline
func lane5(rounds int) uint64 { return spin(rounds) + 11 }

//go:noinline
func lane6(rounds int) uint64 { return spin(rounds) + 13 }

//go:noinline
func lane7(rounds int) uint64 { return spin(rounds) + 15 }
