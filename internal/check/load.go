package check

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

const (
	// busyShare is the waiting for a core, per time that goes by, from which a machine
	// is too busy to blame work for too few samples. Work that computes, or wakes up 200
	// times a second, waits for less than 2% on an idle machine.
	busyShare = 0.1

	// busyTimes is how many times its Max a check may take on a busy machine, within the
	// deadline of the test.
	busyTimes = 4

	// trackedOf is the runtime's own gTrackingPeriod: it tells how long a goroutine
	// waited for one wait in so many.
	trackedOf = 8
)

// A load is how long this process has waited for cores until now: its goroutines in
// the run queue of the runtime, and its threads in that of the kernel. Who sleeps, or
// waits for a lock or the network, is in neither.
type load struct {
	at     time.Time
	waited time.Duration
}

// readLoad is a variable so that tests can have an idle machine, and a busy one.
var readLoad = func() load { return load{time.Now(), goroutinesWaited() + threadsWaited()} }

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

// isBusy reports whether the machine has kept the process from running since from.
func isBusy(from, to load) bool {
	return float64(to.waited-from.waited) > busyShare*float64(to.at.Sub(from.at))
}

// busy reports whether the machine keeps this check from running.
func (r *run) busy() bool { return isBusy(r.load, readLoad()) }

// goOn gives a check that is not decided when its time is up more of it, if the machine
// has kept it from running, and reports whether it did.
func (r *run) goOn() bool {
	if !r.ends.Before(r.latest) || !r.busy() {
		return false
	}
	r.ends = r.latest
	return true
}

// loadText says with figures how busy the machine was.
func (r *run) loadText() string {
	now := readLoad()
	return fmt.Sprintf("the machine was busy: goroutines and threads of this process waited %v for a core in %v",
		(now.waited - r.load.waited).Round(100*time.Millisecond), now.at.Sub(r.load.at).Round(100*time.Millisecond))
}
