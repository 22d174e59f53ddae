package profiles

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
)

// A Profile is one profile, or the growth of one in a window.
type Profile struct {
	// Data is a gzipped profile.proto. A window of allocs has only the two values that
	// are a difference, alloc_objects and alloc_space.
	Data []byte
	// Elapsed is the length of the window, 0 for a state.
	Elapsed time.Duration
	// Rate is the sampling of a window. For mutex it is one event in so many (the values
	// are scaled up already, so that so many events stand for one observation), for allocs
	// the mean bytes between two samples, and for block 0, as the runtime does not tell it.
	Rate int64
}

// refuse says why a profile was not taken, and what to do about it.
func refuse(kind, format string, args ...any) error {
	return fmt.Errorf("take %s profile: %s", kind, fmt.Sprintf(format, args...))
}

// A Taker takes profiles. Its zero value is ready to use; zero fields mean their defaults. It
// is for one goroutine. A call takes as long as a profile within the limits, at most some
// tenths of a second, and a call of Now some seconds.
type Taker struct {
	// Goroutines is the number of goroutines above which the goroutine profiles
	// are skipped. Default 10,000.
	Goroutines int

	src      source
	mutexSet bool // the taker has set the mutex fraction: if it is 0 again, the host wants that
	windows  map[string]*window
}

// A window is the state of a kind: for a difference, the totals at the start of the open
// window.
type window struct {
	totals
	open        bool // there is something to subtract
	start       time.Time
	collections uint64
	rate        int64 // of the runtime when the totals were read
}

// Begin notes the totals of allocs, mutex or block at the start of a window.
func (t *Taker) Begin(k string) error {
	w := t.window(k)
	rate, err := t.admit(k, w)
	if err != nil {
		return err
	}
	_, err = t.growth(k, w, rate)
	return err
}

// Begun reports whether the next End has totals to subtract: those of a Begin or an End that
// has not failed, or of an End that has failed but whose window goes on.
func (t *Taker) Begun(k string) bool { return t.window(k).open }

// End returns the growth of allocs, mutex or block since the last Begin or End. With an error,
// Elapsed is the length of a window that has ended without a profile, and 0 if the window goes
// on.
func (t *Taker) End(k string) (Profile, error) {
	w := t.window(k)
	rate, err := t.admit(k, w)
	if err != nil {
		return Profile{}, err
	}
	if !w.open {
		return Profile{}, refuse(k, "none could be taken at the start of the window, which would be subtracted")
	}
	start, before := w.start, w.rate
	if kinds.Of(k).Sampling == kinds.Memory && t.src.collections() == w.collections {
		return Profile{}, refuse(k, "allocations are published by garbage collections, and none has ended in the %v of the window; "+
			"the next one will cover this time too if it does not begin anew", t.src.now().Sub(start).Round(time.Millisecond))
	}
	grown, err := t.growth(k, w, rate)
	if err != nil {
		return Profile{}, err
	}
	p := Profile{Elapsed: w.start.Sub(start), Rate: w.rate}
	if w.rate != before {
		return p, refuse(k, "its sampling was one in %d at the start of the window and one in %d at the end; "+
			"set it once, early in main", before, w.rate)
	}
	p.Data, err = encode(grown, start, p.Elapsed)
	return p, err
}

// Take returns the state of heap, goroutine or goroutineleak.
func (t *Taker) Take(k string) (p Profile, err error) {
	if _, err = t.admit(k, t.window(k)); err == nil {
		p.Data, err = t.read(k)
	}
	return p, err
}

// Allocations are watched for nowFor, and longer if there were fewer than nowCycles
// collections, because they are in the profile only one or two collections later; but at most
// for nowMost, because the guard's loop waits. A process that mostly collects has many
// collections a second, and at one sample in 512 KiB hundreds of samples.
const (
	nowFor    = time.Second
	nowCycles = 3
	nowMost   = 5 * time.Second
)

// Now takes a profile of the present state of a kind, or for a difference a profile of about
// the next second. No window of that difference may be open.
func (t *Taker) Now(ctx context.Context, k string) (Profile, error) {
	if kinds.Of(k).Taken != kinds.Difference {
		return t.Take(k)
	}
	if err := t.Begin(k); err != nil {
		return Profile{}, err
	}
	first, start := t.src.collections(), time.Now()
	tick := time.NewTicker(nowFor / 10)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return Profile{}, context.Cause(ctx)
		}
		watched := time.Since(start)
		if watched >= nowMost || watched >= nowFor && t.src.collections() >= first+nowCycles {
			return t.End(k)
		}
	}
}

// Close sets back the rate that the taker has set, unless it was changed meanwhile, and forgets
// the open windows. It may be called twice, and a taker may be used again after it.
func (t *Taker) Close() {
	if t.mutexSet {
		if theirs := t.src.setMutexFraction(0); theirs != ourMutexFraction {
			t.src.setMutexFraction(theirs)
		}
	}
	t.mutexSet = false
	clear(t.windows)
}

func (t *Taker) window(k string) *window {
	if t.windows == nil {
		t.windows = map[string]*window{}
	}
	if t.src == nil {
		t.src = runtimeSource{}
	}
	w := t.windows[k]
	if w == nil {
		w = new(window)
		t.windows[k] = w
	}
	return w
}

// read returns the runtime's profile.
func (t *Taker) read(k string) ([]byte, error) {
	var b bytes.Buffer
	err := t.src.write(k, &b)
	return b.Bytes(), err
}

// growth returns the growth of the kind since the last call. The next window begins with this
// call.
func (t *Taker) growth(k string, w *window, rate int) (*decode.Table, error) {
	start, collections := t.src.now(), t.src.collections()
	w.open = false
	data, err := t.read(k)
	if err != nil {
		return nil, err
	}
	p, err := parse(data)
	if err != nil {
		return nil, err
	}
	w.subtract(p)
	w.open, w.start, w.collections, w.rate = true, start, collections, int64(rate)
	if kinds.Of(k).Sampling == kinds.Memory {
		w.rate = p.Period // its values have been scaled by it
	}
	return p, nil
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
}

// runtimeSource is the process itself.
type runtimeSource struct{}

func (runtimeSource) now() time.Time             { return time.Now() }
func (runtimeSource) memProfileRate() int        { return runtime.MemProfileRate }
func (runtimeSource) setMutexFraction(n int) int { return runtime.SetMutexProfileFraction(n) }
func (runtimeSource) has(k string) bool          { return pprof.Lookup(k) != nil }
func (runtimeSource) count(k string) int         { return pprof.Lookup(k).Count() }
func (runtimeSource) bucketBytes() int64 {
	return int64(metric("/memory/classes/profiling/buckets:bytes"))
}
func (runtimeSource) collections() uint64 { return metric("/gc/cycles/total:gc-cycles") }

func (runtimeSource) write(k string, w io.Writer) error {
	return pprof.Lookup(k).WriteTo(w, 0) // never debug=2, see the package's doc
}

// metric is a number that the runtime publishes, 0 if it does not.
func metric(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
