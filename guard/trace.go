package guard

import (
	"errors"
	"fmt"
	"time"
)

const (
	// traceWithin is how long Config.Trace may take to write. A flight recorder takes some
	// milliseconds for each megabyte.
	traceWithin = time.Second

	// traceMost is how much it may write. A flight recorder keeps 10 MiB unless told otherwise.
	traceMost = 64 << 20
)

// trace is the last seconds of execution trace; nil if there are none. Config.Trace may be
// anybody's code. One that panics, hangs or writes without end is not asked again.
func (l *looper) trace() []byte {
	if l.cfg.Trace == nil || l.traceOff {
		return nil
	}
	var written limited
	ended := make(chan error, 1)
	go func() {
		err := errors.New("it ended its goroutine")
		defer func() { ended <- err }()
		var failed error
		if err = call(func() {
			if l.cfg.Trace.Enabled() {
				_, failed = l.cfg.Trace.WriteTo(&written)
			}
		}); err == nil {
			err = failed
		}
	}()
	err := fmt.Errorf("it has not returned within %v", traceWithin)
	select {
	case err = <-ended:
	case <-time.After(traceWithin):
	}
	if err == nil {
		return written.data
	}
	l.traceOff = true
	l.mu.Lock()
	defer l.mu.Unlock()
	l.degraded("trace", "", "no execution trace beside dumps any more: Config.Trace: "+err.Error())
	return nil
}

// limited takes at most traceMost bytes.
type limited struct{ data []byte }

func (b *limited) Write(p []byte) (int, error) {
	if len(b.data)+len(p) > traceMost {
		return 0, fmt.Errorf("it writes more than %d MiB", traceMost>>20)
	}
	b.data = append(b.data, p...)
	return len(p), nil
}
