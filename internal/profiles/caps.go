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
	// maxBucketBytes is of all profiles but those of goroutines, together. A bucket takes
	// about 0.3 KiB, so this is some 100,000 stacks, whose profile takes 0.25 s of CPU and
	// about as much memory again. 300,000 stacks take 0.75 s, 90 MB, and pauses of 42 ms.
	maxBucketBytes = 32 << 20
	// ourMutexFraction: the cost of recording one contention in 100 was within noise.
	ourMutexFraction = 100
)

// admit returns an error if there is no profile of a kind, if nothing is sampled, or if it
// would cost too much.
func (t *Taker) admit(k string) error {
	sampling := kinds.Of(k).Sampling
	switch {
	case !t.src.has(k):
		return refuse(k, "the runtime was built without it; build with GOEXPERIMENT=%sprofile, or leave the budget out", k)
	case k == kinds.Mutex && !t.recordsMutexes():
		return refuse(k, "other code has set the mutex fraction back to 0 since it was set to %d; remove that call, or the budgets on mutex", ourMutexFraction)
	case k == kinds.Block && t.src.count(k) == 0:
		return refuse(k, "no goroutine has been recorded as blocked, so block profiling is off; "+
			"call runtime.SetBlockProfileRate(n) with n nanoseconds, knowing that it costs every channel operation that blocks")
	case sampling == kinds.Memory && t.src.memProfileRate() <= 0:
		return refuse(k, "runtime.MemProfileRate is 0, so allocations are not sampled; leave it at its default of 512 KiB")
	}
	if sampling == kinds.Counted {
		if n, most := t.src.count(kinds.Goroutine), cmp.Or(t.Goroutines, defaultGoroutines); n > most {
			return refuse(k, "there are %d goroutines, and profiles are taken of up to %d, "+
				"because the process pauses for longer with each; their number alone (goroutines below %d) needs no profile", n, most, most)
		}
	} else if n := t.src.bucketBytes(); n > maxBucketBytes {
		return refuse(k, "the runtime keeps %d MiB of stacks for its profiles, and profiles are taken of up to %d; "+
			"raise the sampling rates (runtime.MemProfileRate for heap and allocs) early in main, "+
			"or look for code that is generated or recurses", n>>20, maxBucketBytes>>20)
	}
	return nil
}

// recordsMutexes sets ourMutexFraction if no fraction is set. It reports false if the host has
// set it back to 0.
func (t *Taker) recordsMutexes() bool {
	if t.src.setMutexFraction(-1) > 0 {
		return true
	}
	if t.mutexSet {
		return false
	}
	t.src.setMutexFraction(ourMutexFraction)
	t.mutexSet = true
	return true
}
