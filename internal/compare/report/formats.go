package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/forms"
	"github.com/profguard/profguard/internal/unit"
)

// formats are the forms of a report, by their names.
var formats = map[string]func(*Report, io.Writer) error{
	"text": (*Report).text, "json": (*Report).json, "markdown": (*Report).markdown,
	"github": (*Report).github, "benchstat": (*Report).benchstat, "junit": (*Report).junit,
}

// Formats are the names of all forms.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

// Write writes a report in a form.
func (r *Report) Write(w io.Writer, format string) error { return formats[format](r, w) }

// json writes for programs.
func (r *Report) json(w io.Writer) error {
	return forms.JSON(w, struct {
		Verdict Verdict `json:"verdict"`
		*Report
	}{r.Verdict(), r})
}

// github writes workflow commands, which GitHub shows as annotations of the pull request.
func (r *Report) github(w io.Writer) error {
	var b strings.Builder
	levels := map[Verdict]string{Broken: "error", Undecided: "warning"}
	for _, p := range r.Packages {
		if level := levels[p.Verdict]; level != "" {
			b.WriteString(forms.Annotation{Level: level, Title: "profguard compare: " + p.Path, Text: p.Reason + "\n" + p.Output}.String())
		}
	}
	for i := range r.Benchmarks {
		c := &r.Benchmarks[i]
		level := levels[c.Verdict]
		if level == "" && c.Improved {
			level = "notice"
		}
		if level == "" {
			continue
		}
		a := forms.Annotation{Level: level, Title: "profguard compare: " + c.Title(), Text: strings.Join(append([]string{c.sentence()}, c.details()...), "\n")}
		if c.Why != nil {
			a.File, a.Line = c.Why.File, c.Why.Line
		}
		b.WriteString(a.String())
	}
	if r.Verdict() == Undecided && r.count()[Undecided] == 0 { // nobody is to take it for a success
		b.WriteString(forms.Annotation{Level: "warning", Title: "profguard compare", Text: "nothing is decided: " + r.Summary()}.String())
	}
	fmt.Fprintf(&b, "%s\n", r.Summary())
	_, err := io.WriteString(w, b.String())
	return err
}

// benchstat writes all slices in the format of go test, with the side as a key: benchstat -col side
// compares them.
func (r *Report) benchstat(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "goos: %s\ngoarch: %s\n", r.System.OS, r.System.Arch)
	for i, side := range []string{"base", "head"} {
		fmt.Fprintf(&b, "side: %s\n", side)
		path := ""
		for _, c := range r.Benchmarks {
			if c.Package != path {
				path = c.Package
				fmt.Fprintf(&b, "pkg: %s\n", path)
			}
			for _, s := range c.Slices[i] {
				n := float64(s.N)
				fmt.Fprintf(&b, "%s-%d %d %.6g ns/op %.6g cpu-ns/op %d B/op %d allocs/op\n", c.Name, r.System.Procs, s.N,
					float64(s.Wall)/n, float64(s.CPU)/n, s.Bytes/int64(s.N), s.Allocs/int64(s.N))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// junit writes a test case for each benchmark. What is undecided or not compared counts as skipped.
func (r *Report) junit(w io.Writer) error {
	s := forms.Suite{Name: "profguard compare " + r.Base.String(), Took: r.Took}
	add := func(v Verdict, c forms.Case) {
		c.Failed, c.Skipped = v == Broken, v == Undecided || v == Unjudged
		s.Cases = append(s.Cases, c)
	}
	for _, p := range r.Packages {
		add(p.Verdict, forms.Case{Class: p.Path, Name: "benchmarks", Message: p.Reason, Text: p.Output})
	}
	for i := range r.Benchmarks {
		c := &r.Benchmarks[i]
		add(c.Verdict, forms.Case{
			Class: c.Package, Name: c.Name, Took: c.Took,
			Message: c.sentence(), Text: strings.Join(c.details(), "\n"), Out: strings.TrimSpace(c.sentence() + "\n" + c.Note),
		})
	}
	return s.Write(w)
}

// sentence is the outcome of one benchmark in a line.
func (b *Benchmark) sentence() string {
	text := b.Title() + " " + b.conclusion()
	if b.CPU.Growth != nil {
		text += fmt.Sprintf("; CPU %s a call, %s", b.CPU.arrow(unit.Time), b.CPU.Difference())
	}
	for _, m := range []struct {
		name string
		Metric
		unit.Dimension
	}{{"bytes", b.Bytes, unit.Bytes}, {"allocations", b.Allocs, unit.Count}} {
		if d := m.Difference(); d != "" && d != "same" {
			text += fmt.Sprintf("; %s %s, %s", m.name, m.arrow(m.Dimension), d)
		}
	}
	return text
}

// details are the lines below a benchmark: which functions it was, or what it printed.
func (b *Benchmark) details() []string {
	var lines []string
	if b.Note != "" {
		lines = append(lines, b.Note)
	}
	if b.Output != "" {
		lines = append(lines, tailOf(b.Output)...)
	}
	if b.Why != nil {
		for _, row := range b.Why.Rows {
			lines = append(lines, row.Text)
		}
		if b.Why.Note != "" {
			lines = append(lines, b.Why.Note)
		}
		if b.Why.Command != "" {
			lines = append(lines, strings.Split(b.Why.Command, "\n")...)
		}
	}
	return lines
}

// outputLines is how much of an output a report shows.
const outputLines = 12

// tailOf is the part of an output that tells most: the lines from a panic on, or else the first ones.
func tailOf(output string) []string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for i, line := range lines {
		if strings.Contains(line, "panic: ") || strings.HasPrefix(line, "fatal error:") {
			lines = lines[i:]
			break
		}
	}
	if len(lines) > outputLines {
		lines = append(lines[:outputLines:outputLines], "...")
	}
	return lines
}
