package budget

import (
	"slices"
	"strconv"
	"strings"

	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// A class is a sort of subject. Budgets of one class take the same clauses.
type class = judge.Class

const (
	classPattern = judge.Pattern
	classEach    = judge.Each // no function, no package
	classProcess = judge.Process
	classFigure  = judge.Figure // goroutines, heap, rss, gc
	classLeak    = judge.Leak   // no goroutine
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

// A dimension is what an amount measures.
type dimension = unit.Dimension

const (
	dimUnknown = unit.Unknown
	dimShare   = unit.Share
	dimPoints  = unit.Points
	dimCores   = unit.Cores
	dimTime    = unit.Time
	dimBytes   = unit.Bytes
	dimCount   = unit.Count
)

func (a Amount) dimension() dimension { return unit.Of(a.Unit).Dimension }

// base returns the amount in the base unit of its dimension.
func (a Amount) base() float64 { return unit.Of(a.Unit).Base(a.Value) }

func kindText(kind string) string {
	if kind == "" {
		return kinds.CPU
	}
	return kind
}

// extras is what a budget may say beside its subject, rule and amount. All may
// say when and for.
type extras struct {
	flat, per, kind, except, in, where bool
}

// String lists the keywords, as messages show them.
func (e extras) String() string {
	var list []string
	for _, extra := range []struct {
		ok   bool
		word string
	}{{e.flat, "cumulative or flat"}, {e.per, "per"}, {e.kind, "of"}, {e.except, "except"}, {e.in, "in"}, {e.where, "where"}} {
		if extra.ok {
			list = append(list, extra.word)
		}
	}
	return strings.Join(append(list, "when", "for"), ", ")
}

// accepted returns what a budget about a subject may say with a rule, and
// whether the subject has the rule.
func accepted(subject, rule string) (extras, bool) {
	c := classOf(subject)
	limits := rule == "" || rule == "grows"
	code, charged := c == classEach || c == classPattern, c != classFigure && c != classLeak && rule != "steady"
	return extras{flat: code && limits, per: charged && limits, kind: charged, except: c == classEach, in: code, where: charged},
		slices.Contains(rulesOf(subject), rule)
}

// rulesOf lists the rules that a subject has. A share is steady anyway: the rule is for
// what piles up.
func rulesOf(subject string) []string {
	switch classOf(subject) {
	case classEach:
		return []string{"", "grows"}
	case classProcess:
		return []string{"", "grows", "steady"}
	case classLeak:
		return []string{"leaked"}
	case classPattern:
		return []string{"", "grows", "absent"}
	}
	if subject == "gc" {
		return []string{""}
	}
	return []string{"", "steady"}
}

// rulesText lists the rules that a subject has, as messages show them.
func rulesText(subject string) string {
	rules, after := rulesOf(subject), strconv.Quote(subject)
	if rules[0] == "" {
		rules[0] = Budget{Subject: subject}.limitWord()
	}
	if classOf(subject) == classPattern {
		after = "a pattern"
	}
	return orList(rules) + " after " + after
}

// A fit is a dimension that a limit may have, and what that asks of Per.
type fit struct {
	dim dimension
	per perNeed
}

// A perNeed says whether an amount is to be divided by a unit of work.
type perNeed int

const (
	perNever perNeed = iota
	perMay
	perMust
)

// What a limit may be, the most usual first: of figures, of all that a profile holds, and
// of code. Contention always adds up to 100%, however little there is, so that a share of
// it says nothing.
var (
	figureLimits = map[string][]fit{
		"goroutines": {{dimCount, perNever}}, "heap": {{dimBytes, perNever}}, "rss": {{dimBytes, perNever}}, "gc": {{dimShare, perNever}},
	}
	processLimits = map[string][]fit{
		kinds.CPU:    {{dimCores, perNever}, {dimTime, perMust}},
		kinds.Allocs: {{dimBytes, perMay}, {dimCount, perMay}},
		kinds.Heap:   {{dimBytes, perMay}},
	}
	codeLimits = map[kinds.Sampling][]fit{
		kinds.Timed:      {{dimShare, perNever}, {dimCores, perNever}, {dimTime, perMust}},
		kinds.Memory:     {{dimShare, perNever}, {dimBytes, perMay}, {dimCount, perMay}},
		kinds.Counted:    {{dimShare, perNever}, {dimCount, perMay}},
		kinds.Contention: {{dimCores, perNever}, {dimTime, perMust}, {dimCount, perMay}},
	}
)

// fits returns what the limit of a budget may be, the most usual first.
func fits(b Budget) (list []fit) {
	c, k := classOf(b.Subject), kinds.Of(kindText(b.Kind))
	switch {
	case c == classFigure:
		return figureLimits[b.Subject]
	case b.Rule == "steady":
		return []fit{{dimCores, perNever}}
	case b.Rule == "grows" && k.Sampling == kinds.Contention:
		return nil
	case b.Rule == "grows" && c == classProcess: // its share is always 100%
		list = []fit{{dimShare, perMust}}
	case b.Rule == "grows":
		list = []fit{{dimPoints, perNever}, {dimShare, perMust}}
	case c == classProcess:
		list = processLimits[k.Name]
	default:
		list = codeLimits[k.Sampling]
	}
	if k.Taken == kinds.State { // no work is done in a moment
		list = slices.DeleteFunc(slices.Clone(list), func(f fit) bool { return f.per == perMust })
		for i := range list {
			list[i].per = perNever
		}
	}
	return list
}

// fitsText lists fits as messages show them.
func fitsText(list []fit) string {
	var texts []string
	for _, f := range list {
		text := map[dimension]string{dimShare: "%", dimPoints: "points", dimCores: "cores", dimTime: "a duration", dimBytes: "bytes", dimCount: "a count"}[f.dim]
		switch f.per {
		case perMust:
			text += " per unit of work"
		case perMay:
			text += " (alone or per unit of work)"
		}
		texts = append(texts, text)
	}
	return orList(texts)
}

// orList is "a, b or c".
func orList(words []string) string {
	if last := len(words) - 1; last > 0 {
		return strings.Join(words[:last], ", ") + " or " + words[last]
	}
	return strings.Join(words, "")
}

// right returns a right budget about what a wrong one is about, for an example. It
// keeps what is right, the limit above all.
func right(b Budget) Budget {
	b.Name = ""
	if meant := subjectWords[strings.ToLower(b.Subject)]; meant != "" && meant != "no" {
		b.Subject = meant
	}
	if meant := quantity(strings.ToLower(b.Subject)); len(meant) > 0 {
		b.Subject, b.Kind = meant[0].Subject, meant[0].Kind
		if same := b.stripped(); same.valid() && same.Kind == b.Kind {
			return same
		}
		if inCores, ok := b.inCores(); ok {
			return inCores
		}
		return meant[0]
	}
	if _, ok := accepted(b.Subject, b.Rule); !ok {
		b.Rule = ""
	}
	if b.Subject == "no goroutine" {
		b.Rule = "leaked"
	}
	b = b.stripped()
	withoutPer, withoutKind := b, b
	withoutPer.Per, withoutKind.Kind = "", ""
	short := Budget{Subject: b.Subject, Rule: b.Rule, Limit: b.Limit, Flat: b.Flat, Per: b.Per, Kind: b.Kind}
	for _, same := range []Budget{b, withoutPer, withoutKind, short} {
		if same.valid() {
			return same
		}
	}
	if inCores, ok := b.inCores(); ok {
		return inCores
	}
	withoutRule := b
	withoutRule.Rule = ""
	for _, simpler := range []Budget{b, withoutRule, withoutKind, {Subject: b.Subject, Rule: b.Rule, Limit: b.Limit}} {
		if e, ok := withLimit(simpler); ok {
			return e
		}
	}
	if classOf(b.Subject) == classPattern && b.Subject != "" && b.Subject != "encoding/json" {
		b.Subject = "encoding/json"
		return right(b)
	}
	return Budget{Subject: "no function", Limit: Amount{20, "%"}}
}

// stripped returns the budget without what its subject and rule have no use for.
func (b Budget) stripped() Budget {
	may, ok := accepted(b.Subject, b.Rule)
	if !ok {
		return b
	}
	b.Flat = b.Flat && may.flat
	if !may.per {
		b.Per = ""
	}
	if !may.kind {
		b.Kind = ""
	}
	if !may.except {
		b.Except = nil
	}
	if !may.in {
		b.In = ""
	}
	if !may.where {
		b.Where = nil
	}
	if b.Rule == "absent" || b.Rule == "leaked" {
		b.Limit = Amount{}
	}
	return b
}

// inCores returns a limit on the process, given as a percentage, in cores: 100% is one, as
// in top.
func (b Budget) inCores() (Budget, bool) {
	if b.Subject != "process" || b.Limit.Unit != "%" {
		return b, false
	}
	b = b.stripped()
	b.Limit = Amount{b.Limit.Value / 100, "cores"}
	return b, b.valid()
}

// withLimit returns the budget with a usual limit, and whether it is right.
func withLimit(b Budget) (Budget, bool) {
	list := fits(b)
	if b.Rule != "" && b.Rule != "grows" {
		b.Limit = Amount{}
		return b, b.valid()
	}
	if len(list) == 0 {
		return b, false
	}
	f, given := list[0], b.Limit
	b.Limit = map[dimension]Amount{
		dimShare: {5, "%"}, dimPoints: {5, "points"}, dimCores: {1.5, "cores"}, dimBytes: {64, "MiB"}, dimCount: {5000, ""},
	}[f.dim]
	switch {
	case f.dim == dimCores && b.Subject != "process":
		b.Limit.Value = 0.1 // of contention
	case f.dim == dimShare && classOf(b.Subject) == classEach:
		b.Limit.Value = 20
	case f.dim == dimBytes && given.Unit == "" && given.Value >= 1 && given.Value < 1e5: // who leaves out the unit means MiB
		b.Limit.Value = given.Value
	case f.per == perMust && b.Per == "":
		b.Per = "request"
	}
	return b, b.valid()
}
