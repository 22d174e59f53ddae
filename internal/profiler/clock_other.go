//go:build !linux

package profiler

import "time"

// epoch is any fixed instant.
var epoch = time.Now()

// suspended is how far the wall clock has run ahead of the monotonic clock since epoch. Both
// a suspend and setting the clock change it. The window is lost in both cases, as no clock
// tells them apart.
func suspended() time.Duration {
	now := time.Now()
	return now.Round(0).Sub(epoch.Round(0)) - now.Sub(epoch)
}

// ticking is not known on systems that golang.org/x/sys cannot ask.
func ticking() (yes, known bool) { return false, false }
