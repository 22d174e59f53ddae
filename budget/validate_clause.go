package budget

import (
	"slices"
	"strconv"
	"strings"
)

// checkClauses reports what is wrong inside the clauses.
func (b Budget) checkClauses(report func(mistake)) {
	if b.Per != "" {
		if m, wrong := perMistake(b.Per); wrong {
			if meant := perTimeRemedy(b.Kind, b.Per, b.Limit); meant != "" {
				m.remedy = meant
			}
			report(m)
		}
	}
	for _, p := range b.Except {
		if p == "none" {
			if len(b.Except) > 1 {
				report(mistake{partExcept, "except " + strings.Join(b.Except, ", "), `"except none" alone, or patterns`,
					`"none" lifts the exemption of scaffolding too: leave it out, or leave out the patterns`})
			}
			continue
		}
		if m, wrong := patternMistake(p, partExcept); wrong {
			report(m)
		}
	}
	if b.In != "" {
		if m, wrong := patternMistake(b.In, partIn); wrong {
			report(m)
		}
	}
	if b.When != (Condition{}) {
		if m, wrong := conditionMistake(b.When); wrong {
			report(m)
		}
	}
	switch {
	case b.ForWindows < 0:
		report(mistake{partFor, strconv.Itoa(b.ForWindows), "a whole number of windows, 1 or more", "use 0 to leave it out"})
	case b.ForTime < 0:
		report(mistake{partFor, b.ForTime.String(), "a duration above zero", "use 0 to leave it out"})
	case b.ForWindows > 0 && b.ForTime > 0:
		report(mistake{partFor, durationText(b.ForTime), "windows or time, not both", "set one of ForWindows and ForTime"})
	}
}

// nameOK reports whether text can be a name, or a unit of work.
func nameOK(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i > 0 && (c == '_' || c == '.' || c == '-'):
		default:
			return false
		}
	}
	return text != ""
}

func nameMistake(name string) (mistake, bool) {
	m := mistake{partName, name, `a name of letters, digits, "_", "." and "-" that begins with a letter or a digit`, ""}
	switch {
	case nameOK(name):
		return mistake{}, false
	case name == "":
		m.remedy = `write a name in front of the colon, or leave both out`
	default:
		m.remedy = "metrics and file names carry it: keep it plain, like checkout-tls"
	}
	return m, true
}

func perMistake(per string) (mistake, bool) {
	m := mistake{partPer, "per " + per, `the name of a unit of work after "per"`, `write it as the guard's Work names it: "per request"`}
	switch {
	case isKeyword(per):
	case isPerTime(per):
		m.remedy = `"per" divides by work, not by time: CPU per time is cores, "process below 1.5 cores"`
	case nameOK(per) && !startsWithNumber(per):
		return mistake{}, false
	}
	return m, true
}

// noRate says why allocations are not limited per second.
const noRate = "allocations have no rate per second, only an amount in the window or per unit of work: "

// perTimeRemedy returns what to write instead of allocations over time, "" for
// anything else.
func perTimeRemedy(kind, per string, limit Amount) string {
	dim := limit.dimension()
	if !isPerTime(per) || dim != dimBytes && dim != dimCount || kind != "" && kind != "allocs" && kind != "heap" {
		return ""
	}
	meant := Budget{Subject: "process", Limit: limit, Per: "request", Kind: "allocs"}
	if meant.Validate() != nil {
		return ""
	}
	return noRate + example(meant.String())
}

// isPerTime reports whether a unit of work is none but a span of time.
func isPerTime(per string) bool {
	switch strings.ToLower(per) {
	case "s", "sec", "second", "m", "min", "minute", "h", "hour", "day":
		return true
	}
	return false
}

func kindMistake(kind string) (mistake, bool) {
	kinds := []string{"cpu", "heap", "allocs", "goroutine", "mutex", "block"}
	if slices.Contains(kinds, kind) {
		return mistake{}, false
	}
	m := mistake{partKind, "of " + kind, `a kind of profile after "of": ` + strings.Join(kinds[:5], ", ") + " or block", `leave "of" out for cpu`}
	if meant := kindMeant(kind); meant != "" {
		m.remedy = didYouMean("of " + meant)
	}
	return m, true
}
