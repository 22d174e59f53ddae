// Package slowed keeps tests of the examples from judging by microseconds where
// everything takes several times as long.
package slowed

import "testing"

// Skip skips a test under the race detector, which no budget in microseconds
// survives.
func Skip(t testing.TB) {
	t.Helper()
	if byRace {
		t.Skip("the race detector is on: CPU is several times as much, and the budgets are in microseconds")
	}
}
