package profiles

import (
	"io"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"time"
)

// source is the process as the taker sees it: the runtime, or a fake.
type source interface {
	now() time.Time
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

func (runtimeSource) now() time.Time             { return time.Now() }
func (runtimeSource) goroutines() int            { return runtime.NumGoroutine() }
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
