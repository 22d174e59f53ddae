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
	// Work runs, or rests, for restLeast at a time: a profile of 50 ms costs as much
	// as one of 90, and is twice as noisy. Of strangers that get less than a fifth of a
	// core it takes longer for restSamples to come, up to restLongest, which is for
	// those of whom ten were seen in the five seconds that a pass takes at its slowest.
	restLeast   = 90 * time.Millisecond
	restLongest = time.Second
	restSamples = 2

	// restBlocks is how many blocks a check spends on it. With a core for the
	// strangers it takes 25 to 30, so 3 seconds, to prove that they are work's, and
	// 10 to see that they are not; on a machine so busy that a third of the blocks
	// with work show nothing, 50. TestSuspect has the distribution.
	restBlocks = 150

	// restHopeless is the capital at which nobody will be proven any more.
	restHopeless = 0.01

	// restCalm is how much of what strangers do while work runs they may do
	// while it rests.
	restCalm = 0.25

	// quietAtRest is the chance, for a bet, that a block at rest shows nothing of a
	// stranger who works for the check: what is on its way may come in late.
	quietAtRest = 0.95
)

// quietAtWork are the chances, for the bets, that a block with work shows nothing
// of such a stranger: next to none; some, on a loaded machine; and many.
var quietAtWork = [...]float64{0.05, 0.3, 0.6}

// A suspect is a stranger of whom it is to be found out whether work makes it
// busy.
type suspect struct {
	root    string
	usual   float64 // samples in a block with work, by what it did until now
	bets    [len(quietAtWork)]float64
	on, off int64 // samples while work ran, and while it rested
}

func newSuspect(root string, usual float64) suspect {
	s := suspect{root: root, usual: usual}
	for i := range s.bets {
		s.bets[i] = 1
	}
	return s
}

// see takes the samples of a block, with work or at rest.
func (s *suspect) see(samples int64, work bool) {
	busy := float64(samples) > restCalm*s.usual
	if work {
		s.on += samples
	} else {
		s.off += samples
	}
	for i, quiet := range quietAtWork {
		// The stake that such a stranger would make most of: on work if it is busy,
		// on rest if it is not.
		stake := (quietAtRest - quiet) / (quietAtRest + quiet)
		if busy {
			stake = (quietAtRest - quiet) / (2 - quietAtRest - quiet)
		}
		if busy != work {
			stake = -stake
		}
		s.bets[i] *= 1 + stake
	}
}

// capital is what has become of one, divided among the bets.
func (s *suspect) capital() (sum float64) {
	for _, b := range s.bets {
		sum += b / float64(len(s.bets))
	}
	return sum
}

// rest lets work run and rest, a block at a time and as a coin says, and looks at
// who rests with it. Whatever is busy on its own account, and however unsteadily,
// knows nothing of the coin: to bet on how it fell, by how busy somebody was, is
// a game without gain, whose chance of a capital of a million is one in a
// million. What work makes busy doubles it with nearly each block. Those who are
// somewhat busier with work than without, as anybody may be for sharing caches and
// cores with it, are not work's: they have to be calm when it rests.
//
// It returns those that are work's, and those of whom it could not be told.
func (c *cpuPhase) rest(r *checkRun, roots []string) (proven, open []string) {
	each := time.Duration(restSamples / float64(c.strangers.total(roots)) * float64(c.elapsed))
	each = min(max(each, restLeast), restLongest)
	suspects := make([]suspect, len(roots))
	for i, root := range roots {
		suspects[i] = newSuspect(root, float64(c.strangers.samples[root])*each.Seconds()/c.elapsed.Seconds())
	}
	enough := float64(len(roots)) / evidence.FailAlpha
	ctx, cancel := context.WithDeadline(context.Background(), r.ends)
	defer cancel()
	for block := 0; block < restBlocks && ctx.Err() == nil && anyOpen(suspects, enough); block++ {
		work := rand.IntN(2) == 1
		seen, ok := c.during(ctx, r, each, work)
		if !ok {
			continue // the window was lost, or there is no time left
		}
		for i := range suspects {
			s := &suspects[i]
			s.see(seen[s.root], work)
		}
	}
	for _, s := range suspects {
		switch capital := s.capital(); {
		case capital >= enough && float64(s.off) <= restCalm*float64(s.on):
			proven = append(proven, s.root)
		case capital > restHopeless:
			open = append(open, s.root)
		}
	}
	return proven, open
}

func anyOpen(suspects []suspect, enough float64) bool {
	for _, s := range suspects {
		if capital := s.capital(); capital > restHopeless && capital < enough {
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
// resting. It is not ok where there is nothing to go by.
func (c *cpuPhase) during(ctx context.Context, r *checkRun, each time.Duration, work bool) (seen map[string]int64, ok bool) {
	switch {
	case !work && !r.pauseWork():
		return nil, false // it did not return in time
	case work && r.resting:
		r.worker.order(0)
		r.resting = false
	}
	w, err := hub.Process().Capture(ctx, each)
	if err != nil {
		return nil, false
	}
	table, err := c.decoder.Bytes(w.Data)
	if err != nil {
		return nil, false
	}
	return strangersIn(table), true
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
