package kinds

import (
	"io"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"time"

	"github.com/profguard/profguard/internal/figures"
)

// source is the process as the taker sees it: the runtime, or a fake.
type source interface {
	now() time.Time
	// threadCPU is the calling thread's CPU time; ok is false where nobody tells.
	threadCPU() (cpu time.Duration, ok bool)
	// has reports whether there is such a profile.
	has(Kind) bool
	// write writes the profile with debug=0.
	write(Kind, io.Writer) error
	// count is the number of the profile's stacks.
	count(Kind) int
	goroutines() int
	// bucketBytes is what the runtime's profiling records take.
	bucketBytes() int64
	// collections is the number of garbage collections that have ended.
	collections() uint64
	memProfileRate() int
	// setMutexFraction returns the fraction before; a negative one only reads.
	setMutexFraction(int) int
	setBlockRate(int)
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
func (*runtimeSource) threadCPU() (time.Duration, bool) { return figures.ThreadCPU() }
func (*runtimeSource) goroutines() int                  { return runtime.NumGoroutine() }
func (*runtimeSource) memProfileRate() int              { return runtime.MemProfileRate }
func (*runtimeSource) setMutexFraction(n int) int       { return runtime.SetMutexProfileFraction(n) }
func (*runtimeSource) setBlockRate(n int)               { runtime.SetBlockProfileRate(n) }
func (*runtimeSource) has(k Kind) bool                  { return pprof.Lookup(string(k)) != nil }
func (*runtimeSource) count(k Kind) int                 { return pprof.Lookup(string(k)).Count() }

func (*runtimeSource) write(k Kind, w io.Writer) error {
	return pprof.Lookup(string(k)).WriteTo(w, 0) // never debug=2, see the package's doc
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
