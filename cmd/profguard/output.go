package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/profguard/profguard/budget"
)

// formats are the values of -o.
var formats = map[string]func(io.Writer, []budget.Result) error{"text": writeText, "json": writeJSON}

// writeText writes for people: the reports, and how many there are of each verdict.
func writeText(w io.Writer, results []budget.Result) error {
	count := map[budget.Verdict]int{}
	for _, r := range results {
		count[r.Verdict]++
		if _, err := fmt.Fprintln(w, r); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\n%d kept, %d broken, %d undecided\n", count[budget.Pass], count[budget.Fail], count[budget.Inconclusive])
	return err
}

// writeJSON writes for programs: the results, as in status.json.
func writeJSON(w io.Writer, results []budget.Result) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(results)
}
