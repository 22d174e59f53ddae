package budget

import (
	"math"
	"strconv"
	"strings"
)

// checkLimit reports a limit whose number or unit makes no sense.
func (b Budget) checkLimit(c class, report func(mistake)) {
	m := mistake{part: partLimit, found: b.Limit.String()}
	list := fits(c, b)
	switch {
	case b.Rule == "absent", b.Rule == "leaked":
		if b.Limit != (Amount{}) {
			m.expected, m.remedy = `no amount after "`+b.Rule+`"`, "leave it out"
			report(m)
		}
		return
	case b.Rule == "steady" && b.Limit == (Amount{}):
		return
	case len(list) == 0:
		m.part, m.found = partKind, "of "+b.Kind
		m.expected, m.remedy = `cpu, allocs or heap after "process"`, `for the goroutines write "goroutines below 5000", for one function "main.work below 20% of `+b.Kind+`"`
		if b.Rule == "grows" {
			m.expected, m.remedy = `cpu or allocs after "process grows"`, `growth over hours is "heap steady" or "goroutines steady"`
		}
		report(m)
		return
	}
	if m.expected, m.remedy = amountMistake(b.Limit); m.expected != "" {
		if b.Limit.Value == 0 && c == classPattern && b.Rule == "" {
			m.remedy = didYouMean(b.Subject + " absent")
		}
		report(m)
		return
	}
	b.checkUnit(c, list, report)
}

// checkUnit reports a unit that the kind of profile does not have.
func (b Budget) checkUnit(c class, list []fit, report func(mistake)) {
	m := mistake{part: partLimit, found: b.Limit.String()}
	dim := b.Limit.dimension()
	for _, f := range list {
		if f.dim != dim {
			continue
		}
		switch {
		case f.per == perMust && b.Per == "":
			m.expected = fitsText([]fit{f})
			m.remedy = didYouMean(b.Limit.String() + " per request")
			if dim == dimTime {
				m.remedy += b.timeText()
			}
			if b.Limit.Unit == "m" && len(list) > 1 && b.Kind == "" { // Kubernetes' thousandths of a core
				m.expected = fitsText(list)
				m.remedy = `"m" is minutes: ` + didYouMean(Amount{b.Limit.Value / 1000, "cores"}.String())
			}
			if dim == dimShare && c != classProcess {
				m.expected = fitsText(list)
				if b.Limit.Value < 100 { // no share grows by more
					m.remedy = `did you mean "` + Amount{b.Limit.Value, "points"}.String() + `" or "` + b.Limit.String() + ` per request"? Points are of the profile's total`
				}
			}
			report(m)
		case f.per == perNever && b.Per != "":
			m.part, m.found = partPer, "per "+b.Per
			m.expected, m.remedy = `no "per" after `+b.Limit.String(), perNeverRemedy(dim)
			report(m)
		default:
			b.checkRange(f, report)
		}
		return
	}
	about := "the " + kindText(b.Kind) + " profile"
	switch c {
	case classFigure, classProcess:
		about = strings.TrimSpace(b.Subject + " " + b.Rule)
		if b.Kind != "" {
			about += " of " + b.Kind
		}
		about = strconv.Quote(about)
	default:
		if b.Rule == "grows" {
			about = "growth in " + about
		}
	}
	m.expected = fitsText(list) + " for " + about
	m.remedy = unitRemedy(c, b, list)
	report(m)
}

// timeText says what time is limited, which is no latency, and what
// it is divided by where there are no requests.
func (b Budget) timeText() string {
	if b.Kind != "" {
		return ` In a test the unit of work is "per call".`
	}
	return ` That is CPU time, not latency; in a test the unit of work is "per call".`
}

// checkRange reports a number that no measurement can reach, or that is no
// number of pieces.
func (b Budget) checkRange(f fit, report func(mistake)) {
	m := mistake{part: partLimit, found: b.Limit.String()}
	v := b.Limit.Value
	switch {
	case f.dim == dimShare && f.per == perNever && v >= 100:
		m.expected, m.remedy = "less than 100%: no share is greater, so the limit could never be exceeded", "lower it, or leave the budget out"
	case f.dim == dimPoints && v >= 100:
		m.expected, m.remedy = "less than 100 points: no share grows by more, so the limit could never be exceeded", "lower it, or leave the budget out"
	case f.dim == dimCount && b.Per == "" && v != math.Trunc(v):
		m.expected, m.remedy = "a whole number", "round it"
		if v < 1 {
			m.remedy = didYouMean(asPercent(v))
		}
	default:
		return
	}
	report(m)
}

// amountMistake returns what is wrong with an amount whatever it is for.
func amountMistake(a Amount) (expected, remedy string) {
	switch {
	case a == Amount{}:
		return "an amount above zero", "say how much is too much"
	case a.dimension() == dimUnknown:
		expected = "a known unit"
		remedy = "units are " + unitList
		meant, ok := unitNamed(a.Unit)
		if !ok {
			meant = unitMeant(a.Unit)
		}
		if meant != "" {
			remedy = `write the unit as "` + strings.ReplaceAll(meant, " or ", `" or "`) + `"`
		}
		return expected, remedy
	case !positive(a.Value):
		return "an amount above zero", "say how much is too much"
	}
	return "", ""
}
