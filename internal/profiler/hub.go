package profiler

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A Hub shares the CPU profiler among its subscribers. All methods may be called concurrently.
type Hub struct {
	system system
	held   bool // see HeldByTest

	mu        sync.Mutex
	subs      []*subscriber
	running   chan struct{} // closed when the run goroutine ends; nil if there is none
	changed   chan struct{} // says that subs has changed; holds one token
	returning int           // streams that are about to come back for their next block

	// Owned by run, of which there is at most one at a time.
	lastStart, lastEnd time.Time
}

var shared = newHub(realSystem{}, HeldByTest())

// Process returns the process's hub. Two would take the one profiler from each other.
func Process() *Hub { return shared }

func newHub(s system, held bool) *Hub {
	return &Hub{system: s, held: held, changed: make(chan struct{}, 1)}
}

// A subscriber is one interval that is being profiled. All fields but done are guarded by
// the hub's mutex until done is closed. After that they belong to the goroutine that waits
// for done.
type subscriber struct {
	limit  time.Duration // an interval that takes longer is an overrun
	stream bool          // asks for another interval after this one
	done   chan struct{}

	since  time.Time // when it began to wait for a slice
	member bool      // takes part in the current slice
	slices [][]byte
	w      Window
}

// join subscribes s.
func (h *Hub) join(s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held {
		s.fail(Busy, reasonHeld)
		return
	}
	if s.stream {
		h.returning = max(0, h.returning-1)
	}
	s.since = time.Now()
	h.subs = append(h.subs, s)
	if h.running == nil {
		h.running = make(chan struct{})
		go h.run()
	}
	h.wake()
}

// leaveWait bounds how long a leaving subscriber waits for the profiler to be
// released. A guard's Stop has 250 ms in all, a stop of the profiler was measured
// at up to 81 ms.
const leaveWait = 200 * time.Millisecond

// leave unsubscribes s, and waits until the profiler is released if s was the last.
func (h *Hub) leave(s *subscriber) {
	h.mu.Lock()
	h.subs = slices.DeleteFunc(h.subs, func(other *subscriber) bool { return other == s })
	last, running := len(h.subs) == 0, h.running
	h.wake()
	h.mu.Unlock()
	if last && running != nil {
		patient(context.Background(), leaveWait, running)
	}
}

// wake makes run look at the subscribers again.
func (h *Hub) wake() {
	select {
	case h.changed <- struct{}{}:
	default: // there is a token already
	}
}

// deliver gives a slice to its members, and removes those whose interval is complete.
func (h *Hub) deliver(slice *Window) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs = slices.DeleteFunc(h.subs, func(s *subscriber) bool {
		if !s.member || !s.add(slice) {
			s.member = false
			return false
		}
		if s.stream {
			h.returning++
		}
		return true
	})
}

// add adds a slice to the interval of s, and reports whether that is complete.
func (s *subscriber) add(slice *Window) (done bool) {
	if len(s.slices) == 0 {
		s.w.Start = slice.Start
	}
	s.slices = append(s.slices, slice.Data)
	s.w.Size += len(slice.Data)
	s.w.Slices++
	s.w.Elapsed += slice.Elapsed
	s.w.CPU += slice.CPU
	s.w.slept += slice.slept
	switch {
	case slice.Outcome != OK:
		s.fail(slice.Outcome, slice.Reason)
	case s.w.Size > maxProfile:
		s.fail(TooLarge, reasonTooLarge)
	case s.w.Elapsed < s.w.Asked:
		return false
	default:
		s.w.judgeTime(s.limit)
		close(s.done)
	}
	return true
}

// fail ends a subscription with a reason. Its slices are dropped, but the numbers stay.
func (s *subscriber) fail(o Outcome, reason string) {
	s.w.lose(o, "%s", reason)
	s.slices = nil
	close(s.done)
}

// fail ends all subscriptions.
func (h *Hub) fail(o Outcome, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.subs {
		s.fail(o, reason)
	}
	h.subs = nil
}
