//go:build !linux

package hub

// ticking is not known on systems that golang.org/x/sys cannot ask.
func ticking() (yes, known bool) { return false, false }
