package hub

import (
	"slices"
	"time"
)

const (
	// minSlice is the least time between two starts of the profiler, which
	// makes at most 20 a second: at about 3 ms of CPU for a stop and a start,
	// 6% of one core while somebody keeps coming and going.
	minSlice = 50 * time.Millisecond

	// joinWait is how long a subscriber waits for a cut that is due anyway,
	// rather than causing one. It is as long as a block of guard.Check, so that
	// checks running in parallel fall into step and share their slices.
	joinWait = 100 * time.Millisecond

	// nearby cuts become one: of two ends closer than this, the first waits for
	// the second, because after a cut of its own the second would wait longer,
	// until the new slice is minSlice old.
	nearby = minSlice / 2
)

// nextCut is the age at which the current slice is to be cut: ends holds the age
// at which each member has its interval complete (at least one), joins the age at
// which each subscriber that is not yet a member came.
//
// So a joiner waits at most joinWait + nearby, and an interval becomes at most
// minSlice longer than was asked.
func nextCut(ends, joins []time.Duration) time.Duration {
	end := slices.Min(ends)
	cut := end
	for _, join := range joins {
		if end > join+joinWait {
			cut = min(cut, join)
		}
	}
	cut = max(cut, minSlice)

	last := cut
	for _, end := range ends {
		if end <= cut+nearby {
			last = max(last, end)
		}
	}
	return last
}
