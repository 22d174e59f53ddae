// Package profiles takes windows of the profiles other than CPU: heap, allocs,
// goroutine, mutex, block, and goroutineleak where the runtime has it. What it
// hands out is what runtime/pprof would have written, and taking it does not
// hurt the host.
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
// collection ended says nothing and is refused ([NoCollection]), and in a program
// that collects less than once a window it is better to leave Begin out: windows
// that join lose nothing.
//
// # What it is made of
//
// Profiles come from runtime/pprof, and not from the much cheaper record functions
// of package runtime, because these cut stacks at 32 frames from the leaf. What
// they cut off is the root, and with it the handler, the goroutine's bottom frame
// and every "in" clause; two stacks that differ only there become one. A window of
// allocs, with the totals at both ends, by BenchmarkSource (Go 1.26, two cores with far more to do):
//
//	                     100 sites        11,000 sites
//	runtime's records    0.2 ms           12 ms
//	runtime/pprof, twice 3.1 MB           11 MB
//	Taker                6.0 MB           27 MB
//	  its CPU            19 ms            121 ms
//
// Half of that CPU and more is runtime/pprof's. A window that joins the one before has
// half of the cost: 10 to 60 ms a minute, at most 0.1% of a core. What the records would
// save is not worth a wrong answer.
//
// # What it must not do to the host
//
// Only debug=0 is ever asked for: debug=2 stops the world for a second at 100,000
// goroutines. What a profile would cost is known before it is taken: the number of
// goroutines, or the bytes of the runtime's profiling buckets, which are never
// freed. Above a limit the profile is skipped. Below it, each kind pays for itself:
// after a profile that cost c of CPU, the next may be taken c/[Taker.Share] later,
// so that the kind stays below that share of one core whatever it costs. A window pays
// for both its ends when it has ended.
//
// Every refusal is a [SkipError] with a [Reason] fit for a metric's label and a
// sentence that says what to do.
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
//
// # Memory
//
// A taker holds about 60 bytes for each stack of a kind that is a difference. While it
// works there are a profile of up to 8 MiB and, of a difference, its table of package
// decode, about 0.6 KB for each stack; maxBucketBytes and maxStacks bound how many there
// are.
package profiles
