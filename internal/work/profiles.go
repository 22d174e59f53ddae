package work

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiler"
)

// KeepLabelled keeps the samples whose label is one of the ids, and removes the label from
// them.
func KeepLabelled(p *profile.Profile, ids ...string) {
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		return !slices.ContainsFunc(ids, func(id string) bool { return s.HasLabel(label, id) })
	})
	p.RemoveLabel(label)
}

// Cut cuts each stack off where work begins, and drops the samples that are not of work. It
// also removes the frames that the runtime puts on top of a function to interrupt it, or in a
// stack that the runtime may have cut off replaces them by that function. It returns the number of
// samples of the loop that calls work.
func Cut(p *profile.Profile) (loop int64) {
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		stack := stackOf(s)
		keep := workOf(stack)
		if keep == 0 && !isBeside(stack) {
			loop += s.Value[0]
		}
		for i, l := range s.Location {
			if keep <= 0 {
				s.Location = s.Location[:i]
				break
			}
			keep -= len(l.Line)
		}
		n := 0
		for n < len(s.Location)-1 && isInterrupt(s.Location[n]) {
			n++
		}
		if len(stack) < charge.CPUDepth {
			s.Location = s.Location[n:]
		} else { // it may have been cut off, which its number of frames tells
			for i := range n {
				s.Location[i] = s.Location[n]
			}
		}
		return len(s.Location) == 0
	})
	return loop
}

// WithoutOurs drops profguard's own samples from a profile without labels: taking profiles
// allocates, and waiting for work blocks. It also cuts the stacks as [Cut] does.
func WithoutOurs(p *profile.Profile) {
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		stack := stackOf(s)
		return !slices.ContainsFunc(stack, isLoop) && slices.ContainsFunc(stack, func(name string) bool {
			return isOurs(name) || hasPrefix(name, profilerPackage+".", "runtime/pprof.profileWriter", "testing.(*", "testing.runTests", "testing.tRunner.func1")
		})
	})
	Cut(p)
}

// Take takes one of the runtime's profiles. It panics if the runtime's output can't be
// parsed, which was never seen. A profile of memory is as of the last collection.
func Take(kind string) *profile.Profile {
	var buf bytes.Buffer
	_ = pprof.Lookup(kind).WriteTo(&buf, 0) // a buffer takes everything
	p, err := profile.Parse(&buf)
	if err != nil {
		panic(fmt.Sprintf("take a %s profile: %v", kind, err))
	}
	return p
}

// Sampled takes a CPU profile of length d.
func Sampled(ctx context.Context, d time.Duration) (*profile.Profile, error) {
	w, err := profiler.Process().Capture(ctx, d)
	if err != nil {
		return nil, err
	}
	return profile.ParseData(w.Bytes())
}

// Samples adds up the first value of each sample, which counts them.
func Samples(p *profile.Profile) (n int64) {
	for _, s := range p.Sample {
		n += s.Value[0]
	}
	return n
}

// Merged is the sum of profiles of one kind. Where their values add up to more than an int64
// holds, all are made smaller by one factor: with a sum that wraps around, what is hot would vanish.
func Merged(profiles ...*profile.Profile) *profile.Profile {
	if sum := largestSum(profiles); sum > math.MaxInt64 {
		profiles = slices.Clone(profiles)
		for i, p := range profiles {
			profiles[i] = p.Copy()
			profiles[i].Scale(math.MaxInt64 / sum / 2)
		}
	}
	p, err := profile.Merge(profiles)
	if err != nil {
		panic(fmt.Sprintf("merge profiles of one kind: %v", err))
	}
	return p
}

// largestSum is the most that the values of one type can add up to.
func largestSum(profiles []*profile.Profile) float64 {
	var sums [8]float64 // there are at most four types
	for _, p := range profiles {
		for _, s := range p.Sample {
			for i, v := range s.Value {
				sums[i] += math.Abs(float64(v))
			}
		}
	}
	return slices.Max(sums[:])
}

// Gained is the difference of a cumulative profile and an earlier one of the same kind.
func Gained(before, after *profile.Profile) *profile.Profile {
	minus := before.Copy()
	minus.Scale(-1)
	p := Merged(after, minus)
	// A function may have less memory in use than before, and has allocated all the same. Records
	// of collected objects may also lag by one collection. So values below zero occur.
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		for i, v := range s.Value {
			s.Value[i] = max(v, 0)
		}
		return !slices.ContainsFunc(s.Value, func(v int64) bool { return v > 0 })
	})
	p.DurationNanos = 0
	WithoutOurs(p)
	return p
}

// contention is locked by the check that records contention. The rates are those of the
// whole process, so such checks take turns.
var contention struct {
	sync.Mutex
	test atomic.Pointer[string] // of the check that holds it
}

// RecordContention makes the runtime record all events of mutex or block profiles for a
// check of a test. The function that it returns restores the rates. It waits until no other
// check records contention. It refuses a check within the work of such a check, because
// each would wait for the other.
func RecordContention(test string, mutex, block bool) (restore func(), err error) {
	if !mutex && !block {
		return func() {}, nil
	}
	if holder := contention.test.Load(); holder != nil && (test == *holder || strings.HasPrefix(test, *holder+"/")) {
		return nil, fmt.Errorf("a check of %s with budgets on mutex or block is not over: make one after the other, and none in another's work", *holder)
	}
	contention.Lock()
	contention.test.Store(&test)
	fraction := -1 // leaves it as it is
	if mutex {
		fraction = runtime.SetMutexProfileFraction(1)
	}
	if block {
		runtime.SetBlockProfileRate(1)
	}
	return func() {
		defer contention.Unlock()
		contention.test.Store(nil)
		runtime.SetMutexProfileFraction(fraction)
		if block {
			runtime.SetBlockProfileRate(0) // the runtime does not tell what it was before
		}
	}, nil
}

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

// AtWork counts the goroutines that run, or could run if there was a core, by their roots: those
// of work, and others without the check's label that may work for it. One in a system call counts as
// waiting: mostly it is.
func AtWork(id string) (own, others map[string]int64) {
	p := Take(kinds.Goroutine)
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		stack := stackOf(s)
		return len(stack) == 0 || hasPrefix(stack[0], "runtime.gopark", "syscall.", "internal/runtime/syscall")
	})
	others = OfRoots(ByRoot(p, id))
	if process.Finalizers() > 0 { // which get no core on a busy machine
		others["runtime.runFinalizers"]++
	}
	KeepLabelled(p, id)
	return Roots(p), others
}

// Roots counts the goroutines of a profile by their roots, without the one that calls work.
func Roots(p *profile.Profile) map[string]int64 {
	roots := map[string]int64{}
	for _, s := range p.Sample {
		stack := stackOf(s)
		if root, ok := rootOf(stack); ok && !slices.ContainsFunc(stack, isOurs) {
			roots[root] += s.Value[0]
		}
	}
	return roots
}

// Most returns the goroutines of work now, or those of an earlier look if there are not more
// now.
func Most(before *profile.Profile, id string) *profile.Profile {
	if now := Goroutines(id); before == nil || Samples(now) > Samples(before) {
		return now
	}
	return before
}

// Settled waits until the goroutines of work have ended, or until none has ended for d, but no
// longer than d after until. It returns those that are left.
func Settled(id string, d time.Duration, until time.Time) (left *profile.Profile) {
	least, since := int64(math.MaxInt64), time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		left = Goroutines(id)
		if n := Samples(left); n < least {
			least, since = n, time.Now()
		}
		if least == 0 || time.Since(since) >= d || time.Now().After(until.Add(d)) {
			return left
		}
		time.Sleep(pause)
	}
}
