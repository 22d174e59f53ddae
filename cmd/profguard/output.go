package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/profguard/profguard/budget"
)

// formats are the values of -o.
var formats = map[string]func(io.Writer, []budget.Result) error{"text": writeText, "json": writeJSON}

// writeText writes for people: the reports, and how many there are of each verdict.
func writeText(w io.Writer, results []budget.Result) error {
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
func writeJSON(w io.Writer, results []budget.Result) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(results)
}
