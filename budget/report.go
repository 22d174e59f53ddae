package budget

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// String is the report that a person reads: the verdict in a line, and for each
// chain of offenders a few more.
//
//	FAIL no function above 20% cumulative
//	  ...
func (r Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", strings.ToUpper(r.Verdict.String()), r.Budget)
	if r.Reason != "" {
		fmt.Fprintf(&b, "\n  %s", r.Reason)
	}
	dim := r.Budget.offenderDimension()
	for i, c := range chains(r.Offenders) {
		fmt.Fprintf(&b, "\n  %d. %s", i+1, c.text(r.Budget, dim))
	}
	if more := r.Over - len(r.Offenders); more > 0 && len(r.Offenders) > 0 && classOf(r.Budget.Subject) == judge.Each {
		what := "more " + strings.TrimPrefix(r.Budget.Subject, "no ") // function or package
		fmt.Fprintf(&b, "\n  %s over the limit", unit.Plural(more, what))
		if len(r.Offenders) < judge.MaxOffenders {
			b.WriteString(", calling those above or called by them")
		}
	}
	return b.String()
}

// chains groups the offenders: whoever is on the way in to one that was listed
// before belongs to its chain.
func chains(offenders []Offender) []offenderChain {
	var list []offenderChain
next:
	for _, o := range offenders {
		for i, c := range list {
			if slices.ContainsFunc(c[0].Callers, func(f Frame) bool { return f.Function == o.Function }) {
				list[i] = append(c, o)
				continue next
			}
		}
		list = append(list, offenderChain{o})
	}
	return list
}

// An offenderChain is offenders that call each other, the deepest first.
type offenderChain []Offender

// text shows a line for each offender of the chain, and beneath them the user's
// line, who calls them, and what they call.
func (c offenderChain) text(budget Budget, dim unit.Dimension) string {
	var b strings.Builder
	wide := 0
	for _, o := range c {
		wide = max(wide, len(o.Function))
	}
	for i, o := range c {
		if i > 0 {
			b.WriteString("\n     ")
		}
		fmt.Fprintf(&b, "%-*s  %s", wide, o.Function, share(o.Frame, budget, dim))
		if o.High > o.Low {
			fmt.Fprintf(&b, " (%s to %s)", unit.Format(o.Low, dim), unit.Format(o.High, dim))
		}
		if o.File != "" {
			fmt.Fprintf(&b, "  %s", place(o.File, o.Line))
		}
	}
	o := c[0]
	if f := o.calledFor(budget); f.Function != "" && f.Function != o.Blame.Function {
		fmt.Fprintf(&b, "\n       called for  %s (%.0f%% of it)", f.Function, 100*f.Share/o.Share)
	}
	switch o.Blame.Function {
	case o.Function:
	case "":
		b.WriteString("\n       nothing in your module has most of it")
	default:
		fmt.Fprintf(&b, "\n       called from %s (%.0f%% of it)", o.Blame.Function, 100*o.Blame.Share/o.Share)
		if o.Blame.File != "" {
			fmt.Fprintf(&b, "  %s", place(o.Blame.File, o.Blame.Line))
		}
	}
	if len(o.Callers) > 0 {
		fmt.Fprintf(&b, "\n       way in      %s", links(o.Callers, " < ", o.Share, dim))
	}
	if len(o.Callees) > 0 {
		fmt.Fprintf(&b, "\n       goes to     %s", links(o.Callees, " > ", o.Share, dim))
	}
	return b.String()
}

// calledFor is, of a function that everything ends in, such as a system call, the first
// caller outside the standard library that has half of it.
func (o Offender) calledFor(b Budget) Frame {
	if b.Subject != "no package" && charge.IsFloor(o.Function) {
		for _, f := range o.Callers {
			if !charge.IsStandard(f.Function) && f.Share >= o.Share/2 {
				return f
			}
		}
	}
	return Frame{}
}

// name is the offender as a sentence names it.
func (o Offender) name(budget Budget) string {
	if f := o.calledFor(budget); f.Function != "" {
		return o.Function + " (for " + f.Function + ")"
	}
	return o.Function
}

// kind is the kind of profile whose values are charged.
func (b Budget) kind() kinds.Kind {
	return kinds.Of(cmp.Or(subjectOf(b.Subject).kind, b.Kind, kinds.CPU))
}

// isCounted reports whether what is charged is counted and not sampled.
func (b Budget) isCounted() bool { return b.kind().Sampling == kinds.Counted }

// share is a frame's share and value: "48.85%, 35.56s".
func share(f Frame, budget Budget, dim unit.Dimension) string {
	text := unit.Format(f.Share, dim)
	if dim != unit.Share {
		return text
	}
	switch budget.kind().Sampling {
	case kinds.Memory:
		return text + ", " + unit.Format(f.Value, unit.Bytes)
	case kinds.Counted:
		return fmt.Sprintf("%s, %.0f", text, f.Value)
	}
	return text + ", " + unit.Format(f.Value, unit.Time)
}

// chainShown is how many links of a way a report shows from each end.
const chainShown = 4

// links shows a way, with the weight wherever it differs from the last one
// shown: "a > b > c (22.5%)" on the way out, "a < b < c" on the way in.
func links(frames []Frame, arrow string, from float64, dim unit.Dimension) string {
	var shown []string
	last, own, hidden := from, 0, 0
	for i, f := range frames {
		if len(frames) > 2*chainShown && i >= chainShown && i < len(frames)-chainShown {
			if f.Own {
				own++
			}
			if !f.Own || own > chainShown {
				hidden++
				continue
			}
		}
		if hidden > 0 {
			shown, hidden = append(shown, fmt.Sprintf("(%d more)", hidden)), 0
		}
		link := shortName(f.Function)
		if math.Abs(f.Share-last) > 0.02*last {
			link += " (" + unit.Format(f.Share, dim) + ")"
			last = f.Share
		}
		shown = append(shown, link)
	}
	return strings.Join(shown, arrow)
}

// shortName drops the directories of a function's package path.
func shortName(fn string) string {
	end := strings.IndexByte(fn, '[') // type arguments have paths of their own
	if end < 0 {
		end = len(fn)
	}
	if i := strings.LastIndexByte(fn[:end], '/'); i >= 0 {
		return fn[i+1:]
	}
	return fn
}

// place is a file and line. Of files in the module cache or in Go itself, the
// last directory is enough.
func place(file string, line int) string {
	if strings.Contains(file, "/pkg/mod/") || strings.Contains(file, "/src/") && !strings.Contains(file, "/home/") {
		file = path.Join(path.Base(path.Dir(file)), path.Base(file))
	}
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// offenderDimension is what the shares of a budget's offenders are.
func (b Budget) offenderDimension() unit.Dimension {
	if c := classOf(b.Subject); b.Rule == "" && (c == judge.Each || c == judge.Pattern) {
		return b.Limit.dimension()
	}
	return unit.Share
}

// samples is a number of samples, in words.
func samples(n int64) string { return unit.Plural(n, "sample") }

// round is format for a limit, which has no decimals that it does not need.
func round(v float64, dim unit.Dimension) string {
	if dim == unit.Share {
		return fmt.Sprintf("%.4g%%", 100*v)
	}
	return unit.Format(v, dim)
}
