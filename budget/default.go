package budget

import "github.com/profguard/profguard/internal/scaffold"

// Default returns the budgets of a guard that was given none: what is wrong in
// any program, and nothing that a healthy one does at full load.
//
// The limits on shares leave room: the collector is built to take up to a
// quarter of the CPU, a pipeline of channels was seen to spend a tenth in them,
// while the accidents that these budgets are for start at a third.
func Default() Set {
	return Must(
		`# A loop around a channel that is closed, or around a default case.`,
		`busy-select: /^runtime\.(selectgo|selectnbrecv|selectnbsend)$/ below 30% when process above 0.2 cores`,
		`# Garbage made faster than work gets done.`,
		`gc-thrash: gc below 30% when process above 0.2 cores`,
		`# A debug print that stayed in.`,
		`debug-print: /^fmt\.(Print|Printf|Println)$/ below 20% when process above 0.2 cores`,
		`# Work that belongs before the loop.`,
		`regexp-compile: regexp.compile below 20% when process above 0.2 cores`,
		`# Goroutines that nobody waits for.`,
		`goroutine-flood: goroutines below 50000`,
		`goroutine-growth: goroutines steady`,
		`goroutine-leak: no goroutine leaked`,
	)
}

// Scaffolding lists, as patterns, the functions that "no function" and "no
// package" budgets charge with their flat share only: those that stand at the
// root of every stack. The package documentation says how they, and the
// functions that they call, are treated.
func Scaffolding() []string { return scaffold.Patterns() }
