package budget

import "time"

// A Budget is one declared limit on a profile or on the process. It is a plain value: [Parse]
// makes it from a sentence, a Go literal will do as well, and [Budget.Validate] says whether
// it makes sense.
//
//	budget.Budget{Subject: "no function", Limit: budget.Amount{Value: 20, Unit: "%"}}
//
// is the sentence "no function above 20% cumulative".
type Budget struct {
	// Name is the name of the budget in metrics, events and dumps; "" means its sentence.
	Name string

	// Subject is what the budget is about:
	//
	//	"no function", "no package"        each function or package by itself
	//	"process"                          the whole profile
	//	"goroutines", "heap", "rss", "gc"  a figure of the process
	//	"no goroutine"                     with the rule "leaked"
	//	anything else                      a pattern, see the package documentation
	Subject string

	// Rule says how the subject is judged.
	Rule Rule

	// Limit is the largest amount that is allowed. Its unit decides what is compared. A
	// "steady" budget may have a limit too; "absent" and "leaked" have none.
	Limit Amount

	// Flat counts only a function's own body; otherwise the functions that it calls count
	// too (cumulative).
	Flat bool

	// Per is the unit of work that a duration, an amount of bytes or a count is divided by:
	// "request", "call", or a counter of the service's Prometheus registry, which labels
	// may restrict: http_requests_total{code="200"}.
	Per string

	// Kind is the kind of profile. For CPU it is "": Parse sets that for "of cpu" and for no
	// kind. In a literal KindCPU means the same. Figures of the process have no kind.
	Kind Kind

	// Except exempts functions and packages from a "no function" or "no package" budget, by
	// patterns or by names as reports print them. A name that is not a Go name
	// is in double quotes, as in a sentence. A day may stand behind it, until whose end in UTC it
	// holds: "encoding/json until 2027-01-31". The single word "none" charges every function of a stack,
	// also those of the way in and the floor.
	Except []string

	// In, a pattern, restricts the budget to stacks with a function that it matches, and in
	// these to the functions that it calls.
	In string

	// Where restricts the budget to samples with these pprof labels.
	Where map[string]string

	// When is a condition: while it does not hold, the verdict is inconclusive ("idle").
	When Condition

	// ForWindows and ForTime say how long the budget must fail, window after window, before
	// the guard fires. At most one is set. If both are zero, the guard uses the evidence of
	// all windows, which is the better default.
	ForWindows int
	ForTime    time.Duration
}

// A Rule says how the subject of a budget is judged.
type Rule string

const (
	RuleLimit  Rule = ""       // by its limit: "above" after "no function" and "no package", otherwise "below"
	RuleAbsent Rule = "absent" // it is not in the profile
	RuleGrows  Rule = "grows"  // by its limit on the growth since a baseline
	RuleSteady Rule = "steady" // it does not grow over hours
	RuleLeaked Rule = "leaked" // of "no goroutine": none is blocked for good
)

// A Kind is a kind of profile.
type Kind string

const (
	KindCPU       Kind = "cpu"
	KindHeap      Kind = "heap"   // live memory, as of the last collection
	KindAllocs    Kind = "allocs" // what was allocated in the window
	KindGoroutine Kind = "goroutine"
	KindMutex     Kind = "mutex" // delays caused by holders of locks
	KindBlock     Kind = "block" // time spent blocked
)

// A Figure is a figure of the process.
type Figure string

const (
	FigureProcess    Figure = "process"    // the CPU that it uses, in cores
	FigureGoroutines Figure = "goroutines" // their number
	FigureHeap       Figure = "heap"       // bytes
	FigureRSS        Figure = "rss"        // bytes
	FigureGC         Figure = "gc"         // the collector's share of CPU, from 0 to 1
)

// An Amount is a number with its unit, as it was written.
type Amount struct {
	Value float64
	// Unit is "%", "points" (of share), "cores" (seconds of CPU, or of waiting, in a
	// second), a duration ("ns", "us", "ms", "s", "m", "h"), bytes ("B", "KiB", "MiB",
	// "GiB", "kB", "MB", "GB") or "" for a count.
	Unit string
}

// A Condition compares a figure of the process with an amount. The zero
// Condition always holds.
type Condition struct {
	Figure Figure
	Below  bool // the condition holds below Amount; otherwise above it
	Amount Amount
}

// A Set is a list of budgets, in the order of their declaration.
type Set []Budget
