package process

import (
	"math"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// Waited is how long this process has waited for cores until now: its goroutines in the
// run queue of the runtime, and its threads in that of the kernel. Who sleeps, or waits
// for a lock or the network, is in neither.
func Waited() time.Duration { return goroutinesWaited() + threadsWaited() }

// trackedOf is the runtime's own gTrackingPeriod: it tells how long a goroutine waited for
// one wait in so many.
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

// threadsWaited is what Linux tells of each thread: "time on a core, time waiting for
// one, turns", in nanoseconds. Elsewhere it is 0.
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
