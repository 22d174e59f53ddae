package profiler

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/profguard/profguard/internal/decode"
)

// overtime is how much longer than twice its interval Capture waits before it leaves. A start
// takes 0.1 ms and a stop 81 ms at most, unless the machine is overloaded or other code's stop
// drains its profile into a slow connection.
const overtime = 2*time.Second - leaveWait

// patient waits for done for at most d of the time that the process runs, or until ctx ends,
// and reports whether done was closed. When a process that was stopped (SIGSTOP) goes on, all
// its timers have expired, although its goroutines had no time to do anything. So d is
// measured in parts, and a stop takes only one of them.
func patient(ctx context.Context, d time.Duration, done <-chan struct{}) bool {
	const parts = 8
	part := time.NewTicker(d / parts)
	defer part.Stop()
	for range parts {
		select {
		case <-done:
			return true
		case <-ctx.Done():
			return false
		case <-part.C:
		}
	}
	return false
}

// Capture profiles the process for d and returns the window. It blocks for d and some tenths of
// a second, at worst for 2d + 2 s of the time that the process runs.
//
// When ctx ends it returns within 250 ms with the outcome [Canceled], and has released the
// profiler unless there are other subscribers.
//
// The interval should be at most some minutes: the runtime keeps every distinct stack of
// a running profile in memory, without another bound.
//
// The error is the window's [Window.Err], nil exactly when the outcome is [OK].
// Whether the profile of an OK window is one, [Window.Table] finds out.
func (h *Hub) Capture(ctx context.Context, d time.Duration) (Window, error) {
	w := h.capture(ctx, &subscriber{w: Window{Asked: d}, limit: d + d/10 + slack})
	return w, w.Err()
}

// retryPause is how long a stream leaves the profiler alone when it was not available: long
// enough for other code to start its profile, short enough for a check of a few seconds to try
// again.
const retryPause = time.Second

// Stream profiles the process in blocks of at least d, of which no two share a runtime
// profile, and calls yield with one after the other until it returns false or ctx ends. The
// sampling phase is random in each block, which is what makes blocks independent. Streams with
// the same d share their blocks. Lost blocks are yielded too, with their outcome; after one for
// which the profiler was not available, Stream waits a second. Nothing is profiled while yield
// runs. When Stream returns, the profiler is released, as with Capture.
func (h *Hub) Stream(ctx context.Context, d time.Duration, yield func(Window) bool) {
	for {
		// A long block is as good as a short one, up to a stall.
		w := h.capture(ctx, &subscriber{w: Window{Asked: d}, limit: 2*d + time.Second, stream: true})
		if w.Outcome == Canceled || !yield(w) {
			return
		}
		switch w.Outcome {
		case Busy, Hung, Stolen, TooLarge:
			patient(ctx, retryPause, nil)
		}
	}
}

// capture subscribes s and returns its window.
func (h *Hub) capture(ctx context.Context, s *subscriber) Window {
	asked := s.w.Asked
	s.done = make(chan struct{})
	if ctx.Err() == nil {
		h.join(s)
	}
	patience := max(s.limit, 2*asked) + overtime
	if !patient(ctx, patience, s.done) {
		h.leave(s)
	}
	select {
	case <-s.done:
		s.w.merge(s.slices)
		return s.w
	default:
	}
	w := Window{Asked: asked}
	if ctx.Err() != nil {
		w.lose(Canceled, "the subscriber left before the window was complete")
	} else {
		w.lose(Hung, "no profile after %v for a window of %v; %s", patience, asked, remedyHung)
	}
	return w
}

// merge makes one profile of slices, one after the other. A single one stays as it is.
func (w *Window) merge(slices [][]byte) {
	if len(slices) == 1 {
		w.Data = slices[0]
	}
	if len(slices) < 2 {
		return
	}
	var d decode.Decoder
	var sum decode.Merger
	for i, data := range slices {
		t, err := d.Bytes(data)
		switch {
		case err != nil:
			w.lose(Broken, "slice %d of %d cannot be read: %v", i+1, len(slices), err)
			return
		case t.Period != period:
			w.lose(Rate, "%s", reasonRate(t.Period))
			return
		}
		if err := sum.Add(t); err != nil {
			w.lose(Broken, "slice %d of %d: %v", i+1, len(slices), err)
			return
		}
	}
	w.Made = sum.Table()
}

// maxProfile is how much of one profile the hub keeps, as much as the decoder reads: 60 s of
// a large service gzip to well under 1 MiB.
const maxProfile = 8 << 20

// A recorder is the io.Writer behind one runtime profile. It never blocks and never panics (a
// panic in there would end the process), and holds at most maxProfile bytes. The runtime writes
// a profile only when it ends. So a write before seal means that other code has ended it.
type recorder struct {
	early chan struct{} // closed at the first write before seal

	mu     sync.Mutex
	buf    []byte
	sealed bool
	stolen bool
	over   bool
}

func newRecorder() *recorder { return &recorder{early: make(chan struct{})} }

// Write always reports success: the runtime has no use for an error.
func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.sealed && !r.stolen {
		r.stolen = true
		close(r.early)
	}
	if len(r.buf)+len(p) > maxProfile {
		r.over = true
		r.buf = nil // a truncated profile is of no use
	}
	if !r.over {
		r.buf = append(r.buf, p...)
	}
	return len(p), nil
}

// seal announces our own stop. It reports false when it comes too late: the
// profile was ended by other code, and must not be stopped.
func (r *recorder) seal() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sealed = !r.stolen
	return r.sealed
}

// content returns what was recorded, in a slice of that size, after the profiler was stopped.
func (r *recorder) content() (data []byte, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.buf), r.over
}
