package profiles

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
)

// A Profile is the state of a kind, or its growth since the profile before.
type Profile struct {
	// The growth of allocs has only the two values that are a difference, alloc_objects and
	// alloc_space.
	decode.Source
	// Elapsed is the time since the profile before, 0 for a state.
	Elapsed time.Duration
	// Rate says of a growth of mutex that one event in so many was observed. The values are
	// scaled up already.
	Rate int64
	// Waited is how long goroutines have waited for locks during a growth of mutex, at least.
	Waited time.Duration
	// Cost is the CPU time that a profile of goroutine took, or the garbage collection that one
	// of goroutineleak runs. Meanwhile the process pauses, or is slower.
	Cost time.Duration
}

// refuse says why a profile was not taken, and what to do about it.
func refuse(kind, format string, args ...any) error {
	return fmt.Errorf("take %s profile: %w", kind, fmt.Errorf(format, args...))
}

// ErrNoCollection is the error of a growth of allocs that nothing is known of yet. The next
// profile covers its time too.
var ErrNoCollection = errors.New("allocations are published by garbage collections, and none has ended since the profile before; " +
	"the next one will cover this time too")

// A Taker takes profiles. Its zero value is ready to use; zero fields mean their defaults. It
// is for one goroutine. A call takes as long as a profile within the limits, at most some
// tenths of a second.
type Taker struct {
	// Goroutines is how many goroutines there are profiles of at most. Default 10,000.
	Goroutines int
	// Decoder is the one of the judge, whose names a growth has, too. It is used by Take. Default
	// one of its own.
	Decoder *decode.Decoder

	src      source
	mutexSet bool               // the taker has set the mutex fraction: if it is 0 again, the host wants that
	last     map[string]reading // by kind
}

// values is how many values of a difference there are: pieces and their size, bytes or nanoseconds.
const values = 2

// A reading is what the next growth of a kind begins with.
type reading struct {
	totals      *decode.Totals
	at          time.Time
	collections uint64
	rate        int64 // of the runtime when the totals were read
	waited      time.Duration
}

// Take returns the state of heap, goroutine or goroutineleak, or the growth of allocs, mutex or
// block since the Take before. After an error there is no growth the next time
// either, unless the error is [ErrNoCollection] or about a changed rate. There is none the first
// time, when there is nothing to subtract.
func (t *Taker) Take(k string) (p Profile, err error) {
	if t.src == nil {
		t.src = runtimeSource{}
	}
	before, has := t.last[k]
	delete(t.last, k)
	if err := t.admit(k); err != nil {
		return p, err
	}
	switch {
	case kinds.Of(k).Taken == kinds.Difference:
		return t.growth(k, before, has)
	case k == kinds.GoroutineLeak:
		p.Cost = process.Forcing(func() { p.Data, err = t.read(k) })
	case k == kinds.Goroutine:
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		began := process.ThreadCPU()
		p.Data, err = t.read(k)
		p.Cost = process.ThreadCPU() - began
	default:
		p.Data, err = t.read(k)
	}
	return p, err
}

// growth returns the growth of a kind since the reading before, if there is one.
func (t *Taker) growth(k string, before reading, has bool) (p Profile, err error) {
	if t.last == nil {
		t.last = map[string]reading{}
	}
	now := reading{at: t.src.now(), collections: t.src.collections()}
	memory := kinds.Of(k).Sampling == kinds.Memory
	if memory && has && now.collections == before.collections {
		t.last[k] = before
		return p, refuse(k, "%w", ErrNoCollection)
	}
	data, err := t.read(k)
	if err != nil {
		return p, err
	}
	var d decode.Decoder // a new one, because its memory is not worth keeping for the next window
	all, err := d.Bytes(data)
	if err == nil && len(all.Types) < values {
		err = fmt.Errorf("it has %d values, expected %d", len(all.Types), values)
	}
	if err != nil {
		return p, fmt.Errorf("read profile of runtime/pprof: %w", err)
	}
	grown, totals := all.Sub(before.totals, values)
	now.totals = totals
	if memory {
		now.rate = grown.Period // its values have been scaled by it
	} else if k == kinds.Mutex {
		now.rate, now.waited = int64(t.src.setMutexFraction(-1)), t.src.waited()
	}
	t.last[k] = now
	switch {
	case !has:
		return p, refuse(k, "it is the growth since the one before, and this is the first")
	case now.rate != before.rate:
		return p, refuse(k, "its sampling was one in %d at the start of the window and one in %d at the end; "+
			"set it once, early in main", before.rate, now.rate)
	}
	p.Elapsed, p.Rate, p.Waited = now.at.Sub(before.at), now.rate, now.waited-before.waited
	grown.TimeNanos, grown.DurationNanos = before.at.UnixNano(), int64(p.Elapsed)
	if t.Decoder == nil {
		t.Decoder = new(decode.Decoder)
	}
	sum := t.Decoder.Merger() // whose memory is that of what has grown
	err = sum.Add(grown)
	p.Made = sum.Table()
	return p, err
}

