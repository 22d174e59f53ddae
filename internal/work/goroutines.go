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

// A Peak is the most goroutines of work that were seen at one time.
type Peak struct {
	Profile *profile.Profile // of them
	count   int64
}

// Look counts the goroutines, if there can be more than ever: those of work are among
// those of the process.
func (g *Peak) Look(id string) {
	if g.Profile != nil && int64(runtime.NumGoroutine()) <= g.count {
		return
	}
	if p, err := Goroutines(id); err == nil && (g.Profile == nil || Samples(p) > g.count) {
		g.count, g.Profile = Samples(p), p
	}
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
