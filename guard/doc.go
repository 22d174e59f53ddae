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
// minute, and profiles of the other kinds if a budget asks for them. It compares them with
// budgets, which package [github.com/profguard/profguard/budget] explains. The results
// are metrics (Config.Registerer), events ([Event]: OpenTelemetry,
// log/slog, a callback), profiles on disk (Config.DumpDir), a debug page
// ([Guard.Handler]) and [Guard.Status].
//
// [Check] compares a piece of work with the same budgets in a test.
//
// A window starts once every Config.Every, at a random moment of its period, and at once
// if the CPU use of the process jumps. Each window has a verdict of its own, pass, fail
// or inconclusive, and adds to the evidence of the windows before it. docs/alerts.md says
// when an alert fires, when it ends, and how long that takes.
//
// # Cost, and safety of the host
//
// After Start nothing in the guard panics, blocks or leaks into the program. A fault becomes a
// metric, an event and a part of Status. If the guard costs more than 1% of one core, it takes
// fewer windows. Above 3%, over half a minute or more, it pauses for a quarter of an hour.
//
// The runtime has one CPU profiler, and the guard shares it. The guard never deliberately stops a
// profile that other code started, notices when its own was stopped, and backs off while other code
// is profiling: for a minute, then for 2, 4, 8 and 15. At the defaults, a profile of 30 seconds that a
// person takes at /debug/pprof costs at most one window. A profiler that runs all the time, such as
// the agent of Pyroscope or Datadog, costs nearly all windows, unless it feeds the guard
// ([Guard.Feed]).
//
// There is one guard in a process. Call [Guard.Stop] before syscall.Exec. Neither
// [Start] nor [Check] can be used in a bubble of testing/synctest: the runtime's
// profiler hangs there.
package guard
