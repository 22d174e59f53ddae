package page

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// Bar draws what was measured against its limit: a bar up to the value, the
// range between its bounds over it, a line at the limit. Without a limit, or
// with numbers that are none, it draws nothing.
func Bar(value, low, high, limit float64, unit string) template.HTML {
	for _, v := range []float64{value, limit} {
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			return ""
		}
	}
	if limit == 0 {
		return ""
	}
	// The limit stands at two thirds, unless the value is beyond the end.
	end := max(1.5*limit, 1.05*value)
	if unit == "ratio" && limit <= 1 && value <= 1 {
		end = min(end, 1)
	}
	at := func(v float64) float64 {
		if !(v > 0) { // also what is no number
			return 0
		}
		return min(100, 100*(v/end))
	}
	class := "ok"
	if value > limit {
		class = "over"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="bar %s" xmlns="http://www.w3.org/2000/svg" width="100%%" height="14" role="img" aria-label="%s of at most %s">`,
		class, Amount(value, unit), Amount(limit, unit))
	fmt.Fprintf(&b, `<rect class="track" y="4" width="100%%" height="6" rx="3"/><rect class="value" y="4" width="%.2f%%" height="6" rx="3"/>`, at(value))
	if high > low {
		fmt.Fprintf(&b, `<rect class="bounds" x="%.2f%%" y="2" width="%.2f%%" height="10"/>`, at(low), max(0.3, at(high)-at(low)))
	}
	fmt.Fprintf(&b, `<line class="limit" x1="%.2f%%" x2="%.2f%%" y1="0" y2="14"/></svg>`, at(limit), at(limit))
	return template.HTML(b.String())
}
