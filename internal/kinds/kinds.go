// Package kinds has the kinds of profile, a line for each. Where a kind has a rule of its
// own, code compares its name.
package kinds

// A Kind is a kind of profile.
type Kind struct {
	Name     string // as runtime/pprof and the language of budgets have it
	Taken    Taken
	Sampling Sampling
	// Count and Amount are the types of its values in a profile: the type of the number of
	// events or objects, and that of their seconds or bytes, "" for a kind that is counted.
	Count, Amount string
	HasLabels     bool // the runtime writes pprof labels into its samples
}

// Taken is how a profile comes from the runtime.
type Taken int

const (
	Recorded   Taken = iota + 1 // during a window
	State                       // at one moment
	Difference                  // as the difference between the two ends of a window
)

// A Sampling is how the values of a profile are sampled.
type Sampling int

const (
	Counted    Sampling = iota + 1 // all are in the profile; only goroutines are
	Timed                          // CPU time: a sample for every so many milliseconds of it
	Memory                         // objects and bytes: one allocation in so many bytes, scaled up
	Contention                     // time spent waiting: one event in so many, scaled up
)

// The names of the kinds.
const (
	CPU           = "cpu"           // CPU time
	Heap          = "heap"          // live memory, as of the last collection
	Allocs        = "allocs"        // allocated memory
	Goroutine     = "goroutine"     // goroutines by stack
	GoroutineLeak = "goroutineleak" // goroutines that are blocked for ever. "no goroutine leaked" uses it
	Mutex         = "mutex"         // time that others wait for locks, charged to those who hold them
	Block         = "block"         // time that goroutines are blocked
)

// NeedsLeaks says how to get a runtime that has the profile of leaked goroutines.
const NeedsLeaks = "build with Go 1.27 or later (with Go 1.26: GOEXPERIMENT=goroutineleakprofile)"

// All are the kinds of profile.
var All = []Kind{
	{CPU, Recorded, Timed, "samples", "cpu", true},
	{Heap, State, Memory, "inuse_objects", "inuse_space", false},
	{Allocs, Difference, Memory, "alloc_objects", "alloc_space", false},
	{Goroutine, State, Counted, "goroutine", "", true},
	{GoroutineLeak, State, Counted, "goroutineleak", "", true},
	{Mutex, Difference, Contention, "contentions", "delay", false},
	{Block, Difference, Contention, "contentions", "delay", false},
}

// Of returns the kind of that name, or the zero Kind. It is a pointer because a dozen
// callers with a copy each make 10 KB of code.
func Of(name string) *Kind {
	for i := range All {
		if All[i].Name == name {
			return &All[i]
		}
	}
	return &Kind{}
}

// Names are the kinds that a budget may name after "of". Leaked goroutines have a rule instead.
func Names() []string {
	var names []string
	for _, k := range All {
		if k.Name != GoroutineLeak {
			names = append(names, k.Name)
		}
	}
	return names
}
