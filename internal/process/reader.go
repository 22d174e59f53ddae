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

// metrics are the runtime's metrics that a snapshot has, with the fields for them.
func (s *Snapshot) metrics() map[string]any {
	return map[string]any{
		"/memory/classes/heap/objects:bytes":  &s.Heap,
		"/memory/classes/total:bytes":         &s.mapped,
		"/memory/classes/heap/released:bytes": &s.released,
		"/gc/heap/allocs:bytes":               &s.Allocated,
		"/gc/heap/allocs:objects":             &s.Allocations,
		"/gc/cycles/total:gc-cycles":          &s.gc.ended,
		"/cpu/classes/gc/total:cpu-seconds":   &s.gc.gc,
		"/cpu/classes/gc/pause:cpu-seconds":   &s.gc.pause,
		"/cpu/classes/total:cpu-seconds":      &s.gc.total,
		"/cpu/classes/idle:cpu-seconds":       &s.gc.idle,
		"/sched/gomaxprocs:threads":           &s.gc.procs,
	}
}

// Read takes a snapshot. What a release of the runtime does not have is 0.
func Read() Snapshot {
	s := Snapshot{
		At:         time.Now(),
		CPU:        ProcessCPU(),
		Goroutines: int64(runtime.NumGoroutine()), // the metric counts those of the runtime, too, since Go 1.26
	}
	fields := s.metrics()
	list := make([]metrics.Sample, 0, len(fields))
	for name := range fields {
		list = append(list, metrics.Sample{Name: name})
	}
	metrics.Read(list)
	for _, m := range list {
		switch m.Value.Kind() { // which never changes for a name, but for one that is gone
		case metrics.KindUint64:
			*fields[m.Name].(*int64) = int64(m.Value.Uint64())
		case metrics.KindFloat64:
			*fields[m.Name].(*float64) = m.Value.Float64()
		}
	}
	s.gc.forced = forced.Load()
	if s.RSS = resident(); s.RSS == 0 { // an estimate, without memory of C code
		s.RSS = max(0, s.mapped-s.released)
	}
	return s
}

// Finalizers is the number of finalizers and cleanups that wait to be run.
func Finalizers() int64 {
	queued := Metric("/gc/finalizers/queued:finalizers") + Metric("/gc/cleanups/queued:cleanups")
	return int64(queued - Metric("/gc/finalizers/executed:finalizers") - Metric("/gc/cleanups/executed:cleanups"))
}

// Metric is a number that the runtime publishes, 0 if it does not.
func Metric(name string) float64 {
	list := []metrics.Sample{{Name: name}}
	metrics.Read(list)
	switch v := list[0].Value; v.Kind() {
	case metrics.KindUint64:
		return float64(v.Uint64())
	case metrics.KindFloat64:
		return v.Float64()
	}
	return 0
}

// resident is the kernel's count of resident bytes, 0 on systems without Linux's file for it.
func resident() int64 { return secondOf("/proc/self/statm") * int64(os.Getpagesize()) }

// secondOf is the second number in a file of the kernel, 0 if there is none.
func secondOf(file string) int64 {
	data, _ := os.ReadFile(file)
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[1], 10, 64)
	return n
}

// Waited is the time that this process has waited for cores until now: its goroutines in the
// run queue of the runtime, and its threads in that of the kernel.
func Waited() time.Duration { return goroutinesWaited() + threadsWaited() }

// trackedOf is the runtime's gTrackingPeriod: it records the duration of one wait in so many.
const trackedOf = 8

// LocksWaited is how long goroutines have waited for locks until now, at least: where a goroutine
// always blocks as often between two waits, the runtime records all or none of them.
func LocksWaited() time.Duration {
	return time.Duration(Metric("/sync/mutex/wait/total:seconds") / trackedOf * float64(time.Second))
}

// goroutinesWaited is the sum of the runtime's histogram.
func goroutinesWaited() time.Duration {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return 0
	}
	return waitedBy(sample[0].Value.Float64Histogram())
}

// waitedBy is the sum of a histogram of seconds that has one wait in trackedOf.
func waitedBy(h *metrics.Float64Histogram) time.Duration {
	sum := 0.0
	for i, n := range h.Counts {
		low, high := max(0, h.Buckets[i]), h.Buckets[i+1] // the first is below 0
		if math.IsInf(high, 1) {
			high = low
		}
		sum += float64(n) * (low + high) / 2
	}
	return time.Duration(trackedOf * sum * float64(time.Second))
}

// Runnable is the number of threads of this process that run or wait for a core, the caller's among
// them. On systems without Linux's files for it the result is 0.
func Runnable() (n int) {
	files, _ := filepath.Glob("/proc/self/task/*/stat") // errors are about the pattern
	for _, file := range files {
		data, _ := os.ReadFile(file)
		if _, state, ok := bytes.Cut(data, []byte(") ")); ok && state[0] == 'R' { // after the thread's name
			n++
		}
	}
	return n
}

// threadsWaited adds up the waiting time of all threads. Linux has a file for each thread with
// "time on a core, time waiting for one, number of turns", in nanoseconds. On other systems
// the result is 0.
func threadsWaited() time.Duration {
	files, _ := filepath.Glob("/proc/self/task/*/schedstat") // errors are about the pattern
	sum := int64(0)
	for _, file := range files {
		sum += secondOf(file)
	}
	return time.Duration(sum)
}
