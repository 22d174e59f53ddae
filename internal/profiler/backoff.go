package profiler

import "time"

// The bounds of a [Backoff]. A person at /debug/pprof needs the profiler for 30 s
// by default, so a minute lets one request pass; a quarter of an hour keeps a
// guard useful on a process where another profiler runs most of the time.
const (
	minBackoff = 1 * time.Minute
	maxBackoff = 15 * time.Minute
)

// A Backoff says for how long to leave the profiler alone. It is a plain value
// that a loop carries from window to window; the zero Backoff waits for nothing.
type Backoff struct {
	// Wait is the least time until the next window.
	Wait time.Duration
}

// After is the backoff that follows window w: 1, 2, 4, 8, then 15 minutes while the
// profiler is contended or the machine overloaded, nothing after a window that was
// delivered. Other outcomes leave it as it is, and so does an overrun by less than
// the length of the window: a hiccup of 300 ms spoils a window of a second, and is
// no reason to look away for a minute.
func (b Backoff) After(w Window) Backoff {
	switch w.Outcome {
	case OK:
		return Backoff{}
	case Overrun:
		if w.Elapsed < 2*w.Asked {
			return b
		}
	case Busy, Stolen, Hung:
	default:
		return b
	}
	return Backoff{Wait: min(max(2*b.Wait, minBackoff), maxBackoff)}
}
