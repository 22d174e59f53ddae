package guard

import (
	"fmt"
	"runtime"
	"time"

	"github.com/profguard/profguard/internal/pace"
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
	// 100 to 700 objects. (go test -run TestProfileAllocations -v ./guard)
	sliceBytes, sliceObjects = 2.4e6, 300
)

// A threadClock measures the CPU time of the guard's own work, which stays on one thread
// meanwhile. It is stopped while the loop waits for a window, because a goroutine that waits
// on a thread of its own costs the host two threads (0.1 MiB).
type threadClock struct{ began, spent time.Duration }

func (c *threadClock) start() {
	runtime.LockOSThread()
	c.began = process.ThreadCPU()
}

// A second stop adds wrong time to spent, so spent must be read before it.
func (c *threadClock) stop() {
	now := process.ThreadCPU()
	c.spent += now - c.began
	runtime.UnlockOSThread()
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

// account adds the cost of a window, and lets the guard pause or go on by it.
func (l *looper) account(cost time.Duration, after *process.Snapshot) {
	share := l.pace.Spent(cost, after.At.Sub(l.last.At), after.At)
	until, paused := l.pace.Paused(after.At)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status.CPU += cost
	l.status.CostShare = share
	switch was := l.status.State; {
	case was == Stopped: // Stop did not wait for this window
	case paused:
		l.status.State, l.status.PausedUntil = Paused, until
		l.faults.note("cost", fmt.Sprintf("profguard cost %.1f%% of a core, and may cost %.0f%%", 100*share, 100*pace.PauseShare))
		if was != Paused {
			l.emit(Event{Name: EventPaused, Message: fmt.Sprintf("profguard pauses for %v: it cost %.1f%% of a core; a longer Config.Every makes it cheaper", pace.PauseFor, 100*share)})
		}
	case was == Paused:
		l.status.State, l.status.PausedUntil = Running, time.Time{}
		l.faults.clear("cost")
		l.emit(Event{Name: EventResumed, Message: "profguard goes on"})
	}
}
