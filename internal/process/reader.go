package process

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// The runtime's metrics, in the order of readings.
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

// Read takes a snapshot.
func Read() Snapshot {
	r := make(readings, metricCount)
	for i, name := range metricNames {
		r[i].Name = name
	}
	metrics.Read(r)
	s := Snapshot{
		At:          time.Now(),
		CPU:         ProcessCPU(),
		Heap:        r.count(heapObjects),
		Goroutines:  int64(runtime.NumGoroutine()), // the metric counts those of the runtime, too, since Go 1.26
		Allocated:   r.count(allocated),
		Allocations: r.count(allocations),
		gc: collection{
			ended:  r.count(gcCycles),
			forced: forced.Load(),
			gc:     r.seconds(gcTotal),
			pause:  r.seconds(gcPause),
			total:  r.seconds(cpuTotal),
			idle:   r.seconds(cpuIdle),
			procs:  float64(r.count(procs)),
		},
	}
	var known bool
	if s.RSS, known = resident(); !known { // an estimate, without memory of C code
		s.RSS = max(0, r.count(mapped)-r.count(released))
	}
	return s
}

// resident reads the kernel's count of resident pages, on systems with Linux's file for it.
func resident() (bytes int64, ok bool) {
	data, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(data))
	if err != nil || len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err == nil
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
