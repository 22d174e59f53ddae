//go:build !unix && !windows

package hub

import "time"

// processCPU is unknown here; rules that need it do not apply.
func processCPU() time.Duration { return 0 }
