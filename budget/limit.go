package budget

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// checkLimit reports a limit whose number or unit makes no sense.
func (b Budget) checkLimit(report func(mistake)) {
	c, dim, list := classOf(b.Subject), b.Limit.dimension(), fits(b)
	m := mistake{part: partLimit, found: b.Limit.String()}
	switch {
	case b.Rule == "absent", b.Rule == "leaked":
		if b.Limit != (Amount{}) {
			m.expected, m.advice = `no amount after "`+b.Rule+`"`, "leave it out"
			report(m)
		}
		return
	case b.Rule == "steady" && b.Limit == (Amount{}):
		return
	case len(list) == 0:
		m.part, m.found, m.expected = partKind, "of "+b.Kind, `cpu, allocs or heap after "process"`
		m.meant = []Budget{{Name: b.Name, Subject: "goroutines", Limit: b.Limit}}
		if b.Kind != "goroutine" {
			m.meant, m.like = nil, right(Budget{Subject: "no function", Kind: b.Kind})
		}
		if b.Rule == "grows" {
			m.expected = `cpu or allocs after "process grows"`
			if c != classProcess {
				m.expected = "no growth of " + b.Kind + ": it would be of a share, and contention always adds up to 100%"
			}
		}
		report(m)
		return
	}
	if m.expected, m.advice = amountMistake(b.Limit); m.expected != "" {
		if b.Limit.Value == 0 && c == classPattern && b.Rule == "" {
			absent := b
			absent.Rule, absent.Limit, absent.Flat, absent.Per = "absent", Amount{}, false, ""
			m.meant = []Budget{absent}
		}
		report(m)
		return
	}
	meant := func(change func(*Budget)) {
		other := b
		change(&other)
		m.meant = append(m.meant, other)
	}
	i := slices.IndexFunc(list, func(f fit) bool { return f.dim == dim })
	switch {
	case i < 0:
		m.expected = fitsText(list) + " for " + b.about()
		if kinds.Of(b.Kind).Sampling == kinds.Contention && dim == dimShare {
			m.expected += ", of which a share always adds up to 100%"
			meant(func(b *Budget) { b.Limit = Amount{0.1, "cores"} })
		}
		if dim == dimCount && list[0].dim != dimBytes && b.Limit.Value >= 1 { // a number without a unit
			meant(func(b *Budget) {
				b.Limit.Unit = map[dimension]string{dimShare: "%", dimPoints: "points", dimCores: "cores"}[list[0].dim]
			})
		}
		for _, kind := range []string{"goroutine", "heap", "allocs", "mutex"} {
			other := b
			other.Kind = kind
			if b.Kind == "" && m.like.Subject == "" && other.valid() {
				m.like = other
			}
		}
		if dim == dimPoints {
			meant(func(b *Budget) { b.Limit.Unit = "%" })
		}
	case list[i].per == perMust && b.Per == "":
		m.expected = fitsText(list[i : i+1])
		if dim == dimTime {
			m.expected += ", which is CPU time and no latency"
			if b.Kind != "" {
				m.expected = fitsText(list[i : i+1])
			}
		}
		// "500m" is half a core to Kubernetes, and growth in % may be meant in points.
		if b.Limit.Unit != "m" && (dim == dimTime || c == classProcess) {
			meant(func(b *Budget) { b.Per = "request" })
		}
	case list[i].per == perNever && b.Per != "":
		m.part, m.found, m.expected = partPer, "per "+b.Per, `no "per" after `+b.Limit.String()
		m.advice = `leave "per" out`
	default:
		if m.expected, m.advice = list[i].rangeMistake(b.Limit.Value, b.Per != ""); m.expected == "" {
			return
		}
		if rounded := b; dim == dimCount && b.Limit.Value > 1 {
			rounded.Limit.Value = math.Ceil(b.Limit.Value)
			m.like = right(rounded)
		}
	}
	report(m)
}

// about names what a limit is of.
func (b Budget) about() string {
	switch c := classOf(b.Subject); {
	case c == classFigure || c == classProcess:
		about := strings.TrimSpace(b.Subject + " " + b.Rule)
		if b.Kind != "" {
			about += " of " + b.Kind
		}
		return strconv.Quote(about)
	case b.Rule == "grows":
		return "growth in the " + kindText(b.Kind) + " profile"
	}
	return "the " + kindText(b.Kind) + " profile"
}

