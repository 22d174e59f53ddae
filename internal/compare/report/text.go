package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/profguard/profguard/internal/forms"
	"github.com/profguard/profguard/internal/unit"
)

// text writes for people.
func (r *Report) text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "base %s, head %s; %s, %s, %d processors%s\n", r.Base, r.Head, r.goText(), r.System.OS+"/"+r.System.Arch, r.System.Procs, r.load())
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	rows := r.rows()
	if len(rows) > 1 {
		fmt.Fprintf(&b, "\n%s", aligned(rows))
	}
	for i := range r.Benchmarks {
		c := &r.Benchmarks[i]
		if lines := c.details(); len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s %s\n", c.Title(), c.conclusion())
			indented(&b, lines)
		}
	}
	for _, p := range r.Packages {
		fmt.Fprintf(&b, "\n%s: %s: %s\n", p.Path, p.Verdict, p.Reason)
		if p.Output != "" {
			indented(&b, tailOf(p.Output))
		}
	}
	fmt.Fprintf(&b, "\n%s\n", r.Summary())
	_, err := io.WriteString(w, b.String())
	return err
}

func indented(b *strings.Builder, lines []string) {
	for _, line := range lines {
		fmt.Fprintf(b, "    %s\n", line)
	}
}

func (r *Report) goText() string {
	if r.Base.Go != r.Head.Go && r.Base.Go != "" {
		return r.Base.Go + " and " + r.Head.Go
	}
	return r.Head.Go
}

func (r *Report) load() string {
	if r.System.Load == "" {
		return ""
	}
	return ", load " + r.System.Load
}

// rows are the table of all benchmarks, with its header.
func (r *Report) rows() [][]string {
	rows := [][]string{{"benchmark", "CPU a call", "difference", "bytes", "allocs", "pairs", "time", "verdict"}}
	for i := range r.Benchmarks {
		b := &r.Benchmarks[i]
		row := []string{b.Title(), "", "", "", "", "", "", b.conclusion()}
		if b.Pairs > 0 {
			row[1], row[2] = b.CPU.arrow(unit.Time), b.CPU.Difference()
			row[3], row[4] = b.Bytes.brief(unit.Bytes), b.Allocs.brief(unit.Count)
			row[5], row[6] = fmt.Sprint(b.Pairs), b.Took.Round(100*time.Millisecond).String()
		}
		rows = append(rows, row)
	}
	return rows
}

// brief is a metric in a narrow column: "12", "12 -> 13", or "12 ±" where slices differ.
func (m Metric) brief(d unit.Dimension) string {
	switch {
	case m.Exact || m.Growth == nil, m.Base == 0 && m.Head > 0:
		return m.arrow(d)
	case m.Low != nil && *m.Low > 0, m.High != nil && *m.High < 0:
		return m.arrow(d) + " " + percent(*m.Growth)
	}
	return "~" + amount(m.Head, d)
}

// aligned is a table without the columns that have no values.
func aligned(rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		var cells []string
		for i, cell := range row {
			if slices.ContainsFunc(rows[1:], func(row []string) bool { return row[i] != "" }) {
				cells = append(cells, cell)
			}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // into memory
	return b.String()
}

// mostRows is how many benchmarks without news a comment shows.
const mostRows = 100

// markdown writes a comment for a pull request: what matters in the open, and the rest folded.
func (r *Report) markdown(w io.Writer) error {
	var b strings.Builder
	title := map[Verdict]string{Kept: "Benchmarks are within their budgets", Broken: "Benchmarks cost more than their budgets allow", Undecided: "Some benchmarks are undecided"}[r.Verdict()]
	fmt.Fprintf(&b, "### %s\n\n%s. Base %s, head %s; %s.\n", title, r.Summary(), forms.Code(r.Base.String()), forms.Code(r.Head.String()), r.goText())
	rows := r.rows()
	header, list := rows[0], rows[1:]
	var news, rest [][]string
	for i, row := range list {
		if c := &r.Benchmarks[i]; c.Verdict == Kept && !c.Improved {
			rest = append(rest, row)
		} else {
			news = append(news, row)
		}
	}
	if len(news) > 0 {
		b.WriteString("\n")
		table(&b, header, news)
	}
	for i := range r.Benchmarks {
		c := &r.Benchmarks[i]
		if lines := c.details(); len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s %s\n\n%s\n", forms.Code(c.Title()), forms.Escape(c.conclusion()), forms.Fence(lines))
		}
	}
	for _, p := range r.Packages {
		if p.Verdict != Kept {
			fmt.Fprintf(&b, "\n%s: %s: %s\n", forms.Code(p.Path), p.Verdict, forms.Escape(p.Reason))
			if p.Output != "" {
				fmt.Fprintf(&b, "\n%s\n", forms.Fence(tailOf(p.Output)))
			}
		}
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "\nNote: %s\n", forms.Escape(note))
	}
	if len(rest) > 0 {
		fmt.Fprintf(&b, "\n<details><summary>%s kept</summary>\n\n", unit.Plural(len(rest), "benchmark"))
		table(&b, header, rest[:min(len(rest), mostRows)])
		if more := len(rest) - mostRows; more > 0 {
			fmt.Fprintf(&b, "\nand %d more\n", more)
		}
		b.WriteString("\n</details>\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func table(b *strings.Builder, header []string, rows [][]string) {
	list := make([][]string, len(rows))
	for i, row := range rows {
		list[i] = []string{forms.Code(row[0])}
		for _, cell := range row[1:] {
			list[i] = append(list[i], forms.Escape(cell))
		}
	}
	b.WriteString(forms.Table(header, list))
}
