package budget

import (
	"strings"
	"time"
)

// A Budget is one declared limit on what a profile, or the process, may show.
// It is a plain value: [Parse] makes it from a sentence, a Go literal does as
// well, and [Budget.Validate] says whether it makes sense.
//
//	budget.Budget{Subject: "no function", Limit: budget.Amount{Value: 20, Unit: "%"}}
//
// is the sentence "no function above 20% cumulative".
type Budget struct {
	// Name is what metrics, events and dumps call the budget; "" means its sentence.
	Name string

	// Subject is what the budget is about:
	//
	//	"no function", "no package"        each function or package by itself
	//	"process"                          all that the profile holds
	//	"goroutines", "heap", "rss", "gc"  a figure of the process
	//	"no goroutine"                     with the rule "leaked"
	//	anything else                      a pattern, see the package documentation
	Subject string

	// Rule is "" for a limit ("above" after "no function", otherwise "below"),
	// or "absent", "grows", "steady", "leaked".
	Rule string

	// Limit is the amount not to be exceeded. Its unit decides what is compared.
	// A "steady" budget may have one as its cap; "absent" and "leaked" have none.
	Limit Amount

	// Flat counts what a function spends in its own body; otherwise what it
	// calls counts too (cumulative).
	Flat bool

	// Per is the unit of work that a duration or an amount of bytes is divided
	// by: "request", "call", or a counter of the service's Prometheus registry, which
	// labels may narrow: http_requests_total{code="200"}.
	Per string

	// Kind is the kind of profile, as the grammar names it: "heap", say. For CPU it is
	// "", which is what Parse makes of "of cpu" and of no kind at all; in a literal "cpu"
	// means and prints the same. Figures of the process have none.
	Kind string

	// Except exempts functions and packages from a "no function" or "no package"
	// budget, by patterns or by names as reports print them. A name that is no word
	// stands in double quotes, as in a sentence. The single word "none" charges every function
	// of a stack instead, the way in and the floor included.
	Except []string

	// In, a pattern, restricts the budget to the paths through the functions
	// that it matches, and there to what they call.
	In string

	// Where restricts the budget to samples with these pprof labels.
	Where map[string]string

	// When gates the budget: while the condition does not hold, the verdict is
	// inconclusive ("idle").
	When Condition

	// ForWindows and ForTime say how long the budget must fail, window after
	// window, before the guard fires. At most one is set. When both are zero the
	// guard weighs the evidence of all windows, which is the better default.
	ForWindows int
	ForTime    time.Duration
}

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
	Figure string // "process" (its cores), "goroutines", "heap", "rss", "gc"
	Below  bool   // the condition holds below Amount; otherwise above it
	Amount Amount
}

// A Set is a list of budgets, in the order of their declaration.
type Set []Budget

// Must is [Parse] for declarations: lines that are wrong panic with the message
// that Parse would have returned.
func Must(lines ...string) Set {
	set, err := Parse(strings.Join(lines, "\n"))
	if err != nil {
		panic("budget.Must: " + err.Error())
	}
	return set
}
