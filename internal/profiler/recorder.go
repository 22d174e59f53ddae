package profiler

import (
	"bytes"
	"sync"
	"time"
)

// maxProfile is how much of one profile the hub keeps. 60 s of a large service
// gzip to well under 1 MiB; 16 MiB is also the most that the decoder accepts.
const maxProfile = 16 << 20

// keepBuffer is the largest buffer that is kept from slice to slice.
const keepBuffer = 1 << 20

// A recorder is the io.Writer behind one runtime profile. It never blocks but for
// what relieve takes, never fails and never panics (a panic in there would end the
// process), and holds at most limit bytes.
//
// The runtime writes a profile only when it ends. A write before seal therefore
// says that somebody else ended it.
type recorder struct {
	early   chan struct{} // closed at the first write before seal
	limit   int
	relieve func() // see CaptureLean; may be nil; set before seal

	mu     sync.Mutex
	buf    []byte
	sealed bool
	stolen bool
	over   bool
	took   time.Duration // by relieve
}

func newRecorder(scratch []byte, limit int) *recorder {
	return &recorder{early: make(chan struct{}), limit: limit, buf: scratch[:0]}
}

// Write keeps p as far as there is room. It always reports success: the runtime
// has no use for an error.
func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.sealed && !r.stolen {
		r.stolen = true
		close(r.early)
	}
	if r.sealed && r.relieve != nil {
		start := time.Now()
		r.relieve()
		r.relieve, r.took = nil, time.Since(start)
	}
	if len(r.buf)+len(p) > r.limit {
		r.over = true
		r.buf = r.buf[:0] // a truncated profile is of no use to anybody
	}
	if !r.over {
		r.buf = append(r.buf, p...)
	}
	return len(p), nil
}

// seal announces our own stop. It reports false when it comes too late: the
// profile has been ended by somebody else, and must not be stopped.
func (r *recorder) seal() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sealed = !r.stolen
	return r.sealed
}

// relief is how long relieve has taken.
func (r *recorder) relief() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.took
}

// take returns a copy of what was recorded and the buffer for the next recorder.
// It must be called after the profiler was stopped.
func (r *recorder) take() (data, scratch []byte, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		data = bytes.Clone(r.buf)
	}
	if cap(r.buf) <= keepBuffer {
		scratch = r.buf[:0]
	}
	r.buf = nil
	return data, scratch, r.over
}
