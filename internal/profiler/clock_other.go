//go:build !linux

package profiler

import "time"

// suspended is not known. A monotonic clock that stands still while the machine sleeps leaves
// a window whole, and one that goes on makes it an overrun.
func suspended() time.Duration { return 0 }

// ticking is not known on systems that golang.org/x/sys cannot ask.
func ticking() (yes, known bool) { return false, false }
