package budget

import "time"

// A Budget is one declared limit on a profile or on the process. It is a plain value. [Parse]
// makes one from a sentence, or write it as a Go literal. [Budget.Validate] reports mistakes.
//
//	budget.Budget{Subject: "no function", Limit: budget.Amount{Value: 20, Unit: "%"}}
//
// is the sentence "no function above 20% cumulative".
type Budget struct {
	// Name is the name of the budget in metrics, events and dumps. By default it is the sentence.
	Name string

	// Subject is what the budget is about:
	//
	//	"no function", "no package"        each function or package by itself
	//	"no tenant", `no "http.route"`     each value of a label by itself
	//	"process"                          the whole profile
	//	"goroutines", "heap", "rss", "gc"  a figure of the process
	//	"no goroutine"                     with the rule "leaked"
	//	anything else                      a pattern, see the package documentation
	Subject string

	// Rule says how the subject is judged.
	Rule Rule

	// Limit is the largest amount that is allowed. Its unit decides what is compared.
	// "absent", "steady" and "leaked" have none.
	Limit Amount

	// Flat counts only a function's own body. By default the functions that it calls count,
	// too (cumulative).
	Flat bool

	// Per is the unit of work that a duration, an amount of bytes or a count is divided by:
	// "request", "call", or a counter of the service's Prometheus registry, which labels
	// may restrict: http_requests_total{code="200"}. Each value of a label is divided by its own series of the
	// counter: by the label of that name, or the one behind "by", as in http_requests_total by handler.
	Per string

	// Kind is the kind of profile. "" means CPU, and so does KindCPU. Figures of the process have
	// no kind.
	Kind Kind

	// Except exempts functions or packages from a "no function" or "no package" budget, and values
	// from a budget about a label. Each is a pattern or a name as reports print it. A name that is
	// not a Go name is in double quotes, as in a sentence. Two things may follow it. "from" and a
	// pattern exempt it only where that calls it: "encoding/json.Unmarshal from
	// main.(*server).debugState". "until" and a day exempt it to the end of that day in UTC:
	// "encoding/json until 2027-01-31". The single word "none" charges every function of a stack,
	// also those of the way in and the floor.
	Except []string

	// In is a pattern. It restricts the budget to stacks with a function that the pattern matches,
	// and in these to the functions that this one calls.
	In string

	// Where restricts the budget to samples with these pprof labels.
	Where map[string]string

	// When is a condition. While it does not hold, the verdict is inconclusive ("idle"): a process
	// that does next to nothing always has a function with a large share.
	When Condition

	// ForWindows or ForTime is how long the budget must fail, window after window, before the
	// guard fires. At most one is set. If both are zero, the guard fires by the evidence of all
	// windows together, which is the better default.
	ForWindows int
	ForTime    time.Duration
}

// A Rule says how the subject of a budget is judged.
type Rule string

const (
	RuleLimit  Rule = ""       // its amount is limited: "above" after "no", otherwise "below"
	RuleAbsent Rule = "absent" // it has no sample in the profile
	RuleGrows  Rule = "grows"  // its growth since a baseline is limited
	RuleSteady Rule = "steady" // it does not grow from call to call of a test
	RuleLeaked Rule = "leaked" // with "no goroutine": none is blocked for good
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
	FigureProcess    Figure = "process"    // the CPU that the process uses, in cores
	FigureGoroutines Figure = "goroutines" // the number of goroutines
	FigureHeap       Figure = "heap"       // bytes of objects that are live or not yet swept
	FigureRSS        Figure = "rss"        // bytes of resident memory
	FigureGC         Figure = "gc"         // the garbage collector's share of the CPU time, from 0 to 1
)

// An Amount is a number with its unit. The unit stays as it was written, so that a sentence is
// printed as people know it.
type Amount struct {
	Value float64
	// Unit is one of those in the package's documentation under Limits, "" for a count.
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
