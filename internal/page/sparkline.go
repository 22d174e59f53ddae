package page

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// sparkWidth and sparkHeight are about ten letters of a line.
const sparkWidth, sparkHeight = 120, 24

// Sparkline draws how a value went, the oldest first, and its limit as a dashed
// line when there is one. NaN is a gap: a window that told nothing. Fewer than
// two values are no history, and nothing is drawn.
func Sparkline(values []float64, limit float64, unit string) template.HTML {
	top, known := limit, 0
	for _, v := range values {
		if finite(v) {
			top = max(top, v)
			known++
		}
	}
	if known < 2 || !finite(top) {
		return ""
	}
	if top <= 0 {
		top = 1
	}
	x := func(i int) float64 { return 2 + float64(sparkWidth-4)*float64(i)/float64(len(values)-1) }
	y := func(v float64) float64 { return sparkHeight - 2 - (sparkHeight-4)*max(v, 0)/top }
	var b strings.Builder
	first, last := -1, -1
	var line strings.Builder
	for i, v := range values {
		if !finite(v) {
			continue
		}
		step := "L"
		if i == 0 || !finite(values[i-1]) {
			step = "M"
		}
		fmt.Fprintf(&line, "%s%.1f %.1f", step, x(i), y(v))
		if first < 0 {
			first = i
		}
		last = i
	}
	fmt.Fprintf(&b, `<svg class="spark" xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" role="img" aria-label="from %s to %s in %d windows">`,
		sparkWidth, sparkHeight, Amount(values[first], unit), Amount(values[last], unit), len(values))
	if limit > 0 {
		fmt.Fprintf(&b, `<line class="limit" x1="0" x2="%d" y1="%.1f" y2="%.1f"/>`, sparkWidth, y(limit), y(limit))
	}
	fmt.Fprintf(&b, `<path d="%s"/><circle cx="%.1f" cy="%.1f" r="2"/></svg>`, line.String(), x(last), y(values[last]))
	return template.HTML(b.String())
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
