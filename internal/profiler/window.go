package profiler

import (
	"fmt"
	"time"

	"github.com/profguard/profguard/internal/decode"
)

// A Window is the result of a subscriber's interval: a profile when Outcome is [OK], otherwise
// the reason why there is no profile to rely on.
type Window struct {
	// The profile; empty unless the profiler delivered one. Other subscribers may hold the same
	// bytes: they must not be modified.
	decode.Source

	// Start is when sampling began, with a monotonic reading.
	Start time.Time
	// Asked is the interval that the subscriber wanted.
	Asked time.Duration
	// Elapsed is for how long the profiler was on, by the monotonic clock.
	Elapsed time.Duration
	// CPU is the processor time, user and system, that the process used during
	// Elapsed; 0 where the system does not say.
	CPU time.Duration
	// Slices is the number of runtime profiles that it is made of, and Size that of their bytes.
	Slices, Size int

	Fed bool // other code has taken it

	slept time.Duration // for how long the machine was suspended meanwhile

	Outcome Outcome
	// Reason says in one sentence why Outcome is not OK, and what to do about it.
	Reason string
}

// An Outcome says whether a window can be relied on, and if not, why it was lost.
type Outcome int

const (
	OK        Outcome = iota // the window is whole
	Busy                     // other code used the profiler
	Stolen                   // other code stopped the guard's profile
	Hung                     // the profiler could not be started or stopped in time
	Short                    // the profile covers less time than it should
	Overrun                  // the window took much longer than it should
	Suspended                // the machine slept during the window
	Rate                     // other code has set another sampling rate
	Starved                  // the samples do not add up to the CPU time that was used
	Lost                     // the runtime dropped more than 1% of the samples
	TooLarge                 // the compressed profile is larger than 8 MiB
	Broken                   // the profile cannot be read
	Canceled                 // the subscriber's context ended; the last, because it is not reported
)

var outcomeNames = [...]string{
	OK: "ok", Busy: "busy", Stolen: "stolen", Hung: "hung", Short: "short",
	Overrun: "overrun", Suspended: "suspended", Rate: "rate", Starved: "starved",
	Lost: "lost", TooLarge: "too_large", Broken: "broken", Canceled: "canceled",
}

// String is the outcome as metrics and messages show it.
func (o Outcome) String() string {
	if o < 0 || int(o) >= len(outcomeNames) {
		return fmt.Sprintf("Outcome(%d)", int(o))
	}
	return outcomeNames[o]
}

// Err is nil when the window's outcome is [OK], and otherwise says why it is not.
func (w *Window) Err() error {
	if w.Outcome == OK {
		return nil
	}
	return fmt.Errorf("capture cpu profile: %s: %s", w.Outcome, w.Reason)
}

// lose gives the window an outcome other than OK.
func (w *Window) lose(o Outcome, format string, args ...any) {
	w.Outcome, w.Reason = o, fmt.Sprintf(format, args...)
}

// Backoff is how long to leave the profiler alone after the window. before is the backoff
// after the window before. It is 1, 2, 4, 8, then 15 minutes while the profiler is in use or
// the machine is overloaded, and 0 after a good window. Other outcomes do not change it. Nor
// does an overrun by less than the length of the window: a delay of 300 ms spoils a window
// of a second, but is no reason to wait for a minute. A minute lets a request to /debug/pprof
// pass, which takes 30 s by default.
func (w *Window) Backoff(before time.Duration) time.Duration {
	switch {
	case w.Outcome == OK:
		return 0
	case w.Outcome == Busy, w.Outcome == Stolen, w.Outcome == Hung, w.Outcome == Overrun && w.Elapsed >= 2*w.Asked:
		return min(max(2*before, time.Minute), 15*time.Minute)
	}
	return before
}

// The sentences that people read in a verdict's reason: what happened, and what to do.
const (
	reasonHeld = "go test -cpuprofile holds the profiler for the whole run; " +
		"run the tests without -cpuprofile, or judge the profile that it writes"
	remedyHung = "the machine is overloaded, or another profile is being written to a client that does not read, " +
		"which blocks any start: close the open requests to /debug/pprof/profile"
	reasonStolen = "other code called pprof.StopCPUProfile, or runtime.SetCPUProfileRate(0), during the window; " +
		"look for another profiler in the process and let only one of them run"
)

var reasonTooLarge = fmt.Sprintf("the profile is larger than %d MiB gzipped; take shorter windows or fewer distinct labels", maxProfile>>20)

func reasonBusy(err error) string {
	return fmt.Sprintf("other code is using the profiler (%v); to see who, look in /debug/pprof/goroutine?debug=2 "+
		"for runtime/pprof.profileWriter and the goroutine that created it, and if there is none, for a call of runtime.SetCPUProfileRate", err)
}
