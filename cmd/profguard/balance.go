package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/forms"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/release"
)

// placeOf is the line to look at: that of the program's own module, if it is known.
func placeOf(f *release.Function) (frame release.Frame, p place) {
	if frame = f.Blame; frame.File == "" {
		frame = f.Line
	}
	return frame, place{f.Name, frame.File, frame.Line}
}

// A list is functions of a comparison with what they have in common.
type list struct {
	name      string
	functions []release.Function
}

// mostOpen is how many functions are listed that may cost more, and mostShares how many whose shares differ most.
const mostOpen, mostShares = 3, 5

// listsOf are the functions that cost more, less, those whose cost moved, and if a budget is undecided,
// the first that may cost more.
func listsOf(r *outcome) []list {
	c := r.Comparison
	if c.Why != "" {
		return sharesOf(c)
	}
	more, less, moved := c.Lists()
	perhaps, above := c.Above()
	undecided := len(more) == 0 && r.overall() == budget.Inconclusive
	var open []release.Function
	for _, f := range c.Functions {
		if undecided && f.Status == release.Undecided && !f.Above && f.Points.Value >= 0 && len(open) < mostOpen {
			open = append(open, f)
		}
	}
	return []list{{"more", more}, {perhaps, above}, {"maybe more", open}, {"less", less}, {"moved", moved}}
}

// sharesOf are the functions whose shares differ most, where there are too few samples for a verdict: those that
// surely differ, and then those that seem to by more than the limit, or at least one. What calls such a function is
// left out.
func sharesOf(c *release.Comparison) []list {
	var more, less []release.Function
	for _, f := range c.Functions {
		switch calls := f.Points.Low > 0 && !f.Above; {
		case f.Points.Value > 0 && !calls:
			more = append(more, f)
		case f.Points.Value < 0:
			less = append(less, f)
		}
	}
	slices.SortStableFunc(less, func(a, b release.Function) int {
		return cmp.Or(cmp.Compare(min(a.Points.High, 0), min(b.Points.High, 0)), cmp.Compare(a.Points.Value, b.Points.Value))
	})
	few := func(list []release.Function) []release.Function {
		n := 0
		for n < min(len(list), mostShares) {
			if p := list[n].Points; n > 0 && p.Low <= 0 && p.High >= 0 && math.Abs(p.Value) < c.Limit {
				break
			}
			n++
		}
		return list[:n]
	}
	return []list{{"larger shares, not judged", few(more)}, {"smaller shares, not judged", few(less)}}
}

// headline says what the new build costs, or why that is not known.
func headline(r *outcome) string {
	if r.Comparison.Why != "" {
		return r.Balance
	}
	return r.Comparison.Headline()
}

// balanceText writes what changed, for people.
func balanceText(w io.Writer, r *outcome) {
	c := r.Comparison
	line := func(format string, args ...any) { fmt.Fprintln(w, pattern.Visible(fmt.Sprintf(format, args...))) }
	line("%s", headline(r))
	for _, l := range listsOf(r) {
		if len(l.functions) > 0 {
			fmt.Fprintf(w, "\n%s:\n", strings.ToUpper(l.name[:1])+l.name[1:])
		}
		for i := range l.functions {
			f := &l.functions[i]
			line("  %s", c.Sentence(f))
			if f.Status == release.Moved {
				line("      %s", movedText(f))
			}
			if frame, p := placeOf(f); p.file != "" {
				if frame.Function != f.Name {
					line("      %s %s", frame.Function, p)
				} else {
					line("      %s", p)
				}
			}
		}
	}
	for _, note := range c.Notes {
		fmt.Fprintln(w)
		line("Note: %s", note)
	}
}

// movedText says why a function has not grown although it costs more.
func movedText(f *release.Function) string {
	if f.From != "" {
		return "was in " + f.From
	}
	return "its callers cost no more"
}

// balanceMarkdown writes what changed, for a pull request.
func balanceMarkdown(w io.Writer, r *outcome) {
	c := r.Comparison
	fmt.Fprintf(w, "%s\n\n", forms.Escape(headline(r)))
	var rows [][]string
	for _, l := range listsOf(r) {
		for i := range l.functions {
			f := &l.functions[i]
			_, p := placeOf(f)
			rows = append(rows, []string{l.name, forms.Code(f.Name), c.Amount(f.Before), c.Amount(f.Now), forms.Escape(f.PointsText()), forms.Escape(p.String())})
		}
	}
	if len(rows) > 0 {
		fmt.Fprintf(w, "%s\n", forms.Table([]string{"", "function", "before:", "now:", "points:", "line"}, rows))
	}
	for _, note := range c.Notes {
		fmt.Fprintf(w, "Note: %s\n\n", forms.Escape(note))
	}
}

// balanceGithub writes an annotation for each function that costs more: an error if a budget is broken.
func balanceGithub(w io.Writer, r *outcome) {
	more, _, _ := r.Comparison.Lists()
	for i := range more {
		_, p := placeOf(&more[i])
		r.annotate(w, p, budget.Fail, "profguard: "+more[i].Name, r.Comparison.Sentence(&more[i]))
	}
}
