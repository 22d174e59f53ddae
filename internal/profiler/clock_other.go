//go:build !linux

package profiler

import "time"

// epoch is any fixed instant.
var epoch = time.Now()

// suspended is how far the wall clock has run ahead of the monotonic clock since
// epoch. A suspend moves it, but so does setting the clock; without a clock that
// tells them apart, the window is given up in both cases.
func suspended() time.Duration {
	now := time.Now()
	return now.Round(0).Sub(epoch.Round(0)) - now.Sub(epoch)
}

// ticking is not known on systems that golang.org/x/sys cannot ask.
func ticking() (yes, known bool) { return false, false }