// rangeMistake returns what is wrong with a number that no measurement can reach, or
// that is no number of pieces.
func (f fit) rangeMistake(v float64, per bool) (expected, advice string) {
	switch {
	case f.dim == dimShare && f.per == perNever && v >= 100:
		return "less than 100%, which no share exceeds", "a share is of all that the profile holds"
	case f.dim == dimPoints && v >= 100:
		return "less than 100 points, as no share grows by more", "a share is of all that the profile holds"
	case f.dim == dimCount && !per && v != math.Trunc(v):
		return "a whole number", "round it"
	}
	return "", ""
}

// amountMistake returns what is wrong with an amount whatever it is for.
func amountMistake(a Amount) (expected, advice string) {
	switch {
	case a.dimension() == dimUnknown:
		if u, ok := unit.Meant(a.Unit); ok {
			return "a known unit", `write the unit as "` + u.Name + `"`
		}
		return "a known unit", unitsAdvice
	case !(a.Value > 0) || math.IsInf(a.Value, 1):
		return "an amount above zero", "say how much is too much"
	}
	return "", ""
}

// checkClauses reports what is wrong inside the clauses.
func (b Budget) checkClauses(report func(mistake)) {
	if work, ok := unit.ParseWork(b.Per); b.Per != "" && (!ok || startsWithNumber(b.Per) || isKeyword(work.Name) || isTime(work.Name)) {
		m := mistake{part: partPer, found: "per " + b.Per, expected: `the name of a unit of work after "per"`}
		m.advice = `write it as the guard's Work names it, "per request", or as Prometheus does, "per http_requests_total"`
		perRequest := b
		perRequest.Per = "request"
		m.like = right(perRequest)
		if isTime(b.Per) {
			m.advice = `"per" divides by work and not by time: CPU per time is cores, "process below 1.5 cores"`
		}
		report(m)
	}
	for _, p := range b.Except {
		if p == "none" && len(b.Except) > 1 {
			report(mistake{part: partExcept, found: "except " + strings.Join(b.Except, ", "), expected: `"except none" alone, or patterns`,
				advice: `leave out "none", or leave out the patterns`})
		}
		if m, wrong := patternMistake(p, partExcept); wrong && p != "none" {
			report(m)
		}
	}
	if m, wrong := patternMistake(b.In, partIn); wrong && b.In != "" {
		report(m)
	}
	if b.When != (Condition{}) {
		if m, wrong := conditionMistake(b); wrong {
			report(m)
		}
	}
	switch {
	case b.ForWindows < 0:
		report(mistake{part: partFor, found: strconv.Itoa(b.ForWindows), expected: "a whole number of windows, 1 or more", advice: "use 0 to leave it out"})
	case b.ForTime < 0:
		report(mistake{part: partFor, found: b.ForTime.String(), expected: "a duration above zero", advice: "use 0 to leave it out"})
	case b.ForWindows > 0 && b.ForTime > 0:
		report(mistake{part: partFor, found: durationText(b.ForTime), expected: "windows or time, not both", advice: "set one of ForWindows and ForTime"})
	}
}

// isTime reports whether a unit of work is none but a span of time.
func isTime(per string) bool {
	u, _ := unit.Meant(per)
	return u.Dimension == dimTime || strings.EqualFold(per, "day")
}

// conditionMistake returns what is wrong with the condition. Its figures take
// the units that they have as subjects.
func conditionMistake(b Budget) (mistake, bool) {
	c := b.When
	m := mistake{part: partWhen, found: c.String()}
	if !slices.Contains(figures, c.Figure) {
		m.expected = orList(figures) + ` after "when"`
		b.When = Condition{Figure: "process", Amount: Amount{0.1, "cores"}}
		m.like = right(b)
		return m, true
	}
	if m.expected, m.advice = amountMistake(c.Amount); m.expected != "" {
		return m, true
	}
	f := fits(Budget{Subject: c.Figure})[0]
	if c.Amount.dimension() != f.dim {
		m.expected = fitsText([]fit{f}) + ` after "when ` + c.Figure + `"`
		b.When.Amount = right(Budget{Subject: c.Figure, Limit: c.Amount}).Limit
		m.like = right(b)
		return m, true
	}
	if m.expected, m.advice = f.rangeMistake(c.Amount.Value, false); m.expected == "" {
		return m, false
	}
	b.When.Amount = right(Budget{Subject: c.Figure}).Limit
	m.like = right(b)
	return m, true
}
