package profiler

import (
	"errors"
	"io"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/process"
)

// profiler is the CPU profiler as the hub sees it: runtime/pprof, or a fake
// (the real one cannot be used under testing/synctest, where it hangs).
type profiler interface {
	// start begins a profile that goes to w when it ends.
	start(w io.Writer) error
	// stop ends the current profile, whoever started it, and returns when it
	// has been written.
	stop()
	// sampling reports whether anybody profiles the process, where that is known.
	sampling() (yes, known bool)
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

func (runtimeProfiler) stop()                       { pprof.StopCPUProfile() }
func (runtimeProfiler) sampling() (yes, known bool) { return ticking() }

// errTaken is the answer to a start while the profiling timer runs.
var errTaken = errors.New("cpu profiling already in use, by pprof.StartCPUProfile or runtime.SetCPUProfileRate")

type systemClocks struct{ epoch time.Time }

func (systemClocks) cpu() time.Duration      { return process.ProcessCPU() }
func (c systemClocks) asleep() time.Duration { return suspended(c.epoch) }

// HeldByTest reports whether this is a test binary that runs with -cpuprofile:
// the testing package then holds the profiler from before the first test until
// after the last. The hub yields, and answers [Busy] without trying; otherwise a
// guard that TestMain starts would take the profiler first, and the profile that
// the person asked for would be an empty file.
func HeldByTest() bool { return held }

// held is worked out before main, so that it costs the hub nothing.
var held = heldByTest(process.TestFlag("cpuprofile"), os.Args, builtAs)

// heldByTest takes the flag's value, the arguments, and builtAs.
func heldByTest(file string, args []string, builtAs func() string) bool {
	if file == "" {
		return false
	}
	// Something else than a test binary may pass the flag on to one. Build tools
	// that leave no word of what they built are believed to have built a test.
	path := builtAs()
	return path == "" || strings.HasSuffix(path, ".test") ||
		strings.HasSuffix(strings.TrimSuffix(args[0], ".exe"), ".test")
}

// builtAs is the path of the program's main package: of a test binary, the go
// command makes it that of the package with .test behind it, unless that is a package
// main: then only the file is named so.
func builtAs() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return info.Path
}
