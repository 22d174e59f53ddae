package work

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/kinds"
)

// Some work is done by goroutines without the label, as those of a server that was started
// before the check. Their samples look like those of another test that runs in parallel. So
// these are counted by their root, the function that the goroutine began with, and an experiment
// tells whether a root works for this check: work runs in one of two blocks and rests in the
// other, in random order. Any other root is busier while work runs in half of such pairs,
// however unsteady it is: in 20 pairs of 20 with a chance of one in a million.
const (
	// ownLeast is the number of samples while work rests from which a root can be shown not
	// to work for the check.
	ownLeast = 10
	// endedPairs without a sample while work runs show that the root's goroutines have ended.
	endedPairs = 20

	// Blocks are longer where less than two samples come in one.
	restLeast, restLongest = 90 * time.Millisecond, time.Second
	pairsMost              = 60 // enough also on a busy machine, where most blocks have no sample
	// restShare is the largest share of its samples while work runs that a root which works
	// for the check may have while work rests.
	restShare = 0.25
)

// ByRoot returns the samples of a profile that have no running check's label but may be done
// for work. In the place of the label they have the root of their stack.
func ByRoot(p *profile.Profile) *profile.Profile {
	p = p.Compact() // a copy, in which each sample has its own labels
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		root, ok := rootOf(stackOf(s))
		others := slices.ContainsFunc(s.Label[label], func(id string) bool {
			_, runs := running.Load(id)
			return runs
		})
		s.Label[label] = []string{root}
		return !ok || others
	})
	Cut(p)
	return p
}

// OfRoots is the number of samples of each root in profiles of [ByRoot].
func OfRoots(profiles ...*profile.Profile) map[string]int64 {
	samples := map[string]int64{}
	for _, p := range profiles {
		for _, s := range p.Sample {
			samples[s.Label[label][0]] += s.Value[0]
		}
	}
	return samples
}

// Unlabelled counts the goroutines that have no running check's label, nor that of the check
// with this id, but may work for it, by their roots.
func Unlabelled(id string) map[string]int64 {
	p := Take(kinds.Goroutine)
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool { return slices.Contains(s.Label[label], id) })
	return OfRoots(ByRoot(p))
}

// A follower is the result of the experiment for one root.
type follower struct {
	wins, pairs float64 // pairs in which it was busier while work ran, and pairs with any difference
	on, off     float64 // samples while work ran, and while it rested
	seen        int     // all pairs
}

func (f *follower) see(on, off int64) {
	f.on, f.off = f.on+float64(on), f.off+float64(off)
	f.seen++
	if on > off {
		f.wins++
	}
	if on != off {
		f.pairs++
	}
}

// follows reports whether the pairs prove, with error alpha, that the root works for the
// check.
func (f *follower) follows(alpha float64) bool {
	return f.pairs > 0 && f.off <= restShare*f.on && evidence.Lower(f.wins, f.pairs, 1, alpha) > 0.5
}

// isOwn reports whether the root does not work for the check: it is hardly less busy while
// work rests, or not busy any more while work runs.
func (f *follower) isOwn() bool {
	return f.off >= ownLeast && f.off > 2*restShare*f.on || f.seen >= endedPairs && f.on == 0
}

// Follow lets work run and rest until it is known which roots work for the check, or until a
// time. rate is the number of samples a second of the busiest root. It returns the roots that
// do, and those for which it is not known.
func (w *Worker) Follow(until time.Time, roots []string, rate float64) (follow, unknown []string) {
	each := min(max(time.Duration(2/rate*float64(time.Second)), restLeast), restLongest)
	alpha := evidence.FailAlpha / float64(len(roots))
	followers := map[string]*follower{}
	for _, root := range roots {
		followers[root] = &follower{}
	}
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	unknown = slices.Clone(roots)
	ok := w.Pause(time.Until(until))
	for pair := 0; pair < pairsMost && ok && ctx.Err() == nil && len(unknown) > 0; pair++ {
		blocks := map[bool]map[string]int64{} // by whether work runs
		first := rand.IntN(2) == 0
		for _, runs := range []bool{first, !first} {
			if runs {
				w.Order(0)
			}
			if p, err := Sampled(ctx, each); err == nil {
				blocks[runs] = OfRoots(ByRoot(p))
			}
			if runs {
				ok = w.Pause(time.Until(until))
			}
		}
		if len(blocks) < 2 {
			continue // a profile was lost
		}
		unknown = slices.DeleteFunc(unknown, func(root string) bool {
			f := followers[root]
			f.see(blocks[true][root], blocks[false][root])
			if f.follows(alpha) {
				follow = append(follow, root)
				return true
			}
			return f.isOwn()
		})
	}
	return follow, unknown
}
