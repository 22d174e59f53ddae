//go:build !linux && !darwin

package dumps

// children: what they test needs signals, limits and a umask.
var children map[string]func(dir string)
