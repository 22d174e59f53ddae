package kinds

import "time"

// leakTimeout is how long a goroutineleak profile may take. It is a garbage
// collection and a goroutine profile, and runtime/pprof holds a lock over both and
// over writing them to whoever asked: a client of /debug/pprof/goroutineleak that
// does not read keeps everybody else waiting.
const leakTimeout = 2 * time.Second

// A leakTaker takes goroutineleak profiles without waiting for ever. One that does
// not come leaves one parked goroutine, and there is never a second.
type leakTaker struct {
	timeout time.Duration // 0: leakTimeout
	parked  chan error    // the outcome of a profile that did not come in time
}

func (l *leakTaker) write(src source, to *buffer) error {
	if l.parked != nil {
		select {
		case <-l.parked: //nolint:errcheck // whatever became of it, it is too late
			l.parked = nil
		default:
			return skip(GoroutineLeak, Hung, "an earlier one has still not come; close the open requests to /debug/pprof/goroutineleak")
		}
	}
	// Its own buffer, because we may be gone when it is written.
	own := &buffer{limit: to.limit}
	done := make(chan error, 1)
	go func() { done <- src.write(GoroutineLeak, own) }()
	timeout := l.timeout
	if timeout == 0 {
		timeout = leakTimeout
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case err := <-done:
		*to = *own
		return err
	case <-timer.C:
		l.parked = done
		return skip(GoroutineLeak, Hung, "it did not come within %v; close the open requests to /debug/pprof/goroutineleak", timeout)
	}
}
