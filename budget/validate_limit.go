package budget

import (
	"math"
	"strconv"
	"strings"
)

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

// fits returns what the limit of a budget may be, the most usual first.
func fits(c class, b Budget) []fit {
	kind := b.Kind
	if kind == "" {
		kind = "cpu"
	}
	switch {
	case b.Subject == "goroutines":
		return []fit{{dimCount, perNever}}
	case b.Subject == "heap", b.Subject == "rss":
		return []fit{{dimBytes, perNever}}
	case b.Subject == "gc":
		return []fit{{dimShare, perNever}}
	case c == classProcess && b.Rule == "steady":
		return []fit{{dimCores, perNever}}
	case c == classProcess && b.Rule == "grows":
		if kind == "cpu" || kind == "allocs" {
			return []fit{{dimShare, perMust}}
		}
		return nil
	case c == classProcess:
		switch kind {
		case "cpu":
			return []fit{{dimCores, perNever}, {dimTime, perMust}}
		case "allocs":
			return []fit{{dimBytes, perMay}, {dimCount, perMay}}
		case "heap":
			return []fit{{dimBytes, perNever}}
		}
		return nil
	case b.Rule == "grows":
		if kind == "cpu" || kind == "allocs" {
			return []fit{{dimPoints, perNever}, {dimShare, perMust}}
		}
		return []fit{{dimPoints, perNever}}
	}
	switch kind {
	case "cpu":
		return []fit{{dimShare, perNever}, {dimCores, perNever}, {dimTime, perMust}}
	case "heap":
		return []fit{{dimShare, perNever}, {dimBytes, perNever}, {dimCount, perNever}}
	case "allocs":
		return []fit{{dimShare, perNever}, {dimBytes, perMay}, {dimCount, perMay}}
	case "goroutine":
		return []fit{{dimShare, perNever}, {dimCount, perNever}}
	}
	return []fit{{dimShare, perNever}, {dimTime, perMust}, {dimCount, perMay}} // mutex, block
}

// fitsText lists fits as messages show them.
func fitsText(list []fit) string {
	var texts []string
	for _, f := range list {
		text := ""
		switch f.dim {
		case dimShare:
			text = "%"
		case dimPoints:
			text = "points"
		case dimCores:
			text = "cores"
		case dimTime:
			text = "a duration"
		case dimBytes:
			text = "bytes"
		case dimCount:
			text = "a count"
		}
		switch f.per {
		case perMust:
			text += " per unit of work"
		case perMay:
			text += " (alone or per unit of work)"
		}
		texts = append(texts, text)
	}
	if last := len(texts) - 1; last > 0 {
		return strings.Join(texts[:last], ", ") + " or " + texts[last]
	}
	return strings.Join(texts, "")
}

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
			if dim == dimShare && c != classProcess {
				m.expected = fitsText(list)
				m.remedy = `did you mean "` + Amount{b.Limit.Value, "points"}.String() + `" of share, or "` + b.Limit.String() + ` per request"?`
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
		about = strconv.Quote(strings.TrimSpace(b.Subject + " " + b.Rule))
	default:
		if b.Rule == "grows" {
			about = "growth in " + about
		}
	}
	m.expected = fitsText(list) + " for " + about
	m.remedy = unitRemedy(c, b, list)
	report(m)
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

// perNeverRemedy says why an amount cannot be divided by work.
func perNeverRemedy(dim dimension) string {
	switch dim {
	case dimCores:
		return `cores are CPU seconds per second already: leave "per" out, or write a duration, such as 2ms`
	case dimShare, dimPoints:
		return `a share is of the profile's total already: leave "per" out`
	}
	return `leave "per" out`
}

// unitRemedy guesses what was meant by a limit of the wrong dimension.
func unitRemedy(c class, b Budget, list []fit) string {
	has := func(dim dimension) bool {
		for _, f := range list {
			if f.dim == dim {
				return true
			}
		}
		return false
	}
	dim, v := b.Limit.dimension(), b.Limit.Value
	switch {
	case c == classPattern && nearest(b.Subject, "process", "goroutines") != "":
		return didYouMean(nearest(b.Subject, "process", "goroutines"))
	case c == classPattern && dim == dimBytes && b.Kind == "" && isMemory(b.Subject):
		return didYouMean("heap below "+b.Limit.String()) + ` The whole process is "rss".`
	case dim == dimShare && c == classProcess && b.Rule == "":
		return `the process is all of its profile, always 100%: ` + example(limitExample(b))
	case dim == dimCount && has(dimShare) && v < 1 && b.Per == "":
		return didYouMean(asPercent(v))
	case dim == dimCount && has(dimShare) && v < 100 && b.Per == "" && b.Rule == "":
		return didYouMean(Amount{v, "%"}.String())
	case dim == dimCount && has(dimPoints) && v < 100 && b.Per == "":
		return didYouMean(Amount{v, "points"}.String())
	case dim == dimCount && b.Kind == "" && c != classFigure && b.Rule == "" && b.Per == "":
		if c != classProcess {
			return didYouMean(b.Limit.String() + " of goroutine")
		}
	case dim == dimCount && has(dimBytes):
		return didYouMean(Amount{v, "MiB"}.String())
	case dim == dimPoints && has(dimShare) && b.Rule == "":
		return `points are for "grows": ` + didYouMean(Amount{v, "%"}.String())
	case dim == dimBytes && b.Kind == "" && c != classFigure && b.Rule == "":
		return didYouMean(b.Limit.String() + ` of heap" or "` + b.Limit.String() + " of allocs")
	case dim == dimCores && b.Kind != "" && b.Rule == "":
		return `cores are of the cpu profile: leave out "of ` + b.Kind + `"`
	case dim == dimTime && b.Rule == "" && (b.Kind == "heap" || b.Kind == "allocs"):
		return `time is of the cpu, mutex and block profiles: leave out "of ` + b.Kind + `"`
	}
	return example(limitExample(b))
}

// limitExample returns a sentence about the budget's subject with a limit that
// fits.
func limitExample(b Budget) string {
	b = Budget{Subject: b.Subject, Rule: b.Rule, Kind: b.Kind}
	f := fits(classOf(b.Subject), b)[0]
	switch f.dim {
	case dimShare:
		b.Limit = Amount{5, "%"}
	case dimPoints:
		b.Limit = Amount{5, "points"}
	case dimCores:
		b.Limit = Amount{1.5, "cores"}
	case dimBytes:
		b.Limit = Amount{64, "MiB"}
	case dimCount:
		b.Limit = Amount{5000, ""}
	}
	if f.per == perMust {
		b.Per = "request"
	}
	return b.String()
}

func kindText(kind string) string {
	if kind == "" {
		return "cpu"
	}
	return kind
}

// asPercent writes a fraction as the percentage that was meant by it.
func asPercent(v float64) string {
	return Amount{math.Round(v*1e8) / 1e6, "%"}.String()
}

func isMemory(subject string) bool {
	switch strings.ToLower(subject) {
	case "memory", "mem", "ram", "heep", "hep", "alloc", "process":
		return true
	}
	return nearest(subject, "memory") != ""
}
