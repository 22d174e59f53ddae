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
		if m, wrong := patternMistake(b.Subject, partSubject); wrong {
			report(m)
			return // what it takes depends on what it is
		}
	}
	may, ok := accepted(class, b.Rule)
	if b.Subject == "gc" && b.Rule == "steady" {
		ok = false // a share is steady already: the rule is for what piles up
	}
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

// A class is a sort of subject. Budgets of one class take the same clauses.
type class int

const (
	classPattern class = iota
	classEach          // no function, no package
	classProcess
	classFigure // goroutines, heap, rss, gc
	classLeak   // no goroutine
)

func classOf(subject string) class {
	switch subject {
	case "no function", "no package":
		return classEach
	case "process":
		return classProcess
	case "goroutines", "heap", "rss", "gc":
		return classFigure
	case "no goroutine":
		return classLeak
	}
	return classPattern
}

// extras is what a budget may say beside its subject, rule and amount. All may
// say when and for.
type extras struct {
	measure, per, kind, except, in, where bool
}

// String lists the keywords, as messages show them.
func (e extras) String() string {
	var list []string
	add := func(ok bool, words string) {
		if ok {
			list = append(list, words)
		}
	}
	add(e.measure, "cumulative or flat")
	add(e.per, "per")
	add(e.kind, "of")
	add(e.except, "except")
	add(e.in, "in")
	add(e.where, "where")
	return strings.Join(append(list, "when", "for"), ", ")
}

// accepted returns what a budget of a class may say with a rule, and whether
// the class has the rule.
func accepted(c class, rule string) (extras, bool) {
	switch {
	case c == classEach && (rule == "" || rule == "grows"):
		return extras{measure: true, per: true, kind: true, except: true, in: true, where: true}, true
	case c == classPattern && (rule == "" || rule == "grows"):
		return extras{measure: true, per: true, kind: true, in: true, where: true}, true
	case c == classPattern && rule == "absent":
		return extras{kind: true, in: true, where: true}, true
	case c == classProcess && (rule == "" || rule == "grows"):
		return extras{per: true, kind: true, where: true}, true
	case c == classProcess && rule == "steady":
		return extras{}, true
	case c == classFigure && (rule == "" || rule == "steady"):
		return extras{}, true
	case c == classLeak && rule == "leaked":
		return extras{}, true
	}
	return extras{}, false
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
	refuse(len(b.Except) > 0, may.except, partExcept, "except "+strings.Join(b.Except, ", "), `leave it out: exceptions are for "no function" and "no package"`)
	refuse(b.In != "", may.in, partIn, "in "+b.In, `leave it out`)
	refuse(len(b.Where) > 0, may.where, partWhere, "where", `leave it out: only samples of a profile have labels`)
}

// ruleMistake says what is wrong with a rule that the subject does not have.
func ruleMistake(b Budget) mistake {
	m := mistake{part: partRule, found: b.Rule, expected: rulesText(b.Subject)}
	switch class := classOf(b.Subject); class {
	case classLeak:
		m.remedy = `to limit their number write "goroutines below 5000"`
	case classEach:
		switch b.Rule {
		case "absent":
			m.remedy = "name what shall be absent: portlist absent"
		case "leaked":
			m.remedy = didYouMean("no goroutine leaked")
		default:
			m.remedy = example(b.Subject + " above 20%")
		}
	case classFigure:
		switch {
		case b.Rule == "grows":
			m.remedy = `growth over hours is "` + b.Subject + ` steady"`
		case b.Rule == "absent":
			m.remedy = figureRemedy(b.Subject)
		case b.Rule == "leaked":
			m.remedy = didYouMean("no goroutine leaked")
		}
		if b.Subject == "gc" {
			m.remedy = example("gc below 5%")
			if b.Rule == "absent" {
				m.remedy = figureRemedy(b.Subject)
			}
		}
	case classProcess:
		m.remedy = `"process" is all that runs; for a package of that name write its full path`
	default:
		switch b.Rule {
		case "steady":
			m.remedy = "steady is for goroutines, heap, rss and process: for a function write grows below 5 points"
		case "leaked":
			m.remedy = didYouMean("no goroutine leaked")
		default:
			m.remedy = `a Rule is "", "absent", "grows", "steady" or "leaked"`
		}
	}
	if !slices.Contains([]string{"", "absent", "grows", "steady", "leaked"}, b.Rule) {
		m.remedy = `a Rule is "", "absent", "grows", "steady" or "leaked"`
	}
	return m
}

// figureRemedy says how to name a package whose name is a figure's.
func figureRemedy(figure string) string {
	path := "example.com/" + figure
	if figure == "heap" {
		path = "container/heap"
	}
	return `"` + figure + `" is a figure of the process; for the package write its full path: ` + path
}

// rulesText lists the rules that a subject has, as messages show them.
func rulesText(subject string) string {
	rules := "below, grows or absent after a pattern"
	switch classOf(subject) {
	case classEach:
		rules = `above or grows after "` + subject + `"`
	case classProcess:
		rules = `below, grows or steady after "process"`
	case classFigure:
		rules = `below or steady after "` + subject + `"`
		if subject == "gc" {
			rules = `below after "gc"`
		}
	case classLeak:
		rules = `leaked after "no goroutine"`
	}
	return rules
}

// positive reports whether an amount is a number that a limit can be.
func positive(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
