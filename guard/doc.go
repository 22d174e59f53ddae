// Package guard makes a process watch its own profile.
//
// A service adds one call:
//
//	g, err := guard.Start(guard.Config{})
//	if err != nil {
//		return err
//	}
//	defer g.Stop()
//
// From then on the process takes a CPU profile of itself for 10 seconds of every
// minute, and profiles of the other kinds where a budget asks for them, and holds
// them against budgets, which package
// [github.com/profguard/profguard/budget] explains. What is found becomes metrics
// ([Guard] is a Prometheus collector), events ([Event]: OpenTelemetry, log/slog, a
// callback), profiles on disk (Config.DumpDir), a debug page ([Guard.Handler]) and
// [Guard.Status].
//
// A test holds the same budgets against a piece of work:
//
//	func TestCheckout(t *testing.T) {
//		guard.Check(t, budget.Must("no function above 20% cumulative"), func(ctx context.Context) {
//			serveOneCheckout(ctx)
//		})
//	}
//
// # From a window to an alarm
//
// A window starts once every Config.Every, at a random moment of its period, so
// that the processes of a fleet do not profile in step, and at once when the CPU
// use of the process jumps. It is judged by itself: pass, fail or inconclusive, and
// what it showed is added to the evidence of the windows before it. Each budget
// has a state:
//
//	inactive -> pending -> firing -> resolved -> inactive
//
// It is pending while windows fail, and fires when the evidence of all windows is
// beyond doubt: after five to ten windows in a blatant case (twenty to thirty, if it
// begins in the first half hour of the process), later near the limit, and falsely
// about once in a hundred months over all budgets. It is resolved when what came
// since proves that the budget is kept again: of a limit of 20% and a culprit that was
// fixed to 5%, after three windows of 100 samples or more, 13 of 40 or 27 of 20; closer
// to the limit later, as at 10%, after 3 windows of 300, 6 of 100, 23 of 40 or 47 of 20.
// One that fires again within an hour of windows takes twice as long each time, up to
// 8 times. A budget with "for"
// fires after failing windows in a row instead, and an "absent" one at the first
// hit. An inconclusive window changes no state. An "absent" budget that fires again
// soon takes twice as many samples without a hit to be resolved each time, up to 16
// times what a pass takes, so that what is hit now and then does not flap.
//
// # What it costs, and what it must not do
//
// After Start nothing in the guard panics, blocks or leaks into the host; what goes
// wrong becomes a metric, an event and a part of Status. The guard measures its own
// cost; above 1% of one core it halves its cadence, above 3% it rests for a quarter
// of an hour. Somebody else's code (loggers, exporters, registries, callbacks,
// counters, disks) is called on goroutines of their own, with short queues: what
// hangs loses events, not the host's time.
//
// The runtime has one CPU profiler, and the guard shares it: it never stops a
// profile that it did not start, notices when its own was stopped, and backs off
// while somebody else is profiling. A window that was lost to that, or was cut,
// starved or slept through, is counted by what it was lost to, and judged
// inconclusive.
//
// There is one guard in a process. Call [Guard.Stop] before syscall.Exec. Neither
// [Start] nor [Check] can be used in a bubble of testing/synctest: the runtime's
// profiler hangs there.
package guard
