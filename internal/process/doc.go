// Package process reads what this process uses (CPU, memory, goroutines, garbage
// collection), and which functions are linked into it.
//
// # What it uses
//
// A reading stops nothing, allocates nothing and takes a few
// microseconds, so that the guard can afford one a second.
//
// A [Reader] makes Snapshots; [Between] turns two of them into Figures. What
// each figure is worth:
//
//   - CPU is the kernel's account of the process, user and system time of all
//     threads. Windows counts it in ticks of 15.6 ms.
//   - RSS on Linux is the second field of /proc/self/statm. Kernels 6.2 to about
//     6.16 add it up lazily per CPU, which can be off by some megabytes on
//     machines with many cores. Elsewhere, or without /proc, it is what the Go
//     runtime has mapped and not given back, which is more than what is resident
//     of it and does not include memory of C code.
//   - Heap is the bytes in objects that are live, or dead and not yet swept.
//   - Waited is how long goroutines and threads were ready to run and had no core.
//   - GC is the share of the process's CPU that garbage collection took, without the
//     collections that profguard forces itself; see [Force].
//
// # The share of the garbage collector
//
// The runtime estimates its CPU classes from the time that its Ps spend in each,
// and adds them up only at the end of a collection. Divided by the kernel's CPU
// time between the same two readings they are wrong twice: a collection that
// ended just after the first reading counts in full, and on a busy machine the
// time that a P waits for a core counts as used. Measured on two shared cores
// against the CPU profile's share of the collector's functions (0.39, 0.50, 0.46
// in three allocating programs) that quotient was 1.36, 0.49, 0.54. So both
// sides come from the runtime, from one end of a collection to another: 0.41,
// 0.41, 0.43. Idle marking counts, because it is CPU that somebody pays for and
// profiles show it. The runtime charges a pause to all Ps; here it is charged to
// the one that works. Sweeping and write barriers are not in it.
//
// If no collection ended between two snapshots, one may have run all the time, and
// what it cost is told when it ends: GC is 0, and GCKnown false. The collections that
// profguard forces end the one that runs, so that GC is known after one of them.
//
// # What is linked
//
// [Functions] names the functions of the running program, so that a budget on a
// function that the program does not have can be called vacuous instead of passing
// for ever.
//
// Every Go program carries a pc-line table, which the runtime needs for
// tracebacks. Neither -ldflags="-s -w" nor strip removes it, and its names are
// those that profiles show. It begins with a header, and the name table follows:
//
//	pcHeader: magic, sizes, offsets | name\x00name\x00... | files | lines | functions
//
// The name table also holds the functions that exist only inlined into others
// and have no code of their own. That is why it is read from the executable:
// walking the program's text with [runtime.FuncForPC] needs no file, but sees at
// most the innermost inlined function at each address that it happens to probe.
//
// [Functions] looks for a header that makes sense, in all of the file. A table counts
// only if it names this package and the runtime, so neither a Go program embedded in
// this one nor an executable that has since been replaced by something else is taken
// for it.
//
// [Missing] says which patterns match none of these names, and goes through them for
// the one that somebody meant who misspelt it.
//
// # Limits
//
// Functions that the compiler removed altogether are not named, and profiles
// cannot show them either. Functions in plugins and in C code are not named.
// Where the Go code is a shared library in somebody else's program, where the
// executable may not be read, or is packed or obfuscated, Functions returns an
// error: nothing can be said then.
package process
