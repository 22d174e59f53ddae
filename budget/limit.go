package budget

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// checkLimit reports a limit whose number or unit makes no sense.
func (b Budget) checkLimit(report func(mistake)) {
	c, dim, list := classOf(b.Subject), b.Limit.dimension(), fits(b)
	m := mistake{part: partLimit}
	fix := func(meant bool, change func(*Budget)) {
		other := b
		change(&other)
		m.fix, m.meant = &other, meant
	}
	i := slices.IndexFunc(list, func(f fit) bool { return f.dim == dim })
	switch {
	case b.Rule == "absent", b.Rule == "leaked":
		if b.Limit == (Amount{}) {
			return
		}
		m.expected, m.advice = `no amount after "`+b.Rule+`"`, "leave it out"
	case b.Rule == "steady" && b.Limit == (Amount{}):
		return
	case len(list) == 0 && b.Rule == "grows":
		m.part, m.expected = partKind, "no growth of "+b.Kind+": it would be of a share, and contention always adds up to 100%"
		if c == judge.Process {
			m.expected = `cpu or allocs after "process grows"`
		}
		fix(false, func(b *Budget) { b.Kind = "" })
	case len(list) == 0:
		m.part, m.expected = partKind, `cpu, allocs or heap after "process"`
		fix(false, func(b *Budget) { b.Subject = "no function" })
	case dim == unit.Unknown:
		m.expected, m.advice = "a known unit", unitsAdvice
		for _, u := range unit.Meant(b.Limit.Unit) {
			if slices.ContainsFunc(list, func(f fit) bool { return f.dim == u.Dimension }) {
				fix(true, func(b *Budget) { b.Limit.Unit = u.Name })
			}
		}
	case !(b.Limit.Value > 0) || math.IsInf(b.Limit.Value, 1):
		m.expected, m.advice = "an amount above zero", "say how much is too much"
		if b.Limit.Value == 0 && c == judge.Pattern && b.Rule == "" {
			fix(true, func(b *Budget) { b.Rule, b.Limit, b.Flat, b.Per = "absent", Amount{}, false, "" })
		}
	case i < 0:
		m.expected = fitsText(list) + " for " + b.about()
		if usual := b.usualLimit(); usual.Value == b.Limit.Value && b.Per == "" && (dim == unit.Count || dim == unit.Points) {
			// 64 without a unit may be KiB as well as MiB, and points are no growth in %.
			fix(dim == unit.Count && usual.Unit != "MiB" || dim == unit.Points && b.Rule == "", func(b *Budget) { b.Limit = usual })
		}
		for _, kind := range []string{kinds.Goroutine, kinds.Heap, kinds.Allocs} {
			other := b.with(partKind, Budget{Kind: kind})
			goes := func(f fit) bool { return f.dim == dim && (f.per == perMay || b.Per == "" && f.per == perNever) }
			if b.Limit.Value >= 1 && b.Kind == "" && b.takes(partKind) && m.fix == nil && slices.ContainsFunc(fits(other), goes) {
				m.fix = &other
			}
		}
	case list[i].per == perMust && b.Per == "":
		m.expected = fitsText(list[i : i+1])
		if dim == unit.Time && b.Kind == "" {
			m.expected += ", which is CPU time and no latency"
		}
		// "500m" is half a core to Kubernetes, and growth in % may be meant in points.
		if b.Limit.Unit != "m" && (dim == unit.Time || c == judge.Process) {
			fix(true, func(b *Budget) { b.Per = "request" })
		}
	case list[i].per == perNever && b.Per != "":
		m.part, m.expected, m.advice = partPer, `no "per" after `+b.Limit.String(), `leave "per" out`
		fix(false, func(b *Budget) { b.Per = "" })
	default:
		if m.expected, m.advice = list[i].rangeMistake(b.Limit.Value, b.Per != ""); m.expected == "" {
			return
		}
	}
	report(m)
}

// about names what a limit is of.
func (b Budget) about() string {
	switch c := classOf(b.Subject); {
	case c == judge.Figure || c == judge.Process:
		about := strings.TrimSpace(b.Subject + " " + b.Rule)
		if b.Kind != "" {
			about += " of " + b.Kind
		}
		return strconv.Quote(about)
	case b.Rule == "grows":
		return "growth in the " + cmp.Or(b.Kind, kinds.CPU) + " profile"
	}
	return "the " + cmp.Or(b.Kind, kinds.CPU) + " profile"
}

// rangeMistake returns what is wrong with a number that no measurement can reach, or
// that is no number of pieces.
func (f fit) rangeMistake(v float64, per bool) (expected, advice string) {
	switch {
	case f.dim == unit.Share && f.per == perNever && v >= 100:
		return "less than 100%, which no share exceeds", "a share is of all that the profile holds"
	case f.dim == unit.Points && v >= 100:
		return "less than 100 points, as no share grows by more", "a share is of all that the profile holds"
	case f.dim == unit.Count && !per && v != math.Trunc(v):
		return "a whole number", "round it"
	}
	return "", ""
}

// checkClauses reports what is wrong inside the clauses.
func (b Budget) checkClauses(report func(mistake)) {
	if work, ok := unit.ParseWork(b.Per); b.Per != "" && (!ok || startsWithNumber(b.Per) || isKeyword(work.Name) || isTime(work.Name)) {
		m := mistake{part: partPer, expected: `the name of a unit of work after "per"`}
		m.advice = `write it as the guard's Work names it, "per request", or as Prometheus does, "per http_requests_total"`
		if isTime(b.Per) {
			m.advice = `"per" divides by work and not by time: CPU per time is cores, "process below 1.5 cores"`
		}
		report(m)
	}
	for _, p := range b.Except {
		if p == "none" && len(b.Except) > 1 {
			report(mistake{part: partExcept, expected: `"except none" alone, or patterns`, advice: `leave out "none", or leave out the patterns`})
		}
		if m, wrong := patternMistake(p, partExcept); wrong && p != "none" {
			report(m)
		}
	}
	if m, wrong := patternMistake(b.In, partIn); wrong && b.In != "" {
		report(m)
	}
	if b.When != (Condition{}) {
		b.When.check(report)
	}
	switch {
	case b.ForWindows < 0:
		report(mistake{part: partFor, expected: "a whole number of windows, 1 or more", advice: "use 0 to leave it out"})
	case b.ForTime < 0:
		report(mistake{part: partFor, expected: "a duration above zero", advice: "use 0 to leave it out"})
	case b.ForWindows > 0 && b.ForTime > 0:
		report(mistake{part: partFor, expected: "windows or time, not both", advice: "set one of ForWindows and ForTime"})
	}
}

// check reports what is wrong with a condition: its figures take the units that they have
// as subjects.
func (c Condition) check(report func(mistake)) {
	about := Budget{Subject: c.Figure, Rule: "steady", Limit: c.Amount} // whose limit is a plain figure
	switch {
	case !slices.Contains(figures, c.Figure):
		report(mistake{part: partWhen, expected: orList(figures) + ` after "when"`})
	case c.Amount == (Amount{}):
		report(mistake{part: partWhen, expected: "an amount above zero", advice: "say how much is too much"})
	default:
		about.checkLimit(func(m mistake) {
			report(mistake{part: partWhen, advice: m.advice,
				expected: strings.ReplaceAll(m.expected, "for "+about.about(), `after "when `+c.Figure+`"`)})
		})
	}
}

// isTime reports whether a unit of work is none but a span of time.
func isTime(per string) bool {
	return slices.ContainsFunc(unit.Meant(per), func(u unit.Unit) bool { return u.Dimension == unit.Time }) || strings.EqualFold(per, "day")
}
