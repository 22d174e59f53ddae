// Package profiler shares the process's one CPU profiler among everyone on our side
// who wants a profile: the guard's loop, parallel checks, requests for a live
// profile.
//
// The runtime has a single CPU profiler without an owner. A second start fails,
// a stop stops anybody's profile, and a start can hang while somebody else's
// profile drains into a slow connection. So there is one [Hub] for the process
// ([Process]), and it keeps four rules:
//
//   - It never stops what it did not start, and where the system tells who samples (Linux)
//     it does not start beside a rate that somebody has set by itself, which its stop would
//     end. A window that somebody else has ended is [Stolen].
//   - It captures into its own bounded memory, releases the profiler, and only
//     then hands out bytes. A slow reader never holds the profiler.
//   - It never waits without a bound. A start that hangs leaves one parked
//     goroutine and a hub that answers [Hung] at once until it returns.
//   - A window that cannot be trusted is never passed off as good: every
//     [Window] carries an [Outcome], and [Check] applies the rules that need the
//     decoded profile.
//
// While there are subscribers ([Hub.Capture], [Hub.Stream]), the hub takes one runtime
// profile after the other, the slices. It cuts when a subscriber's interval is
// complete or a new one wants in, and gives each subscriber exactly the slices
// that it was there for: a single slice as the runtime wrote it, several merged.
//
//	A     |--------------------------|
//	B              |----------------------|
//	cuts  |        |                 |    |
//	      slice 1   slice 2           slice 3       A gets 1+2, B gets 2+3
//
// Nothing is sampled during the few milliseconds of a cut; [Window.Elapsed] and
// [Window.CPU] leave them out.
package profiler

import (
	"errors"
	"io"
	"runtime/pprof"
	"time"

	"github.com/profguard/profguard/internal/process"
)

// system is the CPU profiler as the hub sees it, and the clocks that a window's validity
// rests on: the process's own, or a fake (the real profiler cannot be used under
// testing/synctest, where it hangs).
type system interface {
	// start begins a profile that goes to w when it ends.
	start(w io.Writer) error
	// stop ends the current profile, whoever started it, and returns when it
	// has been written.
	stop()
	// sampling reports whether anybody profiles the process, where that is known.
	sampling() (yes, known bool)
	// cpu is the process's processor time so far, user and system.
	cpu() time.Duration
	// asleep grows by the time that the machine is suspended, which the
	// monotonic clock leaves out. Only differences mean something.
	asleep() time.Duration
}

type realSystem struct{}

// start leaves alone what pprof does not know of: where a rate has been set by
// itself, pprof would start, warn on standard error, sample at that rate, and our
// stop would take it away from whoever has set it.
func (realSystem) start(w io.Writer) error {
	if yes, _ := ticking(); yes {
		return errTaken
	}
	return pprof.StartCPUProfile(w)
}

func (realSystem) stop()                       { pprof.StopCPUProfile() }
func (realSystem) sampling() (yes, known bool) { return ticking() }
func (realSystem) cpu() time.Duration          { return process.ProcessCPU() }
func (realSystem) asleep() time.Duration       { return suspended() }

// errTaken is the answer to a start while the profiling timer runs.
var errTaken = errors.New("cpu profiling already in use, by pprof.StartCPUProfile or runtime.SetCPUProfileRate")

// HeldByTest reports whether this process runs with -test.cpuprofile: the testing package
// then holds the profiler from before the first test until after the last. The hub yields,
// and answers [Busy] without trying; otherwise a guard that TestMain starts would take the
// profiler first, and the profile that the person asked for would be an empty file.
func HeldByTest() bool { return held }

// held is worked out before main: later, the program may change its arguments.
var held = process.TestFlag("cpuprofile") != ""