// Close sets back the rate that the taker has set, unless it was changed meanwhile, and forgets
// what was taken. It may be called twice, and a taker may be used again after it.
func (t *Taker) Close() {
	if t.mutexSet {
		theirs := t.src.setMutexFraction(0)
		if theirs != ourMutexFraction {
			t.src.setMutexFraction(theirs)
		}
		t.mutexSet = theirs == 0 // the host wants none
	}
	clear(t.last)
}

// read returns the runtime's profile.
func (t *Taker) read(k string) ([]byte, error) {
	var b bytes.Buffer
	err := t.src.write(k, &b)
	return b.Bytes(), err
}

// source is the process as the taker sees it: the runtime, or a fake.
type source interface {
	now() time.Time
	// has reports whether there is such a profile.
	has(kind string) bool
	// write writes the profile with debug=0.
	write(kind string, to io.Writer) error
	// count is the number of the profile's stacks, and of goroutines.
	count(kind string) int
	// bucketBytes is the memory of the runtime's profiling records.
	bucketBytes() int64
	// collections is the number of garbage collections that have ended.
	collections() uint64
	memProfileRate() int
	// setMutexFraction returns the fraction before; a negative one only reads.
	setMutexFraction(int) int
	// waited is how long goroutines have waited for locks, at least.
	waited() time.Duration
}

// runtimeSource is the process itself.
type runtimeSource struct{}

func (runtimeSource) now() time.Time             { return time.Now() }
func (runtimeSource) memProfileRate() int        { return runtime.MemProfileRate }
func (runtimeSource) setMutexFraction(n int) int { return runtime.SetMutexProfileFraction(n) }
func (runtimeSource) has(k string) bool          { return pprof.Lookup(k) != nil }
func (runtimeSource) count(k string) int         { return pprof.Lookup(k).Count() }
func (runtimeSource) bucketBytes() int64 {
	return int64(process.Metric("/memory/classes/profiling/buckets:bytes"))
}
func (runtimeSource) collections() uint64 {
	return uint64(process.Metric("/gc/cycles/total:gc-cycles"))
}
func (runtimeSource) waited() time.Duration { return process.LocksWaited() }

func (runtimeSource) write(k string, w io.Writer) error {
	return pprof.Lookup(k).WriteTo(w, 0) // never debug=2, see the package's doc
}

const (
	// defaultGoroutines: a profile of 10,000 goroutines takes 29 ms of CPU
	// and 4 MB (BenchmarkGoroutines), more if each has labels of its own; one of 100,000 a second,
	// 91 MB, and stops the world for up to 21 ms.
	defaultGoroutines = 10_000
	// maxBucketBytes is of all profiles but those of goroutines, together. A bucket takes
	// about 0.3 KiB, so this is some 100,000 stacks, whose profile takes 0.25 s of CPU and
	// about as much memory again. 300,000 stacks take 0.75 s, 90 MB, and pauses of 42 ms.
	maxBucketBytes = 32 << 20
	// ourMutexFraction: with one contention in 100, a lock that made six goroutines wait for 50 ms
	// each was in no sample of every second window of 4 s. One in 10 makes a lock that two cores
	// fight for a seventh slower, with stacks of 30 frames, and others not measurably.
	ourMutexFraction = 10
)

// admit returns an error if there is no profile of a kind, if nothing is sampled, or if it
// would cost too much.
func (t *Taker) admit(k string) error {
	sampling := kinds.Of(k).Sampling
	switch {
	case !t.src.has(k):
		return refuse(k, "the runtime was built without it; %s, or leave the budget out", kinds.NeedsLeaks)
	case k == kinds.Mutex && !t.recordsMutexes():
		return refuse(k, "other code has set the mutex fraction back to 0 since it was set to %d; remove that call, or the budgets on mutex", ourMutexFraction)
	case k == kinds.Block && t.src.count(k) == 0:
		return refuse(k, "no goroutine has been recorded as blocked: none was, or block profiling is off; "+
			"to turn it on, call runtime.SetBlockProfileRate(n) with n nanoseconds, knowing that it costs every channel operation that blocks")
	case sampling == kinds.Memory && t.src.memProfileRate() <= 0:
		return refuse(k, "runtime.MemProfileRate is 0, so allocations are not sampled; leave it at its default of 512 KiB")
	}
	if k == kinds.Goroutine || k == kinds.GoroutineLeak {
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
