package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// ThreadCPU returns the CPU time of the calling thread, in nanoseconds where
// getrusage would count microseconds. A caller that takes a difference locks the
// goroutine to its thread meanwhile ([runtime.LockOSThread]).
func ThreadCPU() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // each kernel has this clock
	return time.Duration(t.Nano())
}
