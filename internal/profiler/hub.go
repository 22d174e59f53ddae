package profiler

import (
	"context"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// startTimeout is how long a start of the profiler may take before its window
// is given up. It takes 0.1 ms unless another stop holds runtime/pprof's mutex,
// and that one takes 81 ms at most unless it drains into a slow connection.
const startTimeout = time.Second

// A Hub shares the CPU profiler among its subscribers. All methods may be called
// concurrently. Use the one of [Process].
type Hub struct {
	profiler profiler
	clocks   clocks
	held     func() bool // see HeldByTest

	overhead atomic.Int64 // nanoseconds

	mu       sync.Mutex
	subs     []*subscriber
	running  bool          // a run goroutine is alive
	parked   bool          // a start hangs; there must not be a second
	suspect  bool          // a profile of ours ended unseen: it may jam the profiler
	inFlight chan struct{} // closed when the current slice has released the profiler
	kick     chan struct{} // tells run that subs has changed; holds one token

	// Owned by run, of which there is at most one at a time.
	lastStart time.Time
	scratch   []byte
}

// shared is a package variable because the profiler is one for the process too:
// two hubs would fight each other for it.
var shared = newHub(runtimeProfiler{}, systemClocks{epoch: time.Now()}, HeldByTest)

// Process returns the process's hub.
func Process() *Hub { return shared }

func newHub(p profiler, c clocks, held func() bool) *Hub {
	return &Hub{profiler: p, clocks: c, held: held, kick: make(chan struct{}, 1)}
}

// Overhead is the time that the hub has spent so far on starting and stopping the
// profiler and on merging slices. It is elapsed time, an upper bound of what it
// cost in CPU: a stop also waits for the profile's goroutine to be scheduled.
func (h *Hub) Overhead() time.Duration { return time.Duration(h.overhead.Load()) }

// spent adds the time since start to the overhead.
func (h *Hub) spent(start time.Time) { h.overhead.Add(int64(time.Since(start))) }

// join subscribes s. Its outcome comes through s.out.
func (h *Hub) join(s *subscriber) {
	held := h.held()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case held:
		s.fail(Busy, reasonHeld)
	case h.parked:
		s.fail(Hung, reasonParked)
	default:
		s.since = time.Now()
		h.subs = append(h.subs, s)
		if !h.running {
			h.running = true
			go h.run()
		}
		h.nudge()
	}
}

// leaveWait bounds how long a leaving subscriber waits for the profiler to be
// released. A guard's Stop has 250 ms in all, a stop of the profiler was measured
// at up to 81 ms.
const leaveWait = 200 * time.Millisecond

// leave unsubscribes s. When nobody else is left it waits for the profiler to be
// released, at most leaveWait, and reports whether it was.
func (h *Hub) leave(s *subscriber) (released bool) {
	h.mu.Lock()
	h.remove(s)
	last, inFlight := len(h.subs) == 0, h.inFlight
	h.nudge()
	h.mu.Unlock()
	if !last || inFlight == nil {
		return true
	}
	timer := time.NewTimer(leaveWait)
	defer timer.Stop()
	select {
	case <-inFlight:
		return true
	case <-timer.C:
		return false
	}
}

// resume tells the hub that s has room for another window again.
func (h *Hub) resume(s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.since = time.Now()
	h.nudge()
}

// remove takes s off the list. h.mu must be held.
func (h *Hub) remove(s *subscriber) {
	h.subs = slices.DeleteFunc(h.subs, func(other *subscriber) bool { return other == s })
}

// nudge makes run look at the subscribers again.
func (h *Hub) nudge() {
	select {
	case h.kick <- struct{}{}:
	default: // a token is there already, and says the same
	}
}

// shedLabels takes the pprof labels off the current goroutine: it inherits those
// of whoever subscribed first, who shall not be charged for the hub's work.
func shedLabels() { pprof.SetGoroutineLabels(context.Background()) }
