package guard

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/hub"
)

const (
	// Work runs, or rests, for restLeast at a time: five samples of a goroutine
	// that keeps one core busy. Of strangers that get less it takes longer for
	// restSamples to come, up to restLongest.
	restLeast   = 50 * time.Millisecond
	restLongest = 400 * time.Millisecond
	restSamples = 3

	// restMost is how long a check spends on it, or as long as it took until then,
	// which says how busy the machine is. With a core for the strangers it takes 3
	// seconds to prove that they are work's, and one to see that they are not;
	// others' windows of the profiler make it take longer.
	restMost = 15 * time.Second

	// restStake is what is bet of each pair, as a part of what there is. A stake
	// of all would be lost for good with one pair that went the other way.
	restStake = 0.9

	// restHopeless is the capital at which nobody will be proven any more: some
	// two pairs that went the other way.
	restHopeless = 0.01

	// restCalm is how much of what strangers do while work runs they may do
	// while it rests.
	restCalm = 0.25
)

// A suspect is a stranger of whom it is to be found out whether work makes it
// busy.
type suspect struct {
	root    string
	capital float64
	on, off int64 // samples while work ran, and while it rested
}

// bet takes the samples of a pair of blocks.
func (s *suspect) bet(on, off int64) {
	s.on, s.off = s.on+on, s.off+off
	switch {
	case on > off:
		s.capital *= 1 + restStake
	case off > on:
		s.capital *= 1 - restStake
	}
}

// rest lets work run and rest in turns, and looks at who rests with it. In each
// pair of blocks a coin says which comes first. So whatever is busy on its own
// account, and however unsteadily, is as likely to be busier in either block,
// and doubling one's money on the block with work is a game that nobody wins:
// its chance of a capital of a million is one in a million. What work makes busy
// wins it in 22 pairs. Those who are somewhat busier with work than without, as
// anybody may be for sharing caches and cores with it, are not work's: they have
// to be calm when it rests.
//
// It returns those that are work's, and those of whom it could not be told.
func (c *cpuPhase) rest(r *checkRun, roots []string) (proven, open []string) {
	suspects := make([]suspect, len(roots))
	for i, root := range roots {
		suspects[i] = suspect{root: root, capital: 1}
	}
	enough := float64(len(roots)) / evidence.FailAlpha
	each := time.Duration(restSamples / float64(c.strangers.total(roots)) * float64(c.elapsed))
	each = min(max(each, restLeast), restLongest)
	ends := time.Now().Add(max(restMost, time.Since(r.begun)))
	if r.ends.Before(ends) {
		ends = r.ends
	}
	ctx, cancel := context.WithDeadline(context.Background(), ends)
	defer cancel()
	for time.Now().Before(ends) && r.pauseWork() && anyOpen(suspects, enough) {
		var seen [2]map[string]int64 // at rest, and at work
		first := rand.IntN(2)
		for _, phase := range []int{first, 1 - first} {
			seen[phase] = c.during(ctx, r, each, phase == 1)
		}
		if seen[0] == nil || seen[1] == nil {
			continue // a window was lost, or there is no time left
		}
		for i := range suspects {
			s := &suspects[i]
			s.bet(seen[1][s.root], seen[0][s.root])
		}
	}
	for _, s := range suspects {
		switch {
		case s.capital >= enough && float64(s.off) <= restCalm*float64(s.on):
			proven = append(proven, s.root)
		case s.capital > restHopeless:
			open = append(open, s.root)
		}
	}
	return proven, open
}

func anyOpen(suspects []suspect, enough float64) bool {
	for _, s := range suspects {
		if s.capital > restHopeless && s.capital < enough {
			return true
		}
	}
	return false
}

// pauseWork makes work rest, and reports whether it does so in time.
func (r *checkRun) pauseWork() bool {
	if r.resting {
		return true
	}
	r.worker.halt.Store(true)
	if !r.worker.wait(time.Until(r.ends)) {
		return false
	}
	r.worker.halt.Store(false)
	r.resting = true
	return true
}

// during counts the samples of strangers for a block with work running or
// resting. It returns nil where there is nothing to go by.
func (c *cpuPhase) during(ctx context.Context, r *checkRun, each time.Duration, work bool) map[string]int64 {
	if !r.resting {
		return nil // it did not return in time
	}
	if work {
		r.worker.order(0)
		r.resting = false
	}
	w, err := hub.Process().Capture(ctx, each)
	if work && !r.pauseWork() || err != nil {
		return nil
	}
	table, err := c.decoder.Bytes(w.Data)
	if err != nil {
		return nil
	}
	return strangersIn(table)
}

// ask asks about strangers in the middle of the check, which goes on unless a
// budget turns out not to be kept for them.
func (c *cpuPhase) ask(r *checkRun) (more bool, err error) {
	if err := c.question(r); err != nil {
		return false, err
	}
	if len(c.strangers.proven) > 0 {
		counted, err := c.counting(r, c.strangers.proven)
		if err != nil || slices.ContainsFunc(counted, isExceeded) {
			return false, err
		}
	}
	if r.resting {
		r.worker.order(0)
		r.resting = false
	}
	c.last = r.readUnits()
	return true, nil
}
