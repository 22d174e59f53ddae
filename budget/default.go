package budget

// Default returns the budgets of a guard that has no others. They fail on faults that no program
// should have, and never fail a healthy program at full load.
//
//	# A loop around a channel that is closed, or around a default case.
//	busy-select: /^runtime\.(selectgo|selectnbrecv|selectnbsend)$/ below 30% when process above 0.03 cores
//	# Garbage made faster than work gets done.
//	gc-thrash: gc below 40% when process above 0.03 cores for 3 windows
//	# A debug print that stayed in, or a dump of each request.
//	debug-print: /^fmt\.(Append|Fprint|Print|Sprint)/ below 25% when process above 0.03 cores
//	# Work that belongs before the loop.
//	regexp-compile: regexp.compile below 3% when process above 0.03 cores
//	# Goroutines that nobody waits for.
//	goroutine-flood: goroutines below 50000
//	# A function that costs more than in the build before; it needs a DumpDir, or a Baseline.
//	release-growth: no function grows above 5 points when process above 0.03 cores
//	# Only where the runtime has the profile: since Go 1.27, before with GOEXPERIMENT=goroutineleakprofile.
//	goroutine-leak: no goroutine leaked
//
// Use them together with budgets of your own: append(budget.Default(), budget.Must(...)...).
//
// Shares are judged while the service uses more than 0.03 cores, because an idle service has large
// shares of next to nothing.
//
// The limits on shares leave room. At full load, healthy programs spent up to 17% in select, 14% in
// the collector, 4% in printing and nothing in compiling expressions. Broken ones spent 95%, 49%, 40%
// and 5% or more. The collector may take more for a moment, while a service fills its caches, so
// it has three windows to come down.
func Default() Set {
	// These are values and not sentences, so that a program without sentences of its own does
	// not link the parser.
	busy := Condition{Figure: FigureProcess, Amount: Amount{0.03, "cores"}}
	set := Set{
		{Name: "busy-select", Subject: `/^runtime\.(selectgo|selectnbrecv|selectnbsend)$/`, Limit: Amount{30, "%"}, When: busy},
		{Name: "gc-thrash", Subject: "gc", Limit: Amount{40, "%"}, When: busy, ForWindows: 3},
		{Name: "debug-print", Subject: `/^fmt\.(Append|Fprint|Print|Sprint)/`, Limit: Amount{25, "%"}, When: busy},
		{Name: "regexp-compile", Subject: "regexp.compile", Limit: Amount{3, "%"}, When: busy},
		{Name: "goroutine-flood", Subject: "goroutines", Limit: Amount{50000, ""}},
		{Name: "release-growth", Subject: "no function", Rule: RuleGrows, Limit: Amount{5, "points"}, When: busy},
	}
	if hasLeaks {
		set = append(set, Budget{Name: "goroutine-leak", Subject: "no goroutine", Rule: RuleLeaked})
	}
	return set
}
