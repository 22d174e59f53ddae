//go:build go1.27 || goexperiment.goroutineleakprofile

package budget

// hasLeaks says that the runtime has the profile of leaked goroutines. To ask package
// runtime/pprof would link it, and its profile of the heap makes the runtime sample allocations.
const hasLeaks = true
