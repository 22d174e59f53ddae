package guard

import (
	"slices"

	"github.com/profguard/profguard/budget"
)

// cloneResult copies a result with all that it refers to.
func cloneResult(r budget.Result) budget.Result {
	r.Budget = cloneBudget(r.Budget)
	r.Offenders = slices.Clone(r.Offenders)
	for i := range r.Offenders {
		o := &r.Offenders[i]
		o.Callers, o.Callees = slices.Clone(o.Callers), slices.Clone(o.Callees)
	}
	return r
}

// ownEvents gives a callback events that it may change: to redact a file's name,
// say. The other sinks and Status have the same result.
func ownEvents(tell func(Event)) func(Event) {
	return func(e Event) {
		e.Result = cloneResult(e.Result)
		tell(e)
	}
}
