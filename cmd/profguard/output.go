package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/profguard/profguard/budget"
)

// formats are the values of -o.
var formats = map[string]func(w io.Writer, results []budget.Result, module string) error{
	"text":   writeText,
	"json":   writeJSON,
	"github": writeGitHub,
}

// writeText writes for people: the reports, and how many there are of each verdict.
func writeText(w io.Writer, results []budget.Result, _ string) error {
	count := map[budget.Verdict]int{}
	for _, r := range results {
		count[r.Verdict]++
		if _, err := fmt.Fprintln(w, printable(r)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\n%d kept, %d broken, %d undecided\n", count[budget.Pass], count[budget.Fail], count[budget.Inconclusive])
	return err
}

// visible is a text in one line for a terminal: a profile may have any characters in a name, also
// those that end lines or move the cursor.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// printable is a result with visible names.
func printable(r budget.Result) budget.Result {
	frames := func(list []budget.Frame) []budget.Frame {
		list = slices.Clone(list)
		for i := range list {
			list[i].Function, list[i].File = visible(list[i].Function), visible(list[i].File)
		}
		return list
	}
	r.Reason, r.Offenders = visible(r.Reason), slices.Clone(r.Offenders)
	for i := range r.Offenders {
		o := &r.Offenders[i]
		both := frames([]budget.Frame{o.Frame, o.Blame})
		o.Frame, o.Blame = both[0], both[1]
		o.Callers, o.Callees = frames(o.Callers), frames(o.Callees)
	}
	return r
}

// writeJSON writes for programs: the results, as in status.json.
func writeJSON(w io.Writer, results []budget.Result, _ string) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(results)
}

// writeGitHub writes annotations of GitHub's workflows: an error for each broken budget, at
// the line to blame, and a warning for each undecided one.
func writeGitHub(w io.Writer, results []budget.Result, module string) error {
	for _, r := range results {
		level := "error"
		switch r.Verdict {
		case budget.Pass:
			continue
		case budget.Inconclusive:
			level = "warning"
		}
		properties := []string{"title=" + escape(cmp.Or(r.Budget.Name, r.Budget.String()), true)}
		if len(r.Offenders) > 0 {
			at := r.Offenders[0].Frame
			if blame := r.Offenders[0].Blame; blame.Function != "" {
				at = blame
			}
			if file, ok := inRepository(at.File, module); ok {
				properties = append(properties, "file="+escape(file, true), fmt.Sprintf("line=%d", at.Line))
			}
		}
		if _, err := fmt.Fprintf(w, "::%s %s::%s\n", level, strings.Join(properties, ","), escape(r.String(), false)); err != nil {
			return err
		}
	}
	return nil
}

// escape writes text as the commands of a workflow have it.
func escape(text string, property bool) string {
	pairs := []string{"%", "%25", "\r", "%0D", "\n", "%0A"}
	if property {
		pairs = append(pairs, ":", "%3A", ",", "%2C")
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// inRepository is a file's path from the working directory, where it has one: as the
// compiler saw it there, or with -trimpath behind the module's path.
func inRepository(file, module string) (string, bool) {
	if rest, ok := strings.CutPrefix(file, module+"/"); ok && module != "" {
		return rest, true
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", false
	}
	path, err := filepath.Rel(dir, file)
	if err != nil || !filepath.IsLocal(path) {
		return "", false
	}
	return filepath.ToSlash(path), true
}
