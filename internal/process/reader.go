package process

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// The runtime's metrics, in the order of a Reader's samples.
const (
	heapObjects = iota
	mapped
	released
	gcCycles
	gcTotal
	gcPause
	cpuTotal
	cpuIdle
	procs
	gogc
	memoryLimit
	allocated
	allocations
	metricCount
)

var metricNames = [metricCount]string{
	heapObjects: "/memory/classes/heap/objects:bytes",
	mapped:      "/memory/classes/total:bytes",
	released:    "/memory/classes/heap/released:bytes",
	gcCycles:    "/gc/cycles/total:gc-cycles",
	gcTotal:     "/cpu/classes/gc/total:cpu-seconds",
	gcPause:     "/cpu/classes/gc/pause:cpu-seconds",
	cpuTotal:    "/cpu/classes/total:cpu-seconds",
	cpuIdle:     "/cpu/classes/idle:cpu-seconds",
	procs:       "/sched/gomaxprocs:threads",
	gogc:        "/gc/gogc:percent",
	memoryLimit: "/gc/gomemlimit:bytes",
	allocated:   "/gc/heap/allocs:bytes",
	allocations: "/gc/heap/allocs:objects",
}

// readings are the values of the runtime's metrics.
type readings []metrics.Sample

// count and seconds return 0 for metrics that a release of the runtime does not have.
func (r readings) count(i int) int64 {
	if v := r[i].Value; v.Kind() == metrics.KindUint64 {
		return int64(v.Uint64())
	}
	return 0
}

func (r readings) seconds(i int) float64 {
	if v := r[i].Value; v.Kind() == metrics.KindFloat64 {
		return v.Float64()
	}
	return 0
}

// Reader reads the figures of this process. It keeps its buffers, and on Linux
// a file of /proc open, until Close. A Reader is for one goroutine at a time.
type Reader struct {
	now     func() time.Time
	samples readings
	statm   *os.File // nil where there is none
	buf     [128]byte
	page    int64
}

// NewReader returns a Reader. It works without /proc too, with an estimated RSS.
func NewReader() *Reader {
	return newReader(time.Now, statmPath)
}

func newReader(now func() time.Time, statm string) *Reader {
	r := &Reader{now: now, samples: make(readings, metricCount), page: int64(os.Getpagesize())}
	for i, name := range metricNames {
		r.samples[i].Name = name
	}
	if statm != "" {
		if f, err := os.Open(statm); err == nil {
			r.statm = f
		}
	}
	return r
}

// Close releases the open file. The Reader goes on working, with an estimated
// RSS. Closing twice is fine.
func (r *Reader) Close() error {
	if r.statm == nil {
		return nil
	}
	f := r.statm
	r.statm = nil
	return f.Close()
}

// Read takes a snapshot. It allocates nothing.
func (r *Reader) Read() Snapshot {
	metrics.Read(r.samples)
	s := Snapshot{
		At:          r.now(),
		CPU:         ProcessCPU(),
		Heap:        r.samples.count(heapObjects),
		Goroutines:  int64(runtime.NumGoroutine()), // the metric counts those of the runtime, too, since Go 1.26
		Allocated:   r.samples.count(allocated),
		Allocations: r.samples.count(allocations),
		gc: collection{
			ended:  r.samples.count(gcCycles),
			forced: forced.Load(),
			gc:     r.samples.seconds(gcTotal),
			pause:  r.samples.seconds(gcPause),
			total:  r.samples.seconds(cpuTotal),
			idle:   r.samples.seconds(cpuIdle),
			procs:  float64(r.samples.count(procs)),
		},
	}
	s.gcIsNone = r.samples.count(gogc) < 0 && r.samples.count(memoryLimit) == math.MaxInt64
	var known bool
	if s.RSS, known = r.resident(); !known { // an estimate, without memory of C code
		s.RSS = max(0, r.samples.count(mapped)-r.samples.count(released))
	}
	return s
}

// resident reads the kernel's count of resident pages.
func (r *Reader) resident() (bytes int64, ok bool) {
	if r.statm == nil {
		return 0, false
	}
	// The file is short, so that one read has it; its end is no error.
	n, _ := r.statm.ReadAt(r.buf[:], 0)
	pages, ok := secondNumber(r.buf[:n])
	return pages * r.page, ok
}

// secondNumber parses the second of at least three decimal numbers, so that a
// truncated one is not taken for whole.
func secondNumber(b []byte) (n int64, ok bool) {
	first, rest, _ := bytes.Cut(b, []byte(" "))
	second, _, more := bytes.Cut(rest, []byte(" "))
	n, err := strconv.ParseInt(string(second), 10, 64)
	ok = len(first) > 0 && more && err == nil && n >= 0 && n < 1e14 // with pages of 64 KiB, the bytes still fit into an int64
	return n, ok
}

// Waited is the time that this process has waited for cores until now: its goroutines in the
// run queue of the runtime, and its threads in that of the kernel. Time spent sleeping, or
// waiting for a lock or the network, is not included.
func Waited() time.Duration { return goroutinesWaited() + threadsWaited() }

// trackedOf is the runtime's gTrackingPeriod: it records the duration of one wait in so many.
const trackedOf = 8

// goroutinesWaited is the sum of the runtime's histogram.
func goroutinesWaited() time.Duration {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return 0
	}
	h := sample[0].Value.Float64Histogram()
	sum := 0.0
	for i, n := range h.Counts {
		low, high := h.Buckets[i], h.Buckets[i+1]
		if math.IsInf(low, -1) {
			low = 0
		}
		if math.IsInf(high, 1) {
			high = low
		}
		sum += float64(n) * (low + high) / 2
	}
	return time.Duration(trackedOf * sum * float64(time.Second))
}

// threadsWaited adds up the waiting time of all threads. Linux has a file for each thread with
// "time on a core, time waiting for one, number of turns", in nanoseconds. On other systems
// the result is 0.
func threadsWaited() time.Duration {
	files, err := filepath.Glob("/proc/self/task/*/schedstat")
	if err != nil {
		return 0
	}
	sum := int64(0)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if fields := strings.Fields(string(data)); err == nil && len(fields) > 1 {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			sum += n
		}
	}
	return time.Duration(sum)
}
