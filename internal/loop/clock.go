package loop

import (
	"runtime"
	"time"

	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiler"
)

const (
	// sampleCost is the cost of one CPU sample: the signal, the unwinding, the write to the
	// profile's buffer. It was measured at 2.1 to 3.5 us.
	sampleCost = 3500 * time.Nanosecond
	// A window costs the runtime 2.0 to 3.5 ms of CPU to start, symbolise and
	// compress, for profiles of some 20 KB; most of it goes with the size.
	sliceCost = time.Millisecond
	byteCost  = 100 * time.Nanosecond
	// The runtime wakes up ten times a second to empty the buffer, also an empty
	// one: 20 to 70 us, measured in a process that sleeps.
	wakeCost  = 40 * time.Microsecond
	wakeEvery = 100 * time.Millisecond

	// What the runtime allocates for a CPU profile: 2.4 to 2.6 MB, most of it to compress, in
	// 100 to 700 objects. (go test -run TestProfileAllocations -v ./internal/loop)
	sliceBytes, sliceObjects = 2.4e6, 300
)

// A clock measures the CPU time of the guard's own work.
type clock struct {
	thread func() time.Duration // CPU time of the calling thread
	spent  time.Duration
}

// run does a part of the work, which stays on one thread meanwhile. What waits is no part of it,
// because a goroutine that waits on a thread of its own costs the host two threads (0.1 MiB).
func (c *clock) run(work func()) {
	runtime.LockOSThread()
	began := c.thread()
	defer func() { // also after a panic
		c.spent += c.thread() - began
		runtime.UnlockOSThread()
	}()
	work()
}

// profilingCost estimates the cost of taking a CPU profile. It can't be measured, because the
// work is spread over signal handlers and a goroutine of the runtime.
func profilingCost(w *profiler.Window, used *process.Figures) time.Duration {
	if w.Slices == 0 { // none was taken
		return 0
	}
	samples, wakes := int64(used.CPU/(10*time.Millisecond)), int64(w.Elapsed/wakeEvery)
	return time.Duration(samples)*sampleCost + time.Duration(wakes)*wakeCost + time.Duration(w.Slices)*sliceCost + time.Duration(w.Size)*byteCost
}

// readingCost estimates the CPU of reading counters of work, by what the process used meanwhile:
// without what it uses at other times, because a counter may wait while the host computes on
// other cores.
func readingCost(elapsed, used time.Duration, elsewhere float64) time.Duration {
	return max(0, min(elapsed, used-time.Duration(elsewhere*float64(elapsed))))
}

// allocations are what was allocated.
type allocations struct{ bytes, objects float64 }

// allocationsOf is what the process has allocated since an earlier snapshot.
func allocationsOf(from, to *process.Snapshot) allocations {
	return allocations{float64(to.Allocated - from.Allocated), float64(to.Allocations - from.Allocations)}
}

// beyond is what a has more than b, of each at least 0.
func (a allocations) beyond(b allocations) allocations {
	return allocations{max(0, a.bytes-b.bytes), max(0, a.objects-b.objects)}
}

// A heapMeter adds up what the guard itself has allocated. The runtime counts the allocations
// of the process only. So those while the guard works are the guard's, but for what the host
// allocates in as much time when the guard does not work.
type heapMeter struct {
	own    allocations
	rate   allocations      // of the host, a second
	rested process.Snapshot // when the guard had done its work
}

// begin notes the time without the guard's work, which has just ended.
func (m *heapMeter) begin(now *process.Snapshot) {
	m.rate = allocations{}
	if seconds := now.At.Sub(m.rested.At).Seconds(); seconds > 0 {
		a := allocationsOf(&m.rested, now)
		m.rate = allocations{a.bytes / seconds, a.objects / seconds}
	}
}

// add adds what the guard has allocated between two snapshots.
func (m *heapMeter) add(from, to *process.Snapshot) {
	seconds := to.At.Sub(from.At).Seconds()
	own := allocationsOf(from, to).beyond(allocations{m.rate.bytes * seconds, m.rate.objects * seconds})
	m.own.bytes += own.bytes
	m.own.objects += own.objects
}

// addProfile adds what the runtime has allocated for a CPU profile.
func (m *heapMeter) addProfile(slices int) {
	m.own.bytes += sliceBytes * float64(slices)
	m.own.objects += sliceObjects * float64(slices)
}
