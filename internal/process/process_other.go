//go:build !linux

package process

import "time"

// ThreadCPU is 0: only Linux is asked.
func ThreadCPU() time.Duration { return 0 }
