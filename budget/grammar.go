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

// A subject is what a budget may be about: its class, the rules that it has, and of a
// figure what its limit is.
type subject struct {
	name  string // "" for a pattern
	class class
	rules []string
	limit []fit
}

// subjects are all but patterns. A share is steady anyway: the rule is for what piles up.
var subjects = []subject{
	{"no function", classEach, []string{"", "grows"}, nil},
	{"no package", classEach, []string{"", "grows"}, nil},
	{"no goroutine", classLeak, []string{"leaked"}, nil},
	{"process", classProcess, []string{"", "grows", "steady"}, nil},
	{"goroutines", classFigure, []string{"", "steady"}, []fit{{dimCount, perNever}}},
	{"heap", classFigure, []string{"", "steady"}, []fit{{dimBytes, perNever}}},
	{"rss", classFigure, []string{"", "steady"}, []fit{{dimBytes, perNever}}},
	{"gc", classFigure, []string{""}, []fit{{dimShare, perNever}}},
}

// figures are what a condition compares.
var figures = []string{"process", "goroutines", "heap", "rss", "gc"}

func subjectOf(name string) subject {
	for _, s := range subjects {
		if s.name == name {
			return s
		}
	}
	return subject{class: classPattern, rules: []string{"", "grows", "absent"}}
}

func classOf(subject string) class { return subjectOf(subject).class }

// hasRule reports whether the budget's subject has its rule.
func (b Budget) hasRule() bool { return slices.Contains(subjectOf(b.Subject).rules, b.Rule) }

// rulesText lists the rules that a subject has, as messages show them.
func rulesText(name string) string {
	s := subjectOf(name)
	rules, after := slices.Clone(s.rules), strconv.Quote(name)
	if rules[0] == "" {
		rules[0] = Budget{Subject: name}.limitWord()
	}
	if s.class == classPattern {
		after = "a pattern"
	}
	return orList(rules) + " after " + after
}

// A part is a piece of a sentence, and of the Budget that it becomes, so that a
// mistake in the value can be shown in the text. They are in the order of the canonical form.
type part int

const (
	partName part = iota
	partSubject
	partRule
	partLimit
	partMeasure
	partPer
	partKind
	partExcept
	partIn
	partWhere
	partWhen
	partFor
	parts // how many there are
)

// takes reports whether a budget with this subject and rule may have the part.
func (b Budget) takes(p part) bool {
	c := classOf(b.Subject)
	limits := b.Rule == "" || b.Rule == "grows"
	code, charged := c == classEach || c == classPattern, c != classFigure && c != classLeak && b.Rule != "steady"
	switch p {
	case partMeasure:
		return code && limits
	case partPer:
		return charged && limits
	case partKind, partWhere:
		return charged
	case partExcept:
		return c == classEach
	case partIn:
		return code
	}
	return true
}

// clausesText lists the clauses that a budget takes, as messages show them.
func (b Budget) clausesText() string {
	var list []string
	for p := partMeasure; p < parts; p++ {
		if b.takes(p) {
			list = append(list, strings.Join(clauseWords[p], " or "))
		}
	}
	return strings.Join(list, ", ")
}

// with returns the budget with a part of another.
func (b Budget) with(p part, of Budget) Budget {
	switch p {
	case partName:
		b.Name = of.Name
	case partSubject:
		b.Subject = of.Subject
	case partRule:
		b.Rule = of.Rule
	case partLimit:
		b.Limit = of.Limit
	case partMeasure:
		b.Flat = of.Flat
	case partPer:
		b.Per = of.Per
	case partKind:
		b.Kind = of.Kind
	case partExcept:
		b.Except = of.Except
	case partIn:
		b.In = of.In
	case partWhere:
		b.Where = of.Where
	case partWhen:
		b.When = of.When
	case partFor:
		b.ForWindows, b.ForTime = of.ForWindows, of.ForTime
	}
	return b
}

// usual returns the budget with a part as an example has it, without the part if it takes
// none.
func (b Budget) usual(p part) Budget {
	if !b.takes(p) {
		return b.with(p, Budget{})
	}
	of := Budget{
		Subject: "encoding/json", Rule: subjectOf(b.Subject).rules[0], Limit: b.usualLimit(), Per: "request",
		Except: []string{"runtime/..."}, In: "main.handler", Where: map[string]string{"endpoint": "/checkout"},
		When: Condition{Figure: "process", Amount: Amount{0.1, "cores"}}, ForWindows: 3,
	}
	if b.Subject == "" {
		of.Subject = "no function"
	}
	if f := b.When.Figure; f != "process" && slices.Contains(figures, f) {
		of.When = Condition{Figure: f, Below: b.When.Below, Amount: Budget{Subject: f, Limit: b.When.Amount}.usualLimit()}
	}
	return b.with(p, of)
}

// usualLimit is a limit as an example has it. A number without a unit stays, and so does
// one of points.
func (b Budget) usualLimit() Amount {
	list := fits(b)
	if len(list) == 0 || b.Rule != "" && b.Rule != "grows" {
		return Amount{}
	}
	f, c := list[0], classOf(b.Subject)
	usual := map[dimension]Amount{
		dimShare: {5, "%"}, dimPoints: {5, "points"}, dimCores: {1.5, "cores"}, dimBytes: {64, "MiB"}, dimCount: {5000, ""},
	}[f.dim]
	switch dim := b.Limit.dimension(); {
	case (dim == dimCount || dim == dimPoints) && dim != f.dim && b.Limit.Value >= 1 && (b.Limit.Value < 100 || f.dim == dimBytes && b.Limit.Value < 1e5):
		usual.Value = b.Limit.Value
	case f.dim == dimCores && c != classProcess: // of contention
		usual.Value = 0.1
	case f.dim == dimShare && c == classEach:
		usual.Value = 20
	}
	return usual
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

// What a limit may be, the most usual first: of all that a profile holds, and of code.
// Contention always adds up to 100%, however little there is, so that a share of it says
// nothing.
var (
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
	s, k := subjectOf(b.Subject), kinds.Of(kindText(b.Kind))
	switch {
	case s.class == classFigure:
		return s.limit
	case b.Rule == "steady":
		return []fit{{dimCores, perNever}}
	case b.Rule == "grows" && k.Sampling == kinds.Contention:
		return nil
	case b.Rule == "grows" && s.class == classProcess: // its share is always 100%
		list = []fit{{dimShare, perMust}}
	case b.Rule == "grows":
		list = []fit{{dimPoints, perNever}, {dimShare, perMust}}
	case s.class == classProcess:
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
