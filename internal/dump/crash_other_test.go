//go:build !linux && !darwin

package dump

// children: what they test needs signals, limits and a umask.
var children map[string]func(dir string)
