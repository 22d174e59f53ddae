package profiles

import (
	"cmp"

	"github.com/profguard/profguard/internal/kinds"
)

const (
	// defaultGoroutines: a profile of 10,000 goroutines takes 29 ms of CPU
	// and 4 MB (BenchmarkGoroutines), more if each has labels of its own; one of 100,000 a second,
	// 91 MB, and stops the world for up to 21 ms.
	defaultGoroutines = 10_000
	// maxBucketBytes: a bucket takes about 0.3 KiB, so this is some 100,000
	// stacks, whose profile takes 0.25 s of CPU and about as much memory again.
	// 300,000 stacks take 0.75 s, 90 MB, and pauses of 42 ms.
	maxBucketBytes = 32 << 20
	// maxStacks is the same for mutex and block, which have no metric of their
	// own and are counted instead.
	maxStacks = 100_000
	// ourMutexFraction: the cost of recording one contention in 100 was within noise.
	ourMutexFraction = 100
)

// admit returns an error if there is no profile of a kind or it would cost too much. Otherwise
// it returns the sampling rate, if the runtime tells it.
func (t *Taker) admit(k string, w *window) (rate int, refused error) {
	if !t.src.has(k) {
		return 0, refuse(k, "the runtime was built without it; build with GOEXPERIMENT=%sprofile, or leave the budget out", k)
	}
	if rate, refused = t.rate(k); refused != nil {
		w.open = false // the totals are of another rate
		return 0, refused
	}
	return rate, t.affordable(k)
}

// rate says why nothing is sampled, or returns the rate of mutex.
func (t *Taker) rate(k string) (rate int, refused error) {
	switch {
	case k == kinds.Mutex:
		return t.mutexFraction()
	case k == kinds.Block && t.src.count(k) == 0:
		return 0, refuse(k, "no goroutine has been recorded as blocked, so block profiling is off; "+
			"call runtime.SetBlockProfileRate(n) with n nanoseconds, knowing that it costs every channel operation that blocks")
	case kinds.Of(k).Sampling == kinds.Memory && t.src.memProfileRate() <= 0:
		return 0, refuse(k, "runtime.MemProfileRate is 0, so allocations are not sampled; leave it at its default of 512 KiB")
	}
	return 0, nil
}

// affordable returns an error if a profile would cost too much, before it is taken.
func (t *Taker) affordable(k string) error {
	switch kinds.Of(k).Sampling {
	case kinds.Counted:
		if n, most := t.src.count(kinds.Goroutine), cmp.Or(t.Goroutines, defaultGoroutines); n > most {
			return refuse(k, "there are %d goroutines, and profiles are taken of up to %d, "+
				"because the process pauses for longer with each; a budget on their number (goroutines below %d) needs none", n, most, most)
		}
	case kinds.Memory:
		if n := t.src.bucketBytes(); n > maxBucketBytes {
			return refuse(k, "the runtime keeps %d MiB of allocation stacks for its profiles, and profiles are taken of up to %d; "+
				"raise runtime.MemProfileRate early in main, or look for code that is generated or recurses", n>>20, maxBucketBytes>>20)
		}
	default:
		if n := t.src.count(k); n > maxStacks {
			return refuse(k, "the runtime keeps %d stacks of the %s profile, and profiles are taken of up to %d; "+
				"raise the sampling rate early in main", n, k, maxStacks)
		}
	}
	return nil
}

// mutexFraction returns the fraction of contentions that the runtime records. It sets
// ourMutexFraction if none is set.
func (t *Taker) mutexFraction() (int, error) {
	if now := t.src.setMutexFraction(-1); now > 0 {
		return now, nil
	}
	if t.mutexSet {
		return 0, refuse(kinds.Mutex, "somebody has set the mutex fraction back to 0 since it was set to %d; remove that call, or the budgets on mutex", ourMutexFraction)
	}
	t.src.setMutexFraction(ourMutexFraction)
	t.mutexSet = true
	return ourMutexFraction, nil
}
