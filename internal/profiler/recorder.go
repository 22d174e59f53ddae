package profiler

import (
	"bytes"
	"sync"
)

// maxProfile is how much of one profile the hub keeps, as much as the decoder reads: 60 s of
// a large service gzip to well under 1 MiB.
const maxProfile = 8 << 20

// A recorder is the io.Writer behind one runtime profile. It never blocks, never fails
// and never panics (a panic in there would end the process), and holds at most
// maxProfile bytes.
//
// The runtime writes a profile only when it ends. So a write before seal means that other
// code has ended it.
type recorder struct {
	early chan struct{} // closed at the first write before seal

	mu     sync.Mutex
	buf    []byte
	sealed bool
	stolen bool
	over   bool
}

func newRecorder() *recorder { return &recorder{early: make(chan struct{})} }

// Write keeps p as far as there is room. It always reports success: the runtime
// has no use for an error.
func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.sealed && !r.stolen {
		r.stolen = true
		close(r.early)
	}
	if len(r.buf)+len(p) > maxProfile {
		r.over = true
		r.buf = nil // a truncated profile is of no use
	}
	if !r.over {
		r.buf = append(r.buf, p...)
	}
	return len(p), nil
}

// seal announces our own stop. It reports false when it comes too late: the
// profile was ended by other code, and must not be stopped.
func (r *recorder) seal() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sealed = !r.stolen
	return r.sealed
}

// take returns what was recorded, in a slice of that size. It must be called after the
// profiler was stopped.
func (r *recorder) take() (data []byte, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.buf), r.over
}
