// Package profiles takes windows of the profiles other than CPU: heap, allocs,
// goroutine, mutex, block, and goroutineleak where the runtime has it.
//
//	var taker profiles.Taker
//	defer taker.Close()
//	err := taker.Begin(kinds.Mutex)      // at the start of a window
//	...
//	p, err := taker.End(kinds.Mutex)     // what happened in it
//	p, err = taker.Take(kinds.Goroutine) // what is there now
//
// # Two sorts
//
// Heap, goroutine and goroutineleak are states, and [Taker.Take] reads them.
// Allocs, mutex and block are totals since the process started, and a window of
// them is a difference: [Taker.Begin] notes the totals, [Taker.End] subtracts them
// stack by stack, and what would be negative is 0. End also notes the totals that
// it has seen, so an End without a Begin covers the time since the End before it,
// at half the cost and without a gap.
//
// The heap and the allocs profile are as of the last garbage collection, and no
// collection is forced to make them younger. Allocations are published by the
// second collection after them at the latest. So a window of allocs in which no
// collection ended says nothing and is refused, and in a program that collects less than
// once a window it is better to leave Begin out: windows that join lose nothing.
//
// # Where they come from
//
// Profiles come from runtime/pprof, and not from the much cheaper record functions
// of package runtime, because these cut stacks at 32 frames from the leaf. What
// they cut off is the root, and with it the handler, the goroutine's bottom frame
// and every "in" clause; two stacks that differ only there become one. A window of
// allocs takes 20 to 120 ms of CPU (BenchmarkSource: 100 and 11,000 stacks), one that
// joins the window before half of that, and most of it is runtime/pprof's.
//
// # What they must not do to the host
//
// Only debug=0 is ever asked for: debug=2 stops the world for a second at 100,000
// goroutines. What a profile would cost is known before it is taken: the number of
// goroutines, the bytes of the runtime's profiling buckets, which are never freed, or the
// number of stacks. Above a limit there is no profile, but an error that says what to do.
// Below it package pace makes windows rarer where they cost too much.
//
// The mutex fraction is the process's. If somebody has set it, theirs is used; if
// it is 0 the taker sets one at the first Begin of mutex, and [Taker.Close] takes it
// back if it is still what the taker set. The block rate cannot be read, and a
// program pays for it (a channel ping-pong 1.4 times its time at one event in
// 100 ms), so it is left alone: the profile is there if somebody else has set a rate.
//
// A program that links this package has heap sampling on (one allocation in
// 512 KiB, [runtime.MemProfileRate]): the linker switches it off only in programs
// that cannot reach runtime/pprof's heap profile, as it would with net/http/pprof.
package profiles
