package process

import (
	"syscall"
	"time"
)

// ProcessCPU returns the CPU time of all threads, past and present.
func ProcessCPU() time.Duration {
	self, _ := syscall.GetCurrentProcess() // a constant
	var created, exited, kernel, user syscall.Filetime
	_ = syscall.GetProcessTimes(self, &created, &exited, &kernel, &user) // a process may always ask about itself
	return ticks(kernel) + ticks(user)
}

// ticks converts a duration, which Windows counts in units of 100 ns. (The
// method Nanoseconds is for dates: it subtracts an epoch.)
func ticks(t syscall.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}
