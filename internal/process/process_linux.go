package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// ThreadCPU returns the CPU time of the calling thread, in nanoseconds where
// getrusage would count microseconds. A caller that takes a difference locks the
// goroutine to its thread meanwhile ([runtime.LockOSThread]). ok is false on
// systems that do not say.
func ThreadCPU() (cpu time.Duration, ok bool) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
