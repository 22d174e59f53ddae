//go:build !unix && !windows

package figures

import "time"

// processCPU is 0 where the system does not say.
func processCPU() time.Duration { return 0 }
