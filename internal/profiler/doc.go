// Package profiler shares the process's one CPU profiler among everyone on our side
// who wants a profile: the guard's loop, parallel checks, requests for a live
// profile.
//
// The runtime has a single CPU profiler without an owner. A second start fails,
// a stop stops anybody's profile, and a start can hang while somebody else's
// profile drains into a slow connection. So there is one [Hub] for the process
// ([Process]), and it keeps four rules:
//
//   - It never stops what it did not start. The runtime writes a profile only
//     when it ends, so a write before our own stop means that somebody else
//     ended our window ([Stolen]); the hub then stops nothing, and the profile
//     that the other has begun is whole. Where the system tells who samples (Linux) it does
//     not start either beside a rate that somebody has set by itself
//     (runtime.SetCPUProfileRate), which our stop would end, and frees the profiler if
//     somebody has left it dead (runtime.SetCPUProfileRate(0)).
//   - It captures into its own bounded memory, releases the profiler, and only
//     then hands out bytes. A slow reader never holds the profiler.
//   - It never waits without a bound. A start that hangs leaves one parked
//     goroutine and a hub that answers [Hung] at once until it returns.
//   - A window that cannot be trusted is never passed off as good: every
//     [Window] carries an [Outcome], and [Check] applies the rules that need the
//     decoded profile.
//
// # How sharing works
//
// A subscriber asks for one interval ([Hub.Capture]) or for a sequence of fresh
// blocks ([Hub.Stream]). While there are subscribers, the hub takes one runtime
// profile after the other, the slices. It cuts when a subscriber's interval is
// complete or a new one wants in, and gives each subscriber exactly the slices
// that it was there for: a single slice as the runtime wrote it, several merged. A
// stream asks for one block after the other.
//
//	A     |--------------------------|
//	B              |----------------------|
//	cuts  |        |                 |    |
//	      slice 1   slice 2           slice 3       A gets 1+2, B gets 2+3
//
// Each cut costs a stop and a start, about 3 ms of CPU, so there are at most 20 a
// second: who comes during a slice waits for a cut that is due anyway within
// 100 ms, otherwise until the slice is 50 ms old. Nothing is sampled during the
// few milliseconds of a cut; [Window.Elapsed] and [Window.CPU] leave them out.
//
// The hub runs a goroutine only while it has subscribers.
package profiler
