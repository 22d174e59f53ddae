package budget

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Validate returns nil for a budget that can be judged, and otherwise an error
// that lists all that is wrong with it. What Parse returns is valid.
func (b Budget) Validate() error {
	var errs []error
	b.check(stated{measure: b.Flat, kind: b.Kind != ""}, func(m mistake) {
		errs = append(errs, fmt.Errorf("budget %q: %w", clipped(b.identity()), m))
	})
	return errors.Join(errs...)
}

// Validate returns nil for a set that can be judged, and otherwise an error
// that lists the mistakes of all its budgets, and the names that occur twice.
func (s Set) Validate() error {
	var errs []error
	first := map[string]int{}
	for i, b := range s {
		if err := b.Validate(); err != nil {
			errs = append(errs, err)
			continue
		}
		name := b.identity()
		if earlier, taken := first[name]; taken {
			errs = append(errs, fmt.Errorf("budget %q: expected a name of its own for each budget, found it at places %d and %d of the set: rename one, or remove it",
				clipped(name), earlier+1, i+1))
			continue
		}
		first[name] = i
	}
	return errors.Join(errs...)
}

// A mistake is something in a budget that makes no sense.
type mistake struct {
	part     part
	found    string // for errors without a text to show it in
	expected string
	remedy   string
}

func (m mistake) Error() string {
	s := "expected " + plain(m.expected)
	if m.found != "" {
		s += ", found " + quoted(m.found)
	}
	if m.remedy != "" {
		s += ": " + plain(m.remedy)
	}
	return s
}

// stated says what a sentence says without leaving a trace in the Budget: a
// measure may be cumulative, a kind may be cpu, and both are what is meant
// when nothing is said.
type stated struct {
	measure, kind bool
}

// check reports what is wrong with a budget, the most telling mistake first.
func (b Budget) check(s stated, report func(mistake)) {
	if b.Name != "" {
		if m, wrong := nameMistake(b.Name); wrong {
			report(m)
		}
	}
	class := classOf(b.Subject)
	if class == classPattern {
		if m, wrong := subjectMistake(b); wrong {
			report(m)
			return // what it takes depends on what it is
		}
	}
	may, ok := accepted(b.Subject, b.Rule)
	if !ok {
		report(ruleMistake(b))
		return
	}
	b.checkExtras(may, s, report)
	if may.kind && b.Kind != "" {
		if m, wrong := kindMistake(b.Kind); wrong {
			report(m)
			return // which units make sense depends on it
		}
	}
	b.checkLimit(class, report)
	b.checkClauses(report)
}

// checkExtras reports what the budget says although its subject and rule have
// no use for it.
func (b Budget) checkExtras(may extras, s stated, report func(mistake)) {
	about := strconv.Quote(clipped(b.Subject))
	if b.Rule != "" {
		about = strconv.Quote(clipped(b.Subject + " " + b.Rule))
	}
	refuse := func(said, allowed bool, part part, found, remedy string) {
		if said && !allowed {
			report(mistake{part, found, "only what goes with " + about + ": " + may.String(), remedy})
		}
	}
	measure := "cumulative"
	if b.Flat {
		measure = "flat"
	}
	refuse(s.measure, may.measure, partMeasure, measure, `leave it out: a measure tells a function from what it calls`)
	perRemedy := `leave it out`
	if b.Subject == "heap" || b.Subject == "rss" {
		perRemedy = example("process below 64KiB per request of allocs")
	}
	refuse(b.Per != "", may.per, partPer, "per "+b.Per, perRemedy)
	refuse(s.kind, may.kind, partKind, "of "+b.Kind, `leave it out`)
	refuse(len(b.Except) > 0, may.except, partExcept, "except "+strings.Join(b.Except, ", "), b.exceptRemedy(may))
	refuse(b.In != "", may.in, partIn, "in "+b.In, `leave it out`)
	refuse(len(b.Where) > 0, may.where, partWhere, "where", `leave it out: only samples of a profile have labels`)
}

// exceptRemedy says what to do where there is no "except".
func (b Budget) exceptRemedy(may extras) string {
	const remedy = `exceptions are for "no function" and "no package"`
	within := Budget{Subject: b.Subject, Rule: b.Rule, Limit: b.Limit, Flat: b.Flat, Per: b.Per, Kind: b.Kind, In: "main.handler"}
	if !may.in || b.In != "" || slices.Contains(b.Except, "none") || within.Validate() != nil {
		return "leave it out: " + remedy
	}
	return remedy + `; after a pattern there is no everywhere-but, only "in": ` + example(within.String())
}

// positive reports whether an amount is a number that a limit can be.
func positive(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
