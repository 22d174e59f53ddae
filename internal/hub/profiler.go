package hub

import (
	"errors"
	"io"
	"runtime/pprof"
	"time"

	"github.com/profguard/profguard/internal/figures"
)

// profiler is the CPU profiler as the hub sees it: runtime/pprof, or a fake
// (the real one cannot be used under testing/synctest, where it hangs).
type profiler interface {
	// start begins a profile that goes to w when it ends.
	start(w io.Writer) error
	// stop ends the current profile, whoever started it, and returns when it
	// has been written.
	stop()
	// slot tells who has the profiler after a profile of ours has ended
	// without our doing.
	slot() slot
}

// clocks are the measurements beside the profile that its validity rests on.
type clocks interface {
	// cpu is the process's processor time so far, user and system.
	cpu() time.Duration
	// asleep grows by the time that the machine is suspended, which the
	// monotonic clock leaves out. Only differences mean something.
	asleep() time.Duration
}

type runtimeProfiler struct{}

// start leaves alone what pprof does not know of: where a rate has been set by
// itself, pprof would start, warn on standard error, sample at that rate, and our
// stop would take it away from whoever has set it.
func (runtimeProfiler) start(w io.Writer) error {
	if yes, _ := ticking(); yes {
		return errTaken
	}
	return pprof.StartCPUProfile(w)
}

func (runtimeProfiler) stop()      { pprof.StopCPUProfile() }
func (runtimeProfiler) slot() slot { return readSlot() }

// errTaken is the answer to a start while the profiling timer runs.
var errTaken = errors.New("cpu profiling already in use, by pprof.StartCPUProfile or runtime.SetCPUProfileRate")

type systemClocks struct{ epoch time.Time }

func (systemClocks) cpu() time.Duration      { return figures.ProcessCPU() }
func (c systemClocks) asleep() time.Duration { return suspended(c.epoch) }
