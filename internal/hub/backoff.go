package hub

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

// After is the backoff that follows a window with outcome o: 1, 2, 4, 8, then 15
// minutes while the profiler is contended or the machine overloaded, nothing
// after a window that was delivered. Other outcomes leave it as it is.
func (b Backoff) After(o Outcome) Backoff {
	switch o {
	case OK:
		return Backoff{}
	case Busy, Stolen, Hung, Overrun:
		return Backoff{Wait: min(max(2*b.Wait, minBackoff), maxBackoff)}
	default:
		return b
	}
}
