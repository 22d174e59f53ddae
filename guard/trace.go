package guard

import (
	"cmp"
	"fmt"
	"time"
)

// traces is the part of the guard that is off after Config.Trace has failed.
const traces = "execution traces"

// traceMost is the most that Config.Trace may write. A flight recorder keeps 10 MiB by
// default.
const traceMost = 64 << 20

// trace is the execution trace of the last seconds, nil if there is none. Config.Trace is code
// of the host. If it panics, hangs or writes without end, it is not called again.
func (l *looper) trace() []byte {
	if l.cfg.Trace == nil || l.isOff(traces) {
		return nil
	}
	var written limited
	if err := l.within(traces, "Config.Trace", func() (err error) {
		panicked := call(func() {
			began := time.Now()
			if l.cfg.Trace.Enabled() {
				_, err = l.cfg.Trace.WriteTo(&written)
			}
			if took := time.Since(began); err == nil && took >= startWithin {
				err = fmt.Errorf("Config.Trace took %v", took.Round(time.Millisecond))
			}
		})
		return cmp.Or(panicked, err)
	}); err != nil {
		l.off(traces, err)
	}
	if l.isOff(traces) {
		return nil // a call that hangs may still write to written
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
