package guard

import (
	"cmp"
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
	if l.cfg.Trace == nil || l.traceOff.Load() {
		return nil
	}
	var written limited
	off := func(err error) {
		if l.traceOff.Swap(true) {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.degraded("trace", "", "no execution trace beside dumps any more: "+err.Error())
	}
	if err := l.within(traceWithin, "Config.Trace", func() (err error) {
		panicked := call(func() {
			if l.cfg.Trace.Enabled() {
				_, err = l.cfg.Trace.WriteTo(&written)
			}
		})
		return cmp.Or(panicked, err)
	}, off); err != nil {
		off(err)
	}
	if l.traceOff.Load() {
		return nil // and written may still be written to
	}
	return written.data
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
