package work

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/evidence"
)

// What is busy on its own account, and however unsteadily, is not taken for work's, and
// mostly found to be its own soon. What follows work is proven, also where many blocks
// show nothing.
func TestFollower(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const alpha = evidence.FailAlpha
	samples := func(mean float64) int64 { return int64(rng.ExpFloat64() * mean) } // bursty
	starved := func(share, mean float64) int64 {                                  // nothing in a share of the blocks
		if rng.Float64() < share {
			return 0
		}
		return 1 + samples(mean)
	}
	for _, tt := range []struct {
		name        string
		on, off     func(block int) int64
		works       bool
		soon        int // nine of ten are decided in so many pairs
		mostUnknown int // in a hundred, after all pairs
	}{
		{"steady", func(int) int64 { return 2 + samples(1) }, nil, false, 12, 0},
		{"bursty", func(int) int64 { return samples(2) }, nil, false, 20, 0},
		{"in phases", func(block int) int64 { return int64(block / 7 % 2 * 3) }, nil, false, 40, 0},
		{"ended", func(int) int64 { return 0 }, nil, false, 20, 0},
		{"rare", func(int) int64 { return starved(0.95, 20) }, nil, false, pairsMost, 40},
		{"work's", func(int) int64 { return 1 + samples(2) }, func(int) int64 { return starved(0.97, 1) }, true, 30, 1},
		{"work's, a third of the blocks show nothing", func(int) int64 { return starved(0.33, 2) }, func(int) int64 { return 0 }, true, 40, 1},
		{"work's, more than half", func(int) int64 { return starved(0.55, 2) }, func(int) int64 { return 0 }, true, pairsMost, 20},
	} {
		off := tt.off
		if off == nil {
			off = tt.on
		}
		const runs = 500
		var took []float64
		unknown := 0
		for range runs {
			var f follower
			pair := 0
			for ; pair < pairsMost && !f.follows(alpha) && !f.isOwn(); pair++ {
				if first := rng.IntN(2); first == 1 {
					on := tt.on(2 * pair)
					f.see(on, off(2*pair+1))
				} else {
					calm := off(2 * pair)
					f.see(tt.on(2*pair+1), calm)
				}
			}
			took = append(took, float64(pair))
			switch works, own := f.follows(alpha), f.isOwn(); {
			case !works && !own:
				unknown++
			case works != tt.works:
				t.Fatalf("%s: work's %t, want %t: %+v", tt.name, works, tt.works, f)
			}
		}
		t.Logf("%s: %v pairs, 90%% of them within %v; %d of %d unknown", tt.name, quantileOf(took, 0.5), quantileOf(took, 0.9), unknown, runs)
		if quantileOf(took, 0.9) > float64(tt.soon) || unknown*100 > tt.mostUnknown*runs {
			t.Errorf("%s: nine of ten took %v pairs, want %d; %d of %d are unknown", tt.name, quantileOf(took, 0.9), tt.soon, unknown, runs)
		}
	}
}

func quantileOf(xs []float64, q float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	return xs[min(len(xs)-1, int(q*float64(len(xs))))]
}

// What a check has started that is over may work for the next one. What a running check has
// started works for that.
func TestByRootOfOtherChecks(t *testing.T) {
	New(t.Context(), "over", nil).Stop(0, 0)
	running := New(t.Context(), "running", nil)
	defer running.Stop(0, 0)
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}}, PeriodType: &profile.ValueType{}}
	for i, id := range []string{"over", "running", ""} {
		f := &profile.Function{ID: uint64(i + 1), Name: "shop.serve" + id}
		at := &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
		s := &profile.Sample{Location: []*profile.Location{at}, Value: []int64{7}}
		if id != "" {
			s.Label = map[string][]string{label: {id}}
		}
		p.Function, p.Location, p.Sample = append(p.Function, f), append(p.Location, at), append(p.Sample, s)
	}
	samples := OfRoots(ByRoot(p))
	if len(samples) != 2 || samples["shop.serveover"] != 7 || samples["shop.serve"] != 7 {
		t.Errorf("%v, want those of the check that is over and those without a label", samples)
	}
}
