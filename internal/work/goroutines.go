package work

import (
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/kinds"
)

// Goroutines is the profile of the goroutines with the check's label, without the one that
// calls work, and without what the standard library never ends.
func Goroutines(id string) *profile.Profile {
	p := Take(kinds.Goroutine)
	KeepLabelled(p, id)
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		stack := stackOf(s)
		// The first use of os/signal starts a goroutine that serves the whole process.
		return slices.Contains(stack, workPackage+".(*Worker).run") || slices.Contains(stack, "os/signal.loop")
	})
	return p
}

// Most returns the goroutines of work now, or those of an earlier look if there are not more
// now. If the whole process has no more goroutines than that, it need not look.
func Most(before *profile.Profile, id string) *profile.Profile {
	if before != nil && int64(runtime.NumGoroutine()) <= Samples(before) {
		return before
	}
	if now := Goroutines(id); before == nil || Samples(now) > Samples(before) {
		return now
	}
	return before
}

// Settled waits until the goroutines of work have ended, or until none has ended for d. It
// returns those that are left.
func Settled(id string, d time.Duration, until time.Time) (left *profile.Profile) {
	least, since := int64(math.MaxInt64), time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if left = Goroutines(id); len(left.Sample) == 0 {
			return left
		}
		n := Samples(left)
		if n < least {
			since = time.Now()
		}
		if time.Since(since) >= d || n >= least && time.Now().After(until.Add(d)) {
			return left
		}
		least = min(least, n)
		time.Sleep(pause)
	}
}
