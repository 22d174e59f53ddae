package guard

import (
	"fmt"
)

// traceMost is the most that Config.Trace may write. A flight recorder keeps 10 MiB by
// default.
const traceMost = 64 << 20

// trace is the execution trace of the last seconds, nil if there is none. Config.Trace is code
// of the host. If it panics, hangs or writes without end, it is not called again.
func (l *looper) trace() []byte {
	if l.cfg.Trace == nil || l.untraced {
		return nil
	}
	var written limited
	err := foreign(startWithin, func() (err error) {
		if l.cfg.Trace.Enabled() {
			_, err = l.cfg.Trace.WriteTo(&written)
		}
		return err
	})
	if err != nil {
		l.untraced = true
		l.off("execution traces", fmt.Errorf("Config.Trace: %w", err))
		return nil
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
