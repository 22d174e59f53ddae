package budget

import (
	"math"
	"strings"
)

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
	if _, wrong := perMistake(b.Per); b.Per != "" && wrong {
		b.Per = "request" // the wrong one is a mistake of its own
	}
	figure := ""
	if c == classPattern && b.Rule == "" {
		figure = nearest(b.Subject, "process", "goroutines")
	}
	switch {
	case figure != "" && Budget{Subject: figure, Limit: b.Limit, Per: b.Per, Kind: b.Kind}.Validate() == nil:
		return didYouMean(figure)
	case isCores(b.Subject) && dim == dimCount && b.Kind == "" && b.Rule == "" && b.Per == "":
		meant := Budget{Name: b.Name, Subject: "process", Limit: Amount{v, "cores"}, When: b.When, ForWindows: b.ForWindows, ForTime: b.ForTime}
		return didYouMean(firstValid([]Budget{meant, {Subject: "process", Limit: meant.Limit}}).String())
	case c == classPattern && dim == dimBytes && b.Kind == "" && isMemory(b.Subject):
		return didYouMean("heap below "+b.Limit.String()) + ` The whole process is "rss".`
	case (dim == dimCount || dim == dimBytes) && b.Per != "" && b.Kind == "" && b.Rule == "" && c != classFigure:
		return didYouMean(Budget{Subject: b.Subject, Limit: b.Limit, Per: b.Per, Kind: "allocs"}.String())
	case dim == dimShare && c == classProcess && b.Rule == "" && has(dimCores) && b.Per == "":
		return `the process is all of its profile, always 100%; ` + ofOneCore + didYouMean(coresOf(v).String())
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
	case dim == dimCores && b.Kind != "" && c != classFigure && b.Rule == "":
		return `cores are of the cpu profile: leave out "of ` + b.Kind + `"`
	case dim == dimTime && c != classFigure && b.Rule == "" && (b.Kind == "heap" || b.Kind == "allocs"):
		return `time is of the cpu, mutex and block profiles: leave out "of ` + b.Kind + `"`
	}
	return example(limitExample(b))
}

// limitExample returns a sentence about the budget's subject with a limit that
// fits.
func limitExample(b Budget) string {
	b = Budget{Subject: b.Subject, Rule: b.Rule, Kind: b.Kind}
	if may, _ := accepted(b.Subject, b.Rule); !may.kind {
		b.Kind = ""
	}
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

// ofOneCore says what coresOf does.
const ofOneCore = "taking one core as 100%, "

// coresOf writes a percentage as tools that count 100% a core mean it.
func coresOf(percent float64) Amount {
	return Amount{math.Round(percent*1e6) / 1e8, "cores"}
}

// isCores reports whether a pattern, before a bare number, is the unit of that. It
// is a package's name as well, and before any other amount it stands for one.
func isCores(subject string) bool {
	return strings.EqualFold(subject, "core") || strings.EqualFold(subject, "cores")
}

// isMemory reports whether a pattern looks like an attempt at the heap.
func isMemory(subject string) bool {
	return nearest(subject, "memory", "heap") != ""
}
