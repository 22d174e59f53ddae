// Package profiler shares the process's one CPU profiler among all parts of profguard that
// need a profile: the guard's loop, parallel checks, requests for a live profile.
//
// The runtime has a single CPU profiler without an owner. A second start fails, a stop stops
// any profile, also one of other code, and a start can hang while another profile is written
// to a slow connection. So there is one [Hub] for the process, and it keeps four rules:
//
//   - It never stops a profile that it did not start. A window that other code has ended is
//     [Stolen].
//   - It captures into its own bounded memory, releases the profiler, and only then hands
//     out bytes. A slow reader never holds the profiler.
//   - A subscriber never waits without a bound. A start that hangs blocks the hub's one
//     goroutine, so that no other is tried, and each window is [Hung] until it returns.
//   - A window that cannot be trusted never counts as good: every [Window] has an
//     [Outcome], and [Check] applies the rules that need the decoded profile.
//
// While there are subscribers ([Hub.Capture], [Hub.Stream]), the hub takes one runtime
// profile after the other, the slices. A slice ends when a subscriber's interval is complete
// or a new subscriber comes. Each subscriber gets exactly the slices of its interval: a
// single slice as the runtime wrote it, several merged.
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

// system is the CPU profiler that the hub uses, with the clocks for the validity of windows:
// those of the process, or a fake. (The real profiler hangs under testing/synctest.)
type system interface {
	// start begins a profile that goes to w when it ends.
	start(w io.Writer) error
	// stop ends the current profile, also one of other code, and returns when it
	// has been written.
	stop()
	// sampling reports whether the process is being sampled, if that is known.
	sampling() (yes, known bool)
	// cpu is the process's processor time so far, user and system.
	cpu() time.Duration
	// asleep grows by the time that the machine is suspended, which the
	// monotonic clock leaves out. Only differences mean something.
	asleep() time.Duration
}

type realSystem struct{}

// start refuses if other code has called runtime.SetCPUProfileRate by itself, where that is
// known: pprof would start, warn on standard error and sample at that rate, and stop would end the
// sampling of that code.
func (realSystem) start(w io.Writer) error {
	if yes, _ := ticking(); yes {
		return errors.New("cpu profiling already in use, by pprof.StartCPUProfile or runtime.SetCPUProfileRate")
	}
	return pprof.StartCPUProfile(w)
}

func (realSystem) stop()                       { pprof.StopCPUProfile() }
func (realSystem) sampling() (yes, known bool) { return ticking() }
func (realSystem) cpu() time.Duration          { return process.ProcessCPU() }
func (realSystem) asleep() time.Duration       { return suspended() }

// HeldByTest reports whether this process runs with -test.cpuprofile: the testing package
// then holds the profiler from before the first test until after the last. The hub answers
// [Busy] without trying. Otherwise a guard that TestMain starts would take the profiler
// first, and the profile of -cpuprofile would be an empty file.
func HeldByTest() bool { return process.TestFlag("cpuprofile") }
