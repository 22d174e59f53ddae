package profiles

import "github.com/profguard/profguard/internal/kinds"

const (
	// defaultGoroutines: a profile of 10,000 goroutines takes 29 ms of CPU
	// and 4 MB (BenchmarkGoroutines), more if each has labels of its own; one of 100,000 a second,
	// 91 MB, and stops the world for up to 21 ms.
	defaultGoroutines = 10_000
	// defaultBucketBytes: a bucket takes about 0.3 KiB, so this is some 100,000
	// stacks, whose profile takes 0.25 s of CPU and about as much memory again.
	// 300,000 stacks take 0.75 s, 90 MB, and pauses of 42 ms.
	defaultBucketBytes = 32 << 20
	// defaultStacks is the same for mutex and block, which have no metric of their
	// own and are counted instead.
	defaultStacks = 100_000
	// defaultShare: six kinds at half a percent are 3% of a core at the very most;
	// a kind of 10 ms a minute is a thirtieth of this.
	defaultShare = 0.005
	// ourMutexFraction: what one contention in 100 costs was within noise.
	ourMutexFraction = 100
)

// MostGoroutines is the number of goroutines above which their profile is not taken.
func (t *Taker) MostGoroutines() int { return or(t.Goroutines, defaultGoroutines) }

// affordable reports what a profile would cost too much of, before it is taken.
func (t *Taker) affordable(k string) *SkipError {
	switch kinds.Of(k).Sampling {
	case kinds.Counted:
		if n, most := t.src.goroutines(), t.MostGoroutines(); n > most {
			return skip(k, TooManyGoroutines, "there are %d goroutines, and profiles are taken of up to %d, "+
				"because the process pauses for longer with each; budget their number instead (goroutines below %d)", n, most, most)
		}
	case kinds.Memory:
		if n, most := t.src.bucketBytes(), or(t.BucketBytes, defaultBucketBytes); n > most {
			return skip(k, TooManyBuckets, "the runtime keeps %d MiB of allocation stacks for its profiles, and profiles are taken of up to %d; "+
				"raise runtime.MemProfileRate early in main, or look for code that is generated or recurses", n>>20, most>>20)
		}
	default:
		if n, most := t.src.count(k), or(t.Stacks, defaultStacks); n > most {
			return skip(k, TooManyBuckets, "the runtime keeps %d stacks of the %s profile, and profiles are taken of up to %d; "+
				"raise the sampling rate early in main", n, k, most)
		}
	}
	return nil
}

// or is v, or the default if v is not set.
func or[T int | int64 | float64](v, byDefault T) T {
	if v > 0 {
		return v
	}
	return byDefault
}

// maxGzip is how much of one profile is kept, compressed. It is what the decoder
// accepts: a profile that nobody can judge is not worth its memory. 100,000
// stacks are about 4 MiB.
const maxGzip = 8 << 20

// keepBuffer is the largest buffer that is kept from window to window. It holds
// the profiles of most services, and a guard that has seen one huge profile gives
// the memory back.
const keepBuffer = 1 << 20

// A buffer is the io.Writer behind a profile. It never fails, and holds at most
// limit bytes: more than that is a profile that is of no use.
type buffer struct {
	data  []byte
	limit int
	over  bool
}

// Write keeps p as far as there is room. It always reports success, because
// runtime/pprof has no use for an error and would go on all the same.
func (b *buffer) Write(p []byte) (int, error) {
	if len(b.data)+len(p) > b.limit {
		b.over, b.data = true, b.data[:0]
	}
	if !b.over {
		b.data = append(b.data, p...)
	}
	return len(p), nil
}

// reset empties the buffer for at most limit bytes, and gives a large array back.
func (b *buffer) reset(limit int) {
	if cap(b.data) > keepBuffer {
		b.data = nil
	}
	b.data, b.limit, b.over = b.data[:0], limit, false
}
