package compare

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/profguard/profguard/internal/compare/growth"
	"github.com/profguard/profguard/internal/compare/report"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/release"
)

// excess is the part by which a profile has more CPU time than the clock of the calls from which that
// counts: what the process does beside the calls, as before b.ResetTimer.
const excess = 0.05

// leastBefore are the samples from which their absence tells that a function cost nothing.
const leastBefore = 50

// find looks for the functions that cost more CPU time a call.
func (m *comparison) find(ctx context.Context, t *trial, sides [2]*profiled) (growth.Result, error) {
	low, high := t.cpu.all.Bounds(evidence.PairedAlpha)
	beside := [2]float64{1, 1}
	for i, s := range sides {
		if part := s.sampled(); part > 1+excess {
			beside[i] = part
		}
	}
	factor := beside[head] / beside[base] // below 1, as the same work beside is less of a dearer call
	return growth.Find(ctx, growth.Input{
		Before: &sides[base].side, Now: &sides[head].side,
		Scale:   release.Growth{Value: (1 + t.cpu.all.Value()) * factor, Low: (1 + low) * min(factor, 1), High: (1 + high) * max(factor, 1)},
		Own:     m.isOurs,
		Touched: func(file string, line int) growth.Change { return m.edits.touched(m.inRepository(file), line) },
	})
}

// callCPU is the CPU time of a call, in seconds, as pairs say.
func (t *trial) callCPU(side int) float64 {
	cost := median(t.cpu.each[base])
	if side == head {
		cost *= 1 + t.cpu.all.Value()
	}
	return cost
}

// functions says which functions cost more CPU time a call.
func (m *comparison) functions(t *trial, sides [2]*profiled, r growth.Result) *report.Why {
	if part := 1 - sides[head].sampled(); part > 0.5 {
		return &report.Why{Note: fmt.Sprintf("%.0f%% of the CPU time is in child processes, which have no profile", 100*part)}
	}
	why := &report.Why{}
	for _, f := range r.Functions[:min(len(r.Functions), mostRows)] {
		file := m.inRepository(f.At.File)
		if why.File == "" && m.isOurs(f.At.File) {
			why.File, why.Line = file, f.At.Line
		}
		before := report.Seconds(f.Before) + " before"
		switch {
		case f.New && sides[base].table.Count() >= leastBefore:
			before = "nothing before"
		case f.Before == 0:
			before = "without samples before"
		}
		costs := "costs"
		if !r.Proven {
			costs = "seems to cost" // in the row, because rows about allocations, which are exact, follow it
		}
		text := fmt.Sprintf("%s %s %s a call, %s: %+.1f points", f.Name, costs, report.Seconds(f.Now), before, 100*f.Points.Value)
		if r.Proven {
			text += fmt.Sprintf(" (at least %+.1f)", 100*f.Points.Low)
		}
		if f.Moved > 0 {
			text += fmt.Sprintf(", beside %.1f that may have moved from %s", 100*f.Moved, cmp.Or(f.From, "other lines"))
		}
		text += m.placed(f, file)
		if f.Inside != "" {
			text += fmt.Sprintf("; %+.1f of these seem to be in %s", 100*f.InsidePoints, f.Inside)
		}
		why.Rows = append(why.Rows, report.Row{Function: f.Name, Text: text})
	}
	if len(why.Rows) > 0 && !r.Proven {
		why.Note = fmt.Sprintf("%d samples of the base and %d of the head prove no single function: a longer -time may", sides[base].table.Count(), sides[head].table.Count())
	}
	var notes []string
	if r.Body > 0 {
		if why.File == "" {
			why.File, why.Line = m.inRepository(r.Line.File), r.Line.Line
		}
		notes = append(notes, fmt.Sprintf("lines of the benchmark itself cost %.1f points more, most at %s:%d", 100*r.Body, m.inRepository(r.Line.File), r.Line.Line))
	}
	if r.Collector > 0 {
		notes = append(notes, fmt.Sprintf("the garbage collector costs %.1f points more", 100*r.Collector))
	}
	if len(why.Rows) == 0 && len(notes) == 0 {
		notes = []string{"no function stands out: the cost may be spread over many, or come from how the code is laid out in memory"}
	}
	if why.Note != "" {
		notes = append([]string{why.Note}, notes...)
	}
	why.Note = strings.Join(notes, "; ")
	return why
}

// placed is where to look, as the end of a sentence.
func (m *comparison) placed(f growth.Function, file string) string {
	if f.At.Line == 0 {
		return ""
	}
	text := fmt.Sprintf(", %s:%d", file, f.At.Line)
	if !f.Mine && f.At.Function != "" {
		text = ", called from " + f.At.Function + text
	}
	if f.Changed.Line {
		text += ", which is changed"
	}
	return text
}
