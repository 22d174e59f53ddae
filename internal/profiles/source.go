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
type runtimeSource struct{ samples [2]metrics.Sample }

func newRuntimeSource() *runtimeSource {
	return &runtimeSource{samples: [2]metrics.Sample{
		{Name: "/memory/classes/profiling/buckets:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
	}}
}

func (*runtimeSource) now() time.Time                   { return time.Now() }
func (*runtimeSource) threadCPU() (time.Duration, bool) { return process.ThreadCPU() }
func (*runtimeSource) goroutines() int                  { return runtime.NumGoroutine() }
func (*runtimeSource) memProfileRate() int              { return runtime.MemProfileRate }
func (*runtimeSource) setMutexFraction(n int) int       { return runtime.SetMutexProfileFraction(n) }
func (*runtimeSource) has(k string) bool                { return pprof.Lookup(k) != nil }
func (*runtimeSource) count(k string) int               { return pprof.Lookup(k).Count() }

func (*runtimeSource) write(k string, w io.Writer) error {
	return pprof.Lookup(k).WriteTo(w, 0) // never debug=2, see the package's doc
}

func (s *runtimeSource) bucketBytes() int64  { return int64(s.read(0)) }
func (s *runtimeSource) collections() uint64 { return s.read(1) }

func (s *runtimeSource) read(i int) uint64 {
	metrics.Read(s.samples[i : i+1])
	if s.samples[i].Value.Kind() != metrics.KindUint64 {
		return 0 // a runtime without the metric
	}
	return s.samples[i].Value.Uint64()
}

// leakTimeout is how long a goroutineleak profile may take. It is a garbage
// collection and a goroutine profile, and runtime/pprof holds a lock over both and
// over writing them to whoever asked: a client of /debug/pprof/goroutineleak that
// does not read keeps everybody else waiting.
const leakTimeout = 2 * time.Second

// A leakTaker takes goroutineleak profiles without waiting for ever. One that does
// not come leaves one parked goroutine, and there is never a second.
type leakTaker struct {
	timeout time.Duration // 0: leakTimeout
	parked  chan error    // the outcome of a profile that did not come in time
}

func (l *leakTaker) write(src source, to *buffer) error {
	if l.parked != nil {
		select {
		case <-l.parked: //nolint:errcheck // whatever became of it, it is too late
			l.parked = nil
		default:
			return skip(kinds.GoroutineLeak, Hung, "an earlier one has still not come; close the open requests to /debug/pprof/goroutineleak")
		}
	}
	// Its own buffer, because we may be gone when it is written.
	own := &buffer{limit: to.limit}
	done := make(chan error, 1)
	go func() { done <- src.write(kinds.GoroutineLeak, own) }()
	timeout := l.timeout
	if timeout == 0 {
		timeout = leakTimeout
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case err := <-done:
		*to = *own
		return err
	case <-timer.C:
		l.parked = done
		return skip(kinds.GoroutineLeak, Hung, "it did not come within %v; close the open requests to /debug/pprof/goroutineleak", timeout)
	}
}
