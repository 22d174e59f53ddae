package work

import (
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/kinds"
)

// Goroutines is the profile of the goroutines that carry the check's
// label, but for the one that calls work.
func Goroutines(id string) (*profile.Profile, error) {
	p, err := Take(kinds.Goroutine)
	if err != nil {
		return nil, err
	}
	KeepLabelled(p, id)
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		return slices.Contains(stackOf(s), workPackage+".(*Worker).run")
	})
	return p, nil
}

// Most returns the goroutines of work, or those of an earlier look if there are not more.
// Those of work are among those of the process.
func Most(before *profile.Profile, id string) *profile.Profile {
	if before != nil && int64(runtime.NumGoroutine()) <= Samples(before) {
		return before
	}
	now, err := Goroutines(id)
	if err != nil || before != nil && Samples(now) <= Samples(before) {
		return before
	}
	return now
}

// Settled waits until the goroutines of work have ended, or none of them has for as long
// as patience says, and returns those that are left.
func Settled(id string, patience func() time.Duration, until time.Time) (left *profile.Profile, err error) {
	least, since := int64(math.MaxInt64), time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if left, err = Goroutines(id); err != nil || len(left.Sample) == 0 {
			return left, err
		}
		n, d := Samples(left), patience()
		if n < least {
			since = time.Now()
		}
		if time.Since(since) >= d || n >= least && time.Now().After(until.Add(d)) {
			return left, nil
		}
		least = min(least, n)
		time.Sleep(pause)
	}
}
