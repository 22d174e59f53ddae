//go:build !unix && !windows

package process

import "time"

// ProcessCPU is 0 where the system does not say.
func ProcessCPU() time.Duration { return 0 }
