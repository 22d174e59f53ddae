package budget

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// A subject is what a budget may be about.
type subject struct {
	name  string // "" for a pattern
	class judge.Class
	rules []string
	kind  string // of the profile that has it, "" for the one that the budget names
	limit []fit  // of a figure
}

// subjects are all but patterns. A share is steady anyway: the rule is for what piles up.
var subjects = []subject{
	{"no function", judge.Each, []string{"", "grows"}, "", nil},
	{"no package", judge.Each, []string{"", "grows"}, "", nil},
	{"no goroutine", judge.Leak, []string{"leaked"}, kinds.Goroutine, nil},
	{"process", judge.Process, []string{"", "grows", "steady"}, "", nil},
	{"goroutines", judge.Figure, []string{"", "steady"}, kinds.Goroutine, []fit{{unit.Count, perNever}}},
	{"heap", judge.Figure, []string{"", "steady"}, kinds.Heap, []fit{{unit.Bytes, perNever}}},
	{"rss", judge.Figure, []string{"", "steady"}, kinds.Heap, []fit{{unit.Bytes, perNever}}},
	{"gc", judge.Figure, []string{""}, "", []fit{{unit.Share, perNever}}},
}

// figures are what a condition compares.
var figures = []string{"process", "goroutines", "heap", "rss", "gc"}

func subjectOf(name string) subject {
	for _, s := range subjects {
		if s.name == name {
			return s
		}
	}
	return subject{class: judge.Pattern, rules: []string{"", "grows", "absent"}}
}

func classOf(subject string) judge.Class { return subjectOf(subject).class }

// hasRule reports whether the budget's subject has its rule.
func (b Budget) hasRule() bool { return slices.Contains(subjectOf(b.Subject).rules, b.Rule) }

// rulesText lists the rules that a subject has, as messages show them.
func rulesText(name string) string {
	s := subjectOf(name)
	rules, after := slices.Clone(s.rules), strconv.Quote(name)
	if rules[0] == "" {
		rules[0] = Budget{Subject: name}.limitWord()
	}
	if s.class == judge.Pattern {
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
	code, charged := c == judge.Each || c == judge.Pattern, c != judge.Figure && c != judge.Leak && b.Rule != "steady"
	switch p {
	case partMeasure:
		return code && limits
	case partPer:
		return charged && limits
	case partKind, partWhere:
		return charged
	case partExcept:
		return c == judge.Each
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
	usual := map[unit.Dimension]Amount{
		unit.Share: {5, "%"}, unit.Points: {5, "points"}, unit.Cores: {1.5, "cores"}, unit.Bytes: {64, "MiB"}, unit.Count: {5000, ""},
	}[f.dim]
	switch dim := b.Limit.dimension(); {
	case (dim == unit.Count || dim == unit.Points) && dim != f.dim && b.Limit.Value >= 1 && (b.Limit.Value < 100 || f.dim == unit.Bytes && b.Limit.Value < 1e5):
		usual.Value = b.Limit.Value
	case f.dim == unit.Cores && c != judge.Process: // of contention
		usual.Value = 0.1
	case f.dim == unit.Share && c == judge.Each:
		usual.Value = 20
	}
	return usual
}

// dimension is what the amount measures.
func (a Amount) dimension() unit.Dimension { return unit.Of(a.Unit).Dimension }

// base returns the amount in the base unit of its dimension.
func (a Amount) base() float64 { return unit.Of(a.Unit).Base(a.Value) }

// A fit is a dimension that a limit may have, and what that asks of Per.
type fit struct {
	dim unit.Dimension
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
		kinds.CPU:    {{unit.Cores, perNever}, {unit.Time, perMust}},
		kinds.Allocs: {{unit.Bytes, perMay}, {unit.Count, perMay}},
		kinds.Heap:   {{unit.Bytes, perMay}},
	}
	codeLimits = map[kinds.Sampling][]fit{
		kinds.Timed:      {{unit.Share, perNever}, {unit.Cores, perNever}, {unit.Time, perMust}},
		kinds.Memory:     {{unit.Share, perNever}, {unit.Bytes, perMay}, {unit.Count, perMay}},
		kinds.Counted:    {{unit.Share, perNever}, {unit.Count, perMay}},
		kinds.Contention: {{unit.Cores, perNever}, {unit.Time, perMust}, {unit.Count, perMay}},
	}
)

// fits returns what the limit of a budget may be, the most usual first.
func fits(b Budget) (list []fit) {
	s, k := subjectOf(b.Subject), kinds.Of(cmp.Or(b.Kind, kinds.CPU))
	switch {
	case s.class == judge.Figure:
		return s.limit
	case b.Rule == "steady":
		return []fit{{unit.Cores, perNever}}
	case b.Rule == "grows" && k.Sampling == kinds.Contention:
		return nil
	case b.Rule == "grows" && s.class == judge.Process: // its share is always 100%
		list = []fit{{unit.Share, perMust}}
	case b.Rule == "grows":
		list = []fit{{unit.Points, perNever}, {unit.Share, perMust}}
	case s.class == judge.Process:
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
		text := map[unit.Dimension]string{unit.Share: "%", unit.Points: "points", unit.Cores: "cores", unit.Time: "a duration", unit.Bytes: "bytes", unit.Count: "a count"}[f.dim]
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
