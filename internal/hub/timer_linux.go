package hub

import "golang.org/x/sys/unix"

// ticking reports whether the process's profiling timer runs. The runtime sets it
// with the rate and clears it with rate 0, so it tells, for 0.3 us and however
// many goroutines there are, whether anybody is profiling: runtime/pprof, or
// somebody who has called runtime.SetCPUProfileRate by itself, or a C library.
func ticking() (yes, known bool) {
	t, err := unix.Getitimer(unix.ItimerProf)
	return t.Interval != (unix.Timeval{}), err == nil
}
