package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/profguard/profguard/internal/release"
)

// diffFormats are the values of diff's -o.
var diffFormats = map[string]func(io.Writer, *difference) error{
	"text": diffText, "json": diffJSON, "markdown": diffMarkdown, "github": diffGithub,
}

func diffJSON(w io.Writer, d *difference) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(d)
}

// place is the line to look at: that of the program's own module, if it is known.
func place(f *release.Function) (frame release.Frame, text string) {
	if frame = f.Blame; frame.File == "" {
		frame = f.Line
	}
	if frame.File == "" {
		return frame, ""
	}
	return frame, fmt.Sprintf("%s:%d", frame.File, frame.Line)
}

// diffText writes for people.
func diffText(w io.Writer, d *difference) error {
	var b strings.Builder
	c := d.Comparison
	if c.Why != "" {
		fmt.Fprintf(&b, "%s\n", d.Balance)
	} else {
		fmt.Fprintf(&b, "%s\n", c.Headline())
		more, less, moved := c.Lists()
		for _, list := range []struct {
			name      string
			functions []release.Function
		}{{"More", more}, {"Less", less}, {"Moved", moved}} {
			if len(list.functions) > 0 {
				fmt.Fprintf(&b, "\n%s:\n", list.name)
			}
			for i := range list.functions {
				f := &list.functions[i]
				fmt.Fprintf(&b, "  %s\n", c.Sentence(f))
				if list.name == "Moved" {
					fmt.Fprintf(&b, "      %s\n", movedText(f))
				}
				if frame, at := place(f); at != "" {
					if frame.Function != f.Name {
						at = frame.Function + " " + at
					}
					fmt.Fprintf(&b, "      %s\n", at)
				}
			}
		}
	}
	for _, note := range c.Notes {
		fmt.Fprintf(&b, "\nNote: %s\n", note)
	}
	b.WriteByte('\n')
	for _, budget := range d.Budgets {
		fmt.Fprintf(&b, "%s: %s\n    %s\n", strings.ToUpper(budget.Verdict), budget.Budget, budget.Why)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// movedText says where moved cost was before.
func movedText(f *release.Function) string {
	if len(f.From) > 0 {
		return "was in " + strings.Join(f.From, ", ")
	}
	return f.Caller + ", which both builds have, has not grown with it"
}

// diffMarkdown writes a comment for a pull request.
func diffMarkdown(w io.Writer, d *difference) error {
	var b strings.Builder
	c := d.Comparison
	fmt.Fprintf(&b, "**profguard: %s.** ", d.Overall)
	if c.Why != "" {
		fmt.Fprintf(&b, "%s\n", markdown(d.Balance))
	} else {
		fmt.Fprintf(&b, "%s\n", markdown(c.Headline()))
		more, less, moved := c.Lists()
		if len(more)+len(less)+len(moved) > 0 {
			b.WriteString("\n| | function | before | now | points | line |\n|---|---|---:|---:|---:|---|\n")
		}
		for _, list := range []struct {
			name      string
			functions []release.Function
		}{{"more", more}, {"less", less}, {"moved", moved}} {
			for i := range list.functions {
				f := &list.functions[i]
				_, at := place(f)
				fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | %s |\n", list.name, cell(f.Name), c.Amount(f.Before), c.Amount(f.Now), f.Points.PointsText(), markdown(at))
			}
		}
	}
	b.WriteString("\n")
	for _, budget := range d.Budgets {
		fmt.Fprintf(&b, "- %s: `%s`: %s\n", budget.Verdict, cell(budget.Budget), markdown(budget.Why))
	}
	for _, note := range c.Notes {
		fmt.Fprintf(&b, "- note: %s\n", markdown(note))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cell is a text within a code span in a table.
func cell(text string) string {
	return strings.NewReplacer("`", "'", "|", `\|`, "\n", " ").Replace(text)
}

// markdown is a text without the characters that mean something there.
func markdown(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", "*", `\*`, "_", `\_`, "`", "'", "[", `\[`).Replace(text)
}

// diffGithub writes annotations: GitHub shows them beside the lines of a pull request.
func diffGithub(w io.Writer, d *difference) error {
	var b strings.Builder
	c := d.Comparison
	more, _, _ := c.Lists()
	for i := range more {
		f := &more[i]
		frame, at := place(f)
		if at != "" {
			at = fmt.Sprintf(" file=%s,line=%d,", property(frame.File), frame.Line)
		} else {
			at = " "
		}
		fmt.Fprintf(&b, "::error%stitle=%s::%s\n", at, property("profguard: "+f.Name), message(c.Sentence(f)))
	}
	level := map[string]string{"broken": "error", "undecided": "warning", "kept": "notice"}[d.Overall]
	fmt.Fprintf(&b, "::%s title=profguard diff: %s::%s\n", level, d.Overall, message(d.Balance))
	_, err := io.WriteString(w, b.String())
	return err
}

// message and property escape as GitHub's commands want it.
func message(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

func property(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(text)
}
