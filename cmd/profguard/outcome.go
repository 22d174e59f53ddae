package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/forms"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/words"
)

// outcomeForm is the version of an outcome as JSON. One that older readers would misread has a higher number.
const outcomeForm = 1

// An outcome is what check and diff write.
type outcome struct {
	Version    int                 `json:"version"` // of this form
	Overall    string              `json:"overall"` // kept, broken or undecided
	Profiles   []described         `json:"profiles"`
	Results    []budget.Result     `json:"results"` // as in status.json
	Balance    string              `json:"balance,omitempty"`
	Comparison *release.Comparison `json:"comparison,omitempty"` // of two builds

	command string
	code    *worktree
}

// outcomeFormats are the values of -o.
var outcomeFormats = []string{"text", "json", "markdown", "github", "junit"}

// word is a verdict as reports have it, for one budget or all.
func word(v budget.Verdict) string {
	return map[budget.Verdict]string{budget.Pass: "kept", budget.Fail: "broken", budget.Inconclusive: "undecided"}[v]
}

// level is that of an annotation.
func level(v budget.Verdict) string {
	return map[budget.Verdict]string{budget.Pass: "notice", budget.Fail: "error", budget.Inconclusive: "warning"}[v]
}

// count is the number of results with a verdict.
func (r *outcome) count(v budget.Verdict) (n int) {
	for _, result := range r.Results {
		if result.Verdict == v {
			n++
		}
	}
	return n
}

// overall is the verdict on all budgets together.
func (r *outcome) overall() budget.Verdict {
	for _, v := range []budget.Verdict{budget.Fail, budget.Inconclusive} {
		if r.count(v) > 0 {
			return v
		}
	}
	return budget.Pass
}

// summary is the outcome in a line.
func (r *outcome) summary() string {
	return fmt.Sprintf("%d kept, %d broken, %d undecided", r.count(budget.Pass), r.count(budget.Fail), r.count(budget.Inconclusive))
}

// write writes the outcome, and returns the exit status.
func (r *outcome) write(o *outputs) (status int, err error) {
	v := r.overall()
	r.Version, r.Overall = outcomeForm, word(v)
	r.code = worktreeAt(".")
	r.locate()
	if err := o.write(r.as); err != nil {
		return exitMisuse, err
	}
	return map[budget.Verdict]int{budget.Pass: exitKept, budget.Fail: exitBroken, budget.Inconclusive: exitUndecided}[v], nil
}

// as writes the outcome in a format.
func (r *outcome) as(w io.Writer, format string) error {
	switch format {
	case "json":
		return forms.JSON(w, r)
	case "junit":
		return r.junit().Write(w)
	}
	map[string]func(io.Writer){"text": r.text, "markdown": r.markdown, "github": r.github}[format](w)
	return nil
}

// locate gives files their paths in the repository, where they are in it.
func (r *outcome) locate() {
	for i := range r.Results {
		for j := range r.Results[i].Offenders {
			r.code.locate(&r.Results[i].Offenders[j])
		}
	}
	if r.Comparison != nil {
		for i := range r.Comparison.Functions {
			f := &r.Comparison.Functions[i]
			for _, at := range []*release.Frame{&f.Line, &f.Blame} {
				at.File = r.code.relative(at.Function, at.File)
			}
		}
	}
}

// text writes for people.
func (r *outcome) text(w io.Writer) {
	if r.Comparison != nil {
		balanceText(w, r)
	} else {
		for _, p := range r.Profiles {
			if !p.Base {
				fmt.Fprintln(w, p)
			}
		}
	}
	fmt.Fprintln(w)
	for _, result := range r.Results {
		fmt.Fprintln(w, result)
	}
	fmt.Fprintf(w, "\n%s\n", r.summary())
}

// markdown writes a comment for a pull request: first what is broken.
func (r *outcome) markdown(w io.Writer) {
	fmt.Fprintf(w, "**profguard %s: %s** (%s).\n\n", r.command, r.Overall, r.summary())
	if r.Comparison != nil {
		balanceMarkdown(w, r)
	} else {
		for _, p := range r.Profiles {
			if !p.Base {
				fmt.Fprintf(w, "%s\n\n", forms.Escape(p.String()))
			}
		}
	}
	rows := make([][]string, 0, len(r.Results))
	for _, v := range []budget.Verdict{budget.Fail, budget.Inconclusive, budget.Pass} {
		for i := range r.Results {
			if result := &r.Results[i]; result.Verdict == v {
				function, at := "", ""
				if places := placesOf(result, blameOf); len(places) > 0 && v != budget.Pass {
					owner := words.Owned((*judge.Frame)(&result.Offenders[0].Owner))
					function, at = forms.Code(places[0].function), forms.Escape(places[0].String()+owner)
				}
				rows = append(rows, []string{word(v), forms.Code(result.Budget.String()), forms.Escape(result.Reason), function, at})
			}
		}
	}
	header := []string{"", "budget", "why", "worst", "line"}
	if !slices.ContainsFunc(rows, func(row []string) bool { return row[3] != "" }) {
		header = header[:3]
		for i := range rows {
			rows[i] = rows[i][:3]
		}
	}
	fmt.Fprint(w, forms.Table(header, rows))
}

