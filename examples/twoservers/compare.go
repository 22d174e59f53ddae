package main

import (
	"fmt"
	"strings"

	"github.com/profguard/profguard/budget"
)

// compare sets what a window measured of both servers side by side. The shares of
// a profile are sampled, so each has bounds, and so has what one costs in terms of
// the other.
func compare(gopher, gemini budget.Result) string {
	var b strings.Builder
	for _, r := range []budget.Result{gopher, gemini} {
		fmt.Fprintf(&b, "    %s %9.1fµs a request (%.1fµs to %.1fµs), %d samples\n",
			r.Budget.Name, 1e6*r.Value, 1e6*r.Low, 1e6*r.High, r.Samples)
	}
	low, high := times(gemini, gopher)
	fmt.Fprintf(&b, "    Gemini costs at least %.1f times as much", low)
	if high < 1000 {
		fmt.Fprintf(&b, ", and at most %.0f times", high)
	} else {
		b.WriteString("; for an upper bound, gopher has too few samples")
	}
	return b.String()
}

// times bounds how many times as much a costs as b. It errs when one of the two is
// beyond its own bound: low about once in a thousand windows, for it rests on b's
// upper bound, and so does high, which rests on a's.
func times(a, b budget.Result) (low, high float64) {
	return a.Low / b.High, a.High / b.Low
}

// indent makes a report of several lines stand apart from the story.
func indent(r budget.Result) string { return strings.ReplaceAll(r.String(), "\n", "\n    ") }
