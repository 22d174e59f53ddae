package hub

import (
	"fmt"
	"time"
)

// The sentences that people read in a verdict's reason. Each says what happened
// and what to do.
const (
	reasonHeld = "go test -cpuprofile holds the profiler for the whole run; " +
		"run the tests without -cpuprofile, or judge the profile that it writes"
	reasonHung = "starting the profiler hung: somebody else's profile is being written to a client that does not read; " +
		"close the open requests to /debug/pprof/profile"
	reasonParked = "an earlier start of the profiler still hangs behind somebody else's profile; " +
		"close the open requests to /debug/pprof/profile"
	reasonStolen = "somebody else called pprof.StopCPUProfile during the window; " +
		"look for another profiler in the process and let only one of them run"
	reasonUnseen = "somebody else called pprof.StopCPUProfile, or runtime.SetCPUProfileRate(0), during the window, among too many goroutines to see who; " +
		"look for another profiler in the process and let only one of them run"
	reasonZeroed = "somebody else called runtime.SetCPUProfileRate(0) during the window; " +
		"remove the call"
)

func reasonBusy(err error) string {
	return fmt.Sprintf("somebody else is using the profiler (%v); to see who, look in /debug/pprof/goroutine?debug=2 "+
		"for runtime/pprof.profileWriter and the goroutine that created it, and if there is none, for a call of runtime.SetCPUProfileRate", err)
}

func reasonTooLarge(limit int) string {
	return fmt.Sprintf("the profile is larger than %d MiB gzipped; take shorter windows or fewer distinct labels", limit>>20)
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

func reasonUnreleased(d time.Duration) string {
	return fmt.Sprintf("the subscriber left; the profiler was not yet released %v later", d)
}

const reasonLeft = "the subscriber left before the window was complete"
