package profiler

import (
	"fmt"
	"time"
)

// A Window is what a subscriber gets for its interval: a profile when Outcome is
// [OK], otherwise the reason why there is none to rely on.
type Window struct {
	// Data is a gzipped profile.proto, nil unless the profiler delivered one.
	// It stays valid for ever, but other subscribers of the same interval may
	// hold the same bytes: it must not be modified.
	Data []byte

	// Start is when sampling began, with a monotonic reading.
	Start time.Time
	// Asked is the interval that the subscriber wanted.
	Asked time.Duration
	// Elapsed is for how long the profiler was on, by the monotonic clock.
	Elapsed time.Duration
	// CPU is the processor time, user and system, that the process used during
	// Elapsed; 0 on systems that do not tell.
	CPU time.Duration
	// Slices is the number of runtime profiles that Data was made of.
	Slices int

	Outcome Outcome
	// Reason says in one sentence why Outcome is not OK, and what to do about it.
	Reason string

	cause error // the context's error of a canceled window
}

// An Outcome says whether a window can be relied on, and if not, what it was
// lost to.
type Outcome int

const (
	OK        Outcome = iota // the window is whole
	Busy                     // somebody else is using the profiler
	Stolen                   // somebody else ended our profile
	Hung                     // the profiler could not be started, or stopped, in time
	Short                    // the profile covers less time than was asked
	Overrun                  // the window took much longer than was asked
	Suspended                // the machine slept during the window
	Rate                     // the sampling period is not the 10 ms of runtime/pprof
	Starved                  // the samples do not add up to the CPU time used
	Lost                     // the runtime dropped more than 1% of the samples
	TooLarge                 // the profile is larger than the hub keeps
	Broken                   // the profile cannot be read
	Canceled                 // the subscriber's context ended
	Refused                  // the interval asked for is out of range
)

var outcomeNames = [...]string{
	OK: "ok", Busy: "busy", Stolen: "stolen", Hung: "hung", Short: "short",
	Overrun: "overrun", Suspended: "suspended", Rate: "rate", Starved: "starved",
	Lost: "lost", TooLarge: "too large", Broken: "broken", Canceled: "canceled",
	Refused: "refused",
}

// Outcomes are those that a window can have of which somebody is told: neither was
// it taken back nor refused.
func Outcomes() []Outcome {
	var list []Outcome
	for o := range Canceled {
		list = append(list, o)
	}
	return list
}

// String is the outcome in words, as metrics and messages show it.
func (o Outcome) String() string {
	if o < 0 || int(o) >= len(outcomeNames) {
		return fmt.Sprintf("Outcome(%d)", int(o))
	}
	return outcomeNames[o]
}

// Err is nil when the window's outcome is [OK], and otherwise a [*LostError].
func (w *Window) Err() error {
	if w.Outcome == OK {
		return nil
	}
	return &LostError{Outcome: w.Outcome, Reason: w.Reason, cause: w.cause}
}

// lose gives the window an outcome other than OK.
func (w *Window) lose(o Outcome, format string, args ...any) {
	w.Outcome, w.Reason = o, fmt.Sprintf(format, args...)
}

// A LostError says why there is no window to rely on. It unwraps to the
// context's error when the outcome is [Canceled].
type LostError struct {
	Outcome Outcome
	Reason  string

	cause error
}

func (e *LostError) Error() string {
	return fmt.Sprintf("capture cpu profile: %s: %s", e.Outcome, e.Reason)
}

func (e *LostError) Unwrap() error { return e.cause }

// The sentences that people read in a verdict's reason. Each says what happened
// and what to do.
const (
	reasonHeld = "go test -cpuprofile holds the profiler for the whole run; " +
		"run the tests without -cpuprofile, or judge the profile that it writes"
	reasonHung = "starting the profiler hangs: somebody else's profile is being written to a client that does not read; " +
		"close the open requests to /debug/pprof/profile"
	reasonStolen = "somebody else called pprof.StopCPUProfile, or runtime.SetCPUProfileRate(0), during the window; " +
		"look for another profiler in the process and let only one of them run"
	reasonUnreleased = "the subscriber left; the profiler was not yet released 200ms later"
)

var reasonTooLarge = fmt.Sprintf("the profile is larger than %d MiB gzipped; take shorter windows or fewer distinct labels", maxProfile>>20)

func reasonBusy(err error) string {
	return fmt.Sprintf("somebody else is using the profiler (%v); to see who, look in /debug/pprof/goroutine?debug=2 "+
		"for runtime/pprof.profileWriter and the goroutine that created it, and if there is none, for a call of runtime.SetCPUProfileRate", err)
}

// reasonShort is for a profile that says of itself that it is too short. Its time
// begins when the runtime's goroutine that writes it gets a processor, not when
// sampling begins, so whatever is busy enough makes it so: beside 300 goroutines that
// spin on two cores, a profile of 2.0 s was seen to say 0.3 ms.
func reasonShort(covers, elapsed time.Duration) string {
	return fmt.Sprintf("the profile covers %v of a window of %v; a machine with far more to run than processors does that by itself, "+
		"because the runtime began its profile late; if it is idle, look for another profiler in the process",
		covers.Round(time.Millisecond), elapsed.Round(time.Millisecond))
}

// reasonUnsampled is for a profile without samples. On a machine that has far more to
// run than processors a window was seen to have none for 250 ms of CPU; only in a
// process that has called C does a library come into question.
func reasonUnsampled(cpu time.Duration, calledC bool) string {
	text := fmt.Sprintf("no sample for %v of CPU time; a machine with far more to run than processors does that by itself", cpu.Round(time.Millisecond))
	if calledC {
		return text + "; if it is not, a C library may have replaced the SIGPROF handler"
	}
	return text + "; if it is not, look for another user of SIGPROF in the process"
}
