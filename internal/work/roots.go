package work

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/evidence"
)

// Work may have goroutines without its label do what it is to be judged by: a server that
// stood before it, or a goroutine on which work sets labels on another context. Their
// samples look like those of a test in parallel, which has no label either.
//
// So each sample without a label is counted by its root, the function that its goroutine
// began with. To tell whose a root is, work runs in one of two blocks and rests in the
// other, in an order that is drawn anew for each pair. What knows nothing of work is busier
// in the block with work in half of the pairs, however unsteady it is: 20 pairs of 20 come
// about with a chance of one in a million.
const (
	// ownLeast is how many samples while work rests show that they are not work's.
	ownLeast = 10
	// endedPairs without a sample while work runs show that they have ended.
	endedPairs = 20

	// Blocks are longer where less than two samples come in one.
	restLeast, restLongest = 90 * time.Millisecond, time.Second
	pairsMost              = 60 // prove it also where most blocks show nothing, on a busy machine
	// restShare is how much of what is done while work runs may be done while it rests,
	// for what is work's.
	restShare = 0.25
)

// ByRoot is what a profile has without a check's label, if it may be work's doing all the
// same. The root of each stack stands in the place of the label; samples counts those of
// each root.
func ByRoot(p *profile.Profile) (unlabelled *profile.Profile, samples map[string]int64) {
	p = p.Compact() // a copy, in which each sample has its own labels
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		root, ok := rootOf(stackOf(s))
		others := len(s.Label[label]) > 0
		s.Label[label] = []string{root}
		return !ok || others
	})
	Cut(p)
	samples = map[string]int64{}
	for _, s := range p.Sample {
		samples[s.Label[label][0]] += s.Value[0]
	}
	return p, samples
}

// A follower is a root of which it is to be found out whether it follows work.
type follower struct {
	wins, pairs float64 // in which it was busier while work ran, and in which it was not as busy
	on, off     float64 // samples while work ran, and while it rested
	seen        int     // pairs
}

// see takes the samples of a pair of blocks.
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

// follows reports whether so many pairs with work are proof, with error alpha.
func (f *follower) follows(alpha float64) bool {
	return f.pairs > 0 && f.off <= restShare*f.on && evidence.Lower(f.wins, f.pairs, 1, alpha) > 0.5
}

// isOwn reports whether it is busy on its own account: hardly less while work rests, or
// not at all any more while work runs.
func (f *follower) isOwn() bool {
	return f.off >= ownLeast && f.off > 2*restShare*f.on || f.seen >= endedPairs && f.on == 0
}

// Follow lets work run and rest until it is known which roots follow it, or a time has
// come. rate is how many samples a second the busiest of them has. It returns those that
// do, and those of which it is not known.
func (w *Worker) Follow(until time.Time, roots []string, rate float64) (follow, unknown []string) {
	each := min(max(time.Duration(2/rate*float64(time.Second)), restLeast), restLongest)
	alpha := evidence.FailAlpha / float64(len(roots))
	followers := map[string]*follower{}
	for _, root := range roots {
		followers[root] = &follower{}
	}
	follows := func(root string) bool { return followers[root].follows(alpha) }
	open := func(root string) bool { return !follows(root) && !followers[root].isOwn() }
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	ok := w.Pause(time.Until(until))
	for pair := 0; pair < pairsMost && ok && ctx.Err() == nil && slices.ContainsFunc(roots, open); pair++ {
		blocks := map[bool]map[string]int64{} // by whether work runs
		first := rand.IntN(2) == 0
		for _, runs := range []bool{first, !first} {
			if runs {
				w.Order(0)
			}
			if p, err := Sampled(ctx, each); err == nil {
				_, blocks[runs] = ByRoot(p)
			}
			if runs {
				ok = w.Pause(time.Until(until))
			}
		}
		if on, off := blocks[true], blocks[false]; on != nil && off != nil {
			for root, f := range followers {
				f.see(on[root], off[root])
			}
		}
	}
	for _, root := range roots {
		switch {
		case follows(root):
			follow = append(follow, root)
		case open(root):
			unknown = append(unknown, root)
		}
	}
	return follow, unknown
}
