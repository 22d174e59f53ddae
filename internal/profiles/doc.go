// Package profiles takes windows of the profiles other than CPU: heap, allocs,
// goroutine, mutex, block, and goroutineleak where the runtime has it (since Go 1.27).
//
//	var taker profiles.Taker
//	defer taker.Close()
//	p, err := taker.Take(kinds.Goroutine) // what is there now
//	p, err = taker.Take(kinds.Mutex)      // what happened since the Take before
//
// # Two sorts
//
// Heap, goroutine and goroutineleak are states. Allocs, mutex and block are totals since
// the process started, and a profile of them is a difference: [Taker.Take] subtracts the
// totals of the Take before, stack by stack. So there is no gap between two windows, and
// one profile of the runtime a window.
//
// The heap and the allocs profile are as of the last garbage collection, and no
// collection is forced to update them. So a window of allocs in which no collection ended
// says nothing and is refused, and the next one covers its time. Only a profile of
// goroutineleak runs a collection, with which the runtime finds the leaks.
//
// # Where they come from
//
// Profiles come from runtime/pprof, and not from the much cheaper record functions
// of package runtime, because these keep only 32 frames from the leaf, without the handler,
// the goroutine's first function and the functions of "in" clauses. A window of allocs takes
// 7 to 50 ms of CPU (BenchmarkSource: 100 and 11,000 stacks); most of it is runtime/pprof's.
//
// # Safety of the host
//
// Profiles are only taken with debug=0: debug=2 stops the world for a second at 100,000
// goroutines. The cost is known before, by the number of goroutines or the bytes of the
// runtime's profiling buckets. Above a limit there is no profile, but an error that says what
// to do. Below it package pace makes windows less frequent if they cost too much.
//
// The mutex fraction is the process's. If the host has set it, that is used. If it is 0,
// the taker sets one at the first Take of mutex, and [Taker.Close] sets it back, unless
// it was changed meanwhile. The block rate cannot be read, and costs the program CPU (at one
// event in 100 ms, a channel ping-pong takes 1.4 times as long), so only the host sets it.
//
// A program that links this package has heap sampling on (one allocation in
// 512 KiB, [runtime.MemProfileRate]): the linker switches it off only in programs
// that cannot reach runtime/pprof's heap profile, as it would with net/http/pprof.
package profiles
