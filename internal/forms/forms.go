// Package forms has what the reports of all commands have in common: JSON for programs, Markdown for pull
// requests, the annotations of GitHub, and JUnit. Names come from profiles, and may have any characters.
package forms

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/profguard/profguard/internal/pattern"
)

// JSON writes for programs.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// An Annotation is a remark that GitHub shows beside a line of a pull request, or without File in the
// summary of the run.
type Annotation struct {
	Level string // error, warning or notice
	File  string // below the root of the repository
	Line  int
	Title string
	Text  string
}

// String is the workflow command.
func (a Annotation) String() string {
	at := ""
	if a.File != "" {
		at = fmt.Sprintf("file=%s,line=%d,", property(a.File), a.Line)
	}
	return fmt.Sprintf("::%s %stitle=%s::%s\n", a.Level, at, property(a.Title), data(a.Text))
}

var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	textEscapes     = strings.NewReplacer("|", "\\|", "<", "&lt;", ">", "&gt;", "*", "\\*", "_", "\\_", "`", "\\`", "\n", " ", "~", "\\~", "[", "\\[")
	codeEscapes     = strings.NewReplacer("`", "'", "|", "\\|", "\n", " ")
)

func data(text string) string { return pattern.Visible(dataEscapes.Replace(text)) }

func property(text string) string { return pattern.Visible(propertyEscapes.Replace(text)) }

// Escape keeps a text from being markup.
func Escape(text string) string { return pattern.Visible(textEscapes.Replace(text)) }

// Code is a text as a name: of a function, a file, a budget.
func Code(text string) string { return "`" + pattern.Visible(codeEscapes.Replace(text)) + "`" }

// Fence is lines as they stand.
func Fence(lines []string) string {
	return "```\n" + strings.ReplaceAll(strings.Join(lines, "\n"), "```", "'''") + "\n```"
}

// Table is a table, of cells that are Markdown already. A name of a column with a colon at its end stands
// to the right.
func Table(header []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	var names, rule []string
	for _, name := range header {
		name, right := strings.CutSuffix(name, ":")
		names, rule = append(names, name), append(rule, map[bool]string{false: "---", true: "---:"}[right])
	}
	line(names)
	line(rule)
	for _, row := range rows {
		line(row)
	}
	return b.String()
}
