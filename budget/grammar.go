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
	name  string
	class judge.Class
	rules []rule
	kind  string // of the profile that names its offenders, "" for the one that the budget names
	limit []fit  // of a figure
}

// A rule is a rule that a subject may have, with a sentence that has it.
type rule struct {
	name    Rule
	example string
}

// subjects are all subjects, patterns last. The rule "steady" is for values that can pile up from
// call to call.
var subjects = []subject{
	{"no function", judge.EachFunction, []rule{{RuleLimit, "no function above 20% cumulative"}, {RuleGrows, "no function grows above 5 points"}}, "", nil},
	{"no package", judge.EachPackage, []rule{{RuleLimit, "no package above 30% cumulative"}, {RuleGrows, "no package grows above 5 points"}}, "", nil},
	{"no goroutine", judge.Leak, []rule{{RuleLeaked, "no goroutine leaked"}}, kinds.Goroutine, nil},
	{"process", judge.Process, []rule{{RuleLimit, "process below 1.5 cores"}, {RuleGrows, "process grows below 10% per request"}}, "", nil},
	{"goroutines", judge.Figure, []rule{{RuleLimit, "goroutines below 5000"}, {RuleSteady, "goroutines steady"}}, kinds.Goroutine, []fit{{unit.Count, perNever}}},
	{"heap", judge.Figure, []rule{{RuleLimit, "heap below 64MiB"}, {RuleSteady, "heap steady"}}, kinds.Heap, []fit{{unit.Bytes, perNever}}},
	{"rss", judge.Figure, []rule{{RuleLimit, "rss below 64MiB"}}, kinds.Heap, []fit{{unit.Bytes, perNever}}},
	{"gc", judge.Figure, []rule{{RuleLimit, "gc below 5%"}}, "", []fit{{unit.Share, perNever}}},
	{"", judge.Pattern, []rule{{RuleLimit, "crypto/tls below 5% cumulative"}, {RuleGrows, "crypto/tls grows below 5 points"}, {RuleAbsent, "portlist absent"}}, "", nil},
}

// ofLabel is the subject of all budgets on the values of a label: "no" and its name.
var ofLabel = subject{"no tenant", judge.EachValue, []rule{{RuleLimit, "no tenant above 30%"}, {RuleGrows, "no tenant grows above 5 points"}}, "", nil}

// figures are the figures of conditions.
var figures = []string{"process", "goroutines", "heap", "rss", "gc"}

func subjectOf(name string) *subject {
	for i := range subjects {
		if subjects[i].name == name {
			return &subjects[i]
		}
	}
	if strings.HasPrefix(name, "no ") {
		return &ofLabel
	}
	return &subjects[len(subjects)-1]
}

func classOf(subject string) judge.Class { return subjectOf(subject).class }

// hasRule reports whether the budget's subject has its rule.
func (b *Budget) hasRule() bool {
	return slices.ContainsFunc(subjectOf(b.Subject).rules, func(r rule) bool { return r.name == b.Rule })
}

