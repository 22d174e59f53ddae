package guard

import (
	"fmt"
)

// traceMost is the most that Config.Trace may write. A flight recorder keeps 10 MiB by
// default.
const traceMost = 64 << 20

// trace is the execution trace of the last seconds, nil if there is none. Config.Trace is code
// of the host. If it panics, hangs or writes without end, it is not called again. An error costs
// one dump its trace: the recorder has one, for example, while the host writes a trace itself.
func (l *looper) trace() []byte {
	if l.cfg.Trace == nil || l.untraced {
		return nil
	}
	var written limited
	var failed error
	err := foreign(startWithin, func() error {
		if l.cfg.Trace.Enabled() {
			_, failed = l.cfg.Trace.WriteTo(&written)
		}
		return written.tooMuch
	})
	if err != nil {
		l.untraced = true
	} else {
		err = failed
	}
	if err != nil {
		l.off("execution traces", fmt.Errorf("Config.Trace: %w", err))
		return nil
	}
	l.off("execution traces", nil)
	return written.data
}

// limited takes at most traceMost bytes, and remembers if there were more.
type limited struct {
	data    []byte
	tooMuch error
}

func (b *limited) Write(p []byte) (int, error) {
	if len(b.data)+len(p) > traceMost {
		b.tooMuch = fmt.Errorf("it writes more than %d MiB", traceMost>>20)
		return 0, b.tooMuch
	}
	b.data = append(b.data, p...)
	return len(p), nil
}
