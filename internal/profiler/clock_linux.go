package profiler

import (
	"time"

	"golang.org/x/sys/unix"
)

// suspended is the time that the machine has been suspended since it was booted:
// what CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC, which is Go's. Neither jumps
// when the wall clock is set.
func suspended() time.Duration {
	var monotonic, boot unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &monotonic) // each kernel has these clocks
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot)
	return time.Duration(boot.Nano() - monotonic.Nano())
}

// ticking reports whether the process's profiling timer runs. The runtime sets it
// with the rate and clears it with rate 0. So it tells whether any code samples the process:
// runtime/pprof, a bare runtime.SetCPUProfileRate, or a C library.
func ticking() (yes, known bool) {
	t, err := unix.Getitimer(unix.ItimerProf)
	return t.Interval != (unix.Timeval{}), err == nil
}
