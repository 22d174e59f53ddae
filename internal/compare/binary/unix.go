//go:build unix

package binary

// Supported says that the clock of CPU time is known for this system.
const Supported = true