// rulesText lists the rules that a subject has, as messages show them.
func rulesText(name string) string {
	s := subjectOf(name)
	var rules []string
	for _, r := range s.rules {
		rules = append(rules, cmp.Or(string(r.name), limitWord(name)))
	}
	after := strconv.Quote(name)
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
func (b *Budget) takes(p part) bool {
	c := classOf(b.Subject)
	limits := b.Rule == RuleLimit || b.Rule == RuleGrows
	code, charged := c.IsCode(), c != judge.Figure && c != judge.Leak
	switch p {
	case partMeasure:
		return code && limits
	case partPer:
		return charged && limits
	case partKind, partWhere:
		return charged
	case partExcept:
		return c.IsEach()
	case partIn:
		return code || c.IsEach()
	}
	return true
}

func (a Amount) dimension() unit.Dimension { return unit.Amount(a).Dimension() }

// base returns the amount in the base unit of its dimension.
func (a Amount) base() float64 { return unit.Amount(a).Base() }

// A fit is a dimension that a limit may have, and whether that needs a Per.
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

// limits are the possible limits for the sorts of profile, the most usual first: for code, for
// the process, and for the growth of both, which is in points or per unit of work. Shares of
// contention always add up to 100%, however little there is, so they say nothing. A profile of
// a moment has no work.
var limits = []struct {
	taken                                  kinds.Taken
	sampling                               kinds.Sampling
	code, process, codeGrown, processGrown []fit
}{
	{kinds.Recorded, kinds.Timed, []fit{{unit.Share, perNever}, {unit.Cores, perNever}, {unit.Time, perMust}}, []fit{{unit.Cores, perNever}, {unit.Time, perMust}},
		[]fit{{unit.Points, perMay}, {unit.Share, perMust}}, []fit{{unit.Share, perMust}}},
	{kinds.State, kinds.Memory, []fit{{unit.Share, perNever}, {unit.Bytes, perNever}, {unit.Count, perNever}}, []fit{{unit.Bytes, perNever}},
		[]fit{{unit.Points, perNever}}, nil},
	{kinds.Difference, kinds.Memory, []fit{{unit.Share, perNever}, {unit.Bytes, perMay}, {unit.Count, perMay}}, []fit{{unit.Bytes, perMay}, {unit.Count, perMay}},
		[]fit{{unit.Points, perNever}, {unit.Share, perMust}}, []fit{{unit.Share, perMust}}},
	{kinds.State, kinds.Counted, []fit{{unit.Share, perNever}, {unit.Count, perNever}}, nil, []fit{{unit.Points, perNever}}, nil},
	{kinds.Difference, kinds.Contention, []fit{{unit.Cores, perNever}, {unit.Time, perMust}, {unit.Count, perMay}}, nil, nil, nil},
}

// fits returns the possible limits of a budget, the most usual first.
func fits(b *Budget) []fit {
	s := subjectOf(b.Subject)
	if s.class == judge.Figure { // whatever the kind
		return s.limit
	}
	k, process, grows := b.values(), s.class == judge.Process, b.Rule == RuleGrows
	if b.Label() != "" {
		return labelFits(k.Sampling == kinds.Counted, grows)
	}
	for i := range limits {
		switch l := &limits[i]; {
		case l.taken != k.Taken || l.sampling != k.Sampling:
		case process && grows:
			return l.processGrown
		case process:
			return l.process
		case grows:
			return l.codeGrown
		default:
			return l.code
		}
	}
	return nil
}

// labelFits are the possible limits of the values of a label.
func labelFits(counted, grows bool) []fit {
	switch {
	case grows && counted:
		return []fit{{unit.Points, perNever}}
	case grows:
		return []fit{{unit.Points, perMay}}
	case counted:
		return []fit{{unit.Share, perNever}, {unit.Count, perNever}}
	}
	return []fit{{unit.Share, perNever}, {unit.Cores, perNever}, {unit.Time, perMust}}
}

// dimension is the dimension of the measured value.
func (b *Budget) dimension() unit.Dimension {
	switch b.Rule {
	case RuleAbsent:
		return unit.Share // there is no limit
	case RuleSteady:
		return fits(b)[0].dim
	}
	d := b.Limit.dimension()
	if d == unit.Cores && b.values().Sampling == kinds.Contention {
		return unit.Waited
	}
	return d
}

// values is the kind of profile whose values are charged.
func (b *Budget) values() *kinds.Kind {
	return kinds.Of(cmp.Or(subjectOf(b.Subject).kind, string(b.Kind), kinds.CPU))
}

// fitsText lists fits as messages show them.
func fitsText(list []fit) string {
	names := [...]string{unit.Share: "%", unit.Points: "points", unit.Cores: "cores", unit.Time: "a duration", unit.Bytes: "bytes", unit.Count: "a count"}
	needs := [...]string{perMust: " per unit of work", perMay: " (alone or per unit of work)"}
	var texts []string
	for _, f := range list {
		texts = append(texts, names[f.dim]+needs[f.per])
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

// limitWord returns the word in front of the amount: "no function above",
// but "crypto/tls below".
func limitWord(subject string) string {
	if strings.HasPrefix(subject, "no ") {
		return "above"
	}
	return "below"
}

func unitsAdvice() string { return "units are " + unit.List() }

// What is expected in a sentence or a value, as messages say it.
const (
	nameExpected     = `a name of letters, digits, "_", "." and "-" that begins with a letter or a digit`
	dayExpected      = `a day after "until", such as 2027-01-31`
	shortExpected    = "a name of at most 100 letters"
	nameAdvice       = "metrics and file names carry it: keep it plain, like checkout-tls"
	subjectExpected  = `a subject: "no function", "no package", "no goroutine", process, goroutines, heap, rss, gc, or a pattern`
	quantityExpected = "a subject, and no quantity; a package of that name goes in double quotes"
	patternExpected  = `a pattern: a package, a path, a function, "a name in full", or /regexp/`
	labelExpected    = `"function", "package", "goroutine" or the name of a label after "no"`
	labelAdvice      = `a label that is no plain word or one of the language goes in double quotes, as in no "http.route"; a function is forbidden as in "portlist absent"`
	labelKinds       = "cpu or goroutine"
	valueExpected    = `a value of the label after "except"`
	workExpected     = `the name of a unit of work after "per"`
	byExpected       = `the label of the counter after "by"`
	byAdvice         = `say which label of the counter has the values, as in "per http_requests_total by handler"`
	workAdvice       = `write it as the guard's Work names it, "per request", or as Prometheus does, "per http_requests_total"`
	amountExpected   = "an amount above zero"
	unitExpected     = "a number with a known unit"
)

func kindExpected() string   { return `a kind of profile after "of": ` + orList(kinds.Names()) }
func figureExpected() string { return orList(figures) + ` after "when"` }
