package profiles

import (
	"io"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"time"

	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
)

// source is the process as the taker sees it: the runtime, or a fake.
type source interface {
	now() time.Time
	// threadCPU is the calling thread's CPU time; ok is false where nobody tells.
	threadCPU() (cpu time.Duration, ok bool)
	// has reports whether there is such a profile.
	has(kind string) bool
	// write writes the profile with debug=0.
	write(kind string, to io.Writer) error
	// count is the number of the profile's stacks.
	count(kind string) int
	goroutines() int
	// bucketBytes is what the runtime's profiling records take.
	bucketBytes() int64
	// collections is the number of garbage collections that have ended.
	collections() uint64
	memProfileRate() int
	// setMutexFraction returns the fraction before; a negative one only reads.
	setMutexFraction(int) int
}

// runtimeSource is the process itself.
type runtimeSource struct{}

func (runtimeSource) now() time.Time                   { return time.Now() }
func (runtimeSource) threadCPU() (time.Duration, bool) { return process.ThreadCPU() }
func (runtimeSource) goroutines() int                  { return runtime.NumGoroutine() }
func (runtimeSource) memProfileRate() int              { return runtime.MemProfileRate }
func (runtimeSource) setMutexFraction(n int) int       { return runtime.SetMutexProfileFraction(n) }
func (runtimeSource) has(k string) bool                { return pprof.Lookup(k) != nil }
func (runtimeSource) count(k string) int               { return pprof.Lookup(k).Count() }
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

// maxGzip is how much of one profile is kept, compressed. It is what the decoder
// accepts: a profile that nobody can judge is not worth its memory. 100,000
// stacks are about 4 MiB.
const maxGzip = 8 << 20

// A buffer is the io.Writer behind a profile. It never fails, and holds at most
// maxGzip bytes: more than that is a profile that is of no use.
type buffer struct {
	data []byte
	over bool
}

// Write keeps p as far as there is room. It always reports success, because
// runtime/pprof has no use for an error and would go on all the same.
func (b *buffer) Write(p []byte) (int, error) {
	if len(b.data)+len(p) > maxGzip {
		b.over, b.data = true, nil
	}
	if !b.over {
		b.data = append(b.data, p...)
	}
	return len(p), nil
}

// whole is what was written, unless that was too much.
func (b *buffer) whole(k string) ([]byte, error) {
	if b.over {
		return nil, skip(k, TooLarge, "the profile is larger than %d MiB compressed, and nothing could judge it", maxGzip>>20)
	}
	return b.data, nil
}

// leakTimeout is how long a goroutineleak profile may take. It is a garbage
// collection and a goroutine profile, and runtime/pprof holds a lock over both and
// over writing them to whoever asked: a client of /debug/pprof/goroutineleak that
// does not read keeps everybody else waiting.
const leakTimeout = 2 * time.Second

// readLeak takes a goroutineleak profile without waiting for ever. One that does not come
// leaves one parked goroutine, and there is never a second.
func (t *Taker) readLeak() (*buffer, error) {
	if t.parked != nil {
		select {
		case <-t.parked: //nolint:errcheck // whatever became of it, it is too late
			t.parked = nil
		default:
			return nil, skip(kinds.GoroutineLeak, Hung, "an earlier one has still not come; close the open requests to /debug/pprof/goroutineleak")
		}
	}
	b, done := new(buffer), make(chan error, 1)
	go func() { done <- t.src.write(kinds.GoroutineLeak, b) }()
	timer := time.NewTimer(leakTimeout)
	defer timer.Stop()
	select {
	case err := <-done:
		return b, err
	case <-timer.C:
		t.parked = done
		return nil, skip(kinds.GoroutineLeak, Hung, "it did not come within %v; close the open requests to /debug/pprof/goroutineleak", leakTimeout)
	}
}
