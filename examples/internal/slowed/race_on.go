//go:build race

package slowed

// byRace says that the race detector is on.
const byRace = true
