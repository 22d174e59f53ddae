//go:build !linux

package process

import "time"

// ThreadCPU returns the CPU time of the calling thread. ok is false: only Linux
// is asked.
func ThreadCPU() (cpu time.Duration, ok bool) { return 0, false }
