// Package slowed keeps tests of the examples from judging by microseconds, or by what
// a cheap function takes, where everything takes several times as long.
package slowed

import "testing"

// Skip skips a test under the race detector, which no budget in microseconds
// survives, nor one on a function that is cheap beside the detector's own.
func Skip(t testing.TB) {
	t.Helper()
	if byRace {
		t.Skip("the race detector is on: CPU is several times as much, and not of the same functions")
	}
}
