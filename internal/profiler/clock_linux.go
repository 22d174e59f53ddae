package profiler

import (
	"time"

	"golang.org/x/sys/unix"
)

// suspended is the time that the machine has been suspended since it was booted:
// what CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC, which is Go's. Neither jumps
// when the wall clock is set.
func suspended() time.Duration {
	// A preemption between the readings would pass for sleep: the least of three is
	// the truest.
	ahead := func() time.Duration {
		monotonic := reading(unix.CLOCK_MONOTONIC)
		return reading(unix.CLOCK_BOOTTIME) - monotonic
	}
	return min(ahead(), ahead(), ahead())
}

func reading(clock int32) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// ticking reports whether the process's profiling timer runs. The runtime sets it
// with the rate and clears it with rate 0, so it tells, for 0.3 us and however
// many goroutines there are, whether anybody is profiling: runtime/pprof, or
// somebody who has called runtime.SetCPUProfileRate by itself, or a C library.
func ticking() (yes, known bool) {
	t, err := unix.Getitimer(unix.ItimerProf)
	return t.Interval != (unix.Timeval{}), err == nil
}
