package profiler

import (
	"context"
	"time"
)

// maxInterval is the longest window. The runtime keeps every distinct stack of a
// running profile in memory, without a bound but this.
const maxInterval = time.Hour

// overtime is how much longer than twice its interval Capture may block before
// it gives up: a hanging start, and the stop of a machine that is overloaded.
const overtime = startTimeout + time.Second

// patienceParts is in how many parts waiting is measured. When a process that was
// stopped (SIGSTOP) goes on, all its timers have expired, although nobody has had
// time to do anything. That costs one part, and not all of the patience.
const patienceParts = 8

// Capture profiles the process for d and returns the window. It blocks for d and
// a little more: up to 125 ms until others' slice is cut, the cuts themselves,
// and one stop of the profiler; at worst 2d + 2 s, while the process runs.
//
// When ctx ends it returns within 250 ms with the outcome [Canceled], and has
// released the profiler unless somebody else subscribes to it.
//
// The error is the window's [Window.Err], nil exactly when the outcome is [OK].
// Whether the profile of an OK window is one, [Window.Table] finds out.
func (h *Hub) Capture(ctx context.Context, d time.Duration) (Window, error) {
	return h.CaptureLean(ctx, d, nil)
}

// CaptureLean is Capture for a process that has little memory. The runtime keeps
// samples in a buffer of 1.2 MB, which is garbage when a profile has ended; then it
// compresses, with 1 MB of tables. Between the two relieve is called, which may
// collect the garbage, but must neither panic nor take long: the profiler is not
// free before it returns. It is not called when somebody else ends the profile, and
// what it takes is no part of the hub's overhead.
func (h *Hub) CaptureLean(ctx context.Context, d time.Duration, relieve func()) (Window, error) {
	w := h.capture(ctx, d, relieve)
	w.Asked = d
	return w, w.Err()
}

func (h *Hub) capture(ctx context.Context, d time.Duration, relieve func()) Window {
	if w, bad := unusable(ctx, d); bad {
		return w
	}
	s := newSubscriber(d, false)
	s.relieve = relieve
	h.join(s)
	part := time.NewTicker((2*d + overtime) / patienceParts)
	defer part.Stop()
	for range patienceParts {
		select {
		case p := <-s.out:
			return h.window(p)
		case <-ctx.Done():
			return h.desert(s, ctx.Err())
		case <-part.C:
		}
	}
	h.leave(s)
	select {
	case p := <-s.out: // at the last moment
		return h.window(p)
	default:
	}
	var w Window
	w.lose(Hung, "no profile after %v for a window of %v; the machine is overloaded or the profiler hangs", 2*d+overtime, d)
	return w
}

// desert leaves, and returns what the subscriber has to show for it.
func (h *Hub) desert(s *subscriber, cause error) Window {
	released := h.leave(s)
	w := Window{cause: cause}
	if w.lose(Canceled, "%s", reasonLeft); !released {
		w.Reason = reasonUnreleased(leaveWait)
	}
	return w
}

// retryPause is how long a stream leaves the profiler alone after a lost block:
// long enough for a thief to get going, short enough for a check of a few
// seconds to have another try.
const retryPause = time.Second

// Stream profiles the process in consecutive blocks of at least d, each from a
// runtime profile of its own, and calls yield with one after the other until it
// returns false or ctx ends. The sampling phase is random in each block, which is
// what makes blocks independent. Streams with the same d share their blocks.
//
// Lost blocks are yielded too, with their outcome; after one that the profiler
// was not available for, Stream waits a second before it tries again.
//
// yield runs on the caller's goroutine while the next blocks are being taken. If
// it falls more than four blocks behind, the blocks that it has no time for are
// not taken. When Stream returns, the profiler is released, as with Capture.
//
// The error is nil when yield ended the stream, ctx's error when ctx did, and a
// [*LostError] when d is out of range.
func (h *Hub) Stream(ctx context.Context, d time.Duration, yield func(Window) bool) error {
	if w, bad := unusable(ctx, d); bad {
		if w.cause != nil {
			return w.cause
		}
		return w.Err()
	}
	for {
		more, err := h.streamOnce(ctx, d, yield)
		if !more || err != nil {
			return err
		}
		pause := time.NewTimer(retryPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		case <-pause.C:
		}
	}
}

// streamOnce streams until the hub drops the subscription.
func (h *Hub) streamOnce(ctx context.Context, d time.Duration, yield func(Window) bool) (more bool, err error) {
	s := newSubscriber(d, true)
	h.join(s)
	defer h.leave(s) // also if yield panics
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case p := <-s.out:
			w := h.window(p)
			w.Asked = d
			if !yield(w) {
				return false, nil
			}
			if p.last {
				return true, nil
			}
			h.resume(s)
		}
	}
}

// unusable answers requests that cannot be met.
func unusable(ctx context.Context, d time.Duration) (w Window, bad bool) {
	switch {
	case d <= 0 || d > maxInterval:
		w.lose(Refused, "a window of %v was asked for; ask for more than 0 and at most %v", d, maxInterval)
	case ctx.Err() != nil:
		w.cause = ctx.Err()
		w.lose(Canceled, "the subscriber's context had ended before: %v", w.cause)
	default:
		return w, false
	}
	return w, true
}

// window makes a subscriber's parcel into a window, on the subscriber's time.
func (h *Hub) window(p parcel) Window {
	w := Window{
		Start:   p.start,
		Elapsed: p.elapsed,
		CPU:     p.cpu,
		Slices:  len(p.slices),
		Outcome: p.outcome,
		Reason:  p.reason,
	}
	switch len(p.slices) {
	case 0:
		return w
	case 1:
		w.Data = p.slices[0]
		return w
	}
	start := time.Now()
	defer h.spent(start)
	data, err := merge(p.slices)
	if err != nil {
		w.lose(err.Outcome, "%s", err.Reason)
		return w
	}
	w.Data = data
	return w
}