// junit has a test case for each budget. What is undecided counts as skipped, with its reason and what was found.
func (r *outcome) junit() *forms.Suite {
	s := &forms.Suite{Name: "profguard " + r.command}
	for _, p := range r.Profiles {
		if took := time.Duration(p.Seconds * 1e9); !p.Base && took > s.Took {
			s.Took = took
		}
	}
	var changes strings.Builder
	if r.Comparison != nil {
		balanceText(&changes, r)
	}
	for i := range r.Results {
		result := &r.Results[i]
		c := forms.Case{
			Class: "profguard." + r.command, Name: cmp.Or(result.Budget.Name, result.Budget.String()),
			Failed: result.Verdict == budget.Fail, Skipped: result.Verdict == budget.Inconclusive,
			Message: pattern.Visible(result.Reason),
		}
		switch {
		case c.Failed:
			c.Text = strings.TrimSpace(result.String() + "\n\n" + changes.String())
		case c.Skipped && changes.Len() > 0:
			c.Out = strings.TrimSpace(changes.String()) // where to look, which few samples show as well
		case c.Skipped && len(result.Offenders) > 0:
			c.Out = result.String()
		case !c.Skipped:
			c.Out = c.Message
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

// A place is a line of the program to look at, and the offender that it leads to.
type place struct {
	function string
	file     string
	line     int
}

// String is the line, "" if it is not known.
func (p place) String() string {
	if p.file == "" {
		return ""
	}
	return words.Place(&judge.Frame{File: p.file, Line: p.line})
}

// annotate writes an annotation, beside a line if that is in the repository.
func (r *outcome) annotate(w io.Writer, p place, v budget.Verdict, title, text string) {
	a := forms.Annotation{Level: level(v), Title: title, Text: text}
	if r.code.has(p.file) {
		a.File, a.Line = p.file, p.line
	} else if at := p.String(); at != "" {
		a.Text += "\n" + at
	}
	fmt.Fprint(w, a)
}

// blameOf is the line that an offender is blamed on.
func blameOf(o *budget.Offender) budget.Frame {
	if o.Blame.File != "" {
		return o.Blame
	}
	if o.Within.Function != "" { // of a value
		return o.Within
	}
	return o.Frame
}

// ownerOf is the line of the function that makes an offender expensive, or what it is blamed on.
func ownerOf(o *budget.Offender) budget.Frame {
	if o.Owner.File != "" {
		return o.Owner
	}
	return blameOf(o)
}

// placesOf are the lines to look at, of the worst offender first. Several offenders at one line, as those of
// a chain of calls, are one.
func placesOf(r *budget.Result, line func(*budget.Offender) budget.Frame) (places []place) {
	for i := range r.Offenders {
		o := &r.Offenders[i]
		at := line(o)
		p := place{o.Function, at.File, at.Line}
		if !slices.ContainsFunc(places, func(q place) bool { return q.file == p.file && q.line == p.line }) {
			places = append(places, p)
		}
	}
	return places
}

// github writes annotations, which GitHub shows beside the lines of a pull request.
func (r *outcome) github(w io.Writer) {
	if r.Comparison != nil {
		balanceGithub(w, r)
	} else {
		for i := range r.Results {
			result := &r.Results[i]
			if result.Verdict == budget.Pass {
				continue
			}
			title := "profguard: " + result.Budget.String()
			places := placesOf(result, ownerOf)
			if len(places) == 0 || result.Verdict != budget.Fail { // lines only for what is proved
				r.annotate(w, place{}, result.Verdict, title, result.Reason)
				continue
			}
			r.annotate(w, places[0], result.Verdict, title, result.String())
			for _, p := range places[1:] {
				r.annotate(w, p, result.Verdict, title, p.function+" is over the limit, too")
			}
		}
	}
	text := r.summary()
	if r.Balance != "" {
		text = r.Balance
	}
	r.annotate(w, place{}, r.overall(), "profguard "+r.command+": "+r.Overall, text)
}
