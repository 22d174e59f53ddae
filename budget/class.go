package budget

import "strings"

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

// accepted returns what a budget about a subject may say with a rule, and
// whether the subject has the rule.
func accepted(subject, rule string) (extras, bool) {
	c := classOf(subject)
	switch {
	case subject == "gc" && rule == "steady":
		return extras{}, false // a share is steady: the rule is for what piles up
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
