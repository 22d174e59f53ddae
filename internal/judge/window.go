package judge

import (
	"math"
	"slices"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// A window is one profile being judged.
type window struct {
	judged  *Judge
	t       *decode.Table
	facts   Facts
	elapsed float64 // seconds; 0 when unknown

	walked int64 // frames that were looked at for offenders' paths
}

// judge finds what the window says of one rule.
func (w *window) judge(r *rule, f *Finding) {
	if f.Reason = w.unjudgeable(r, f); f.Reason != nil {
		return
	}
	if r.Test == Steady {
		w.steady(r, f)
		return
	}
	if value, known, ok := w.figureOf(r); ok {
		if f.Reason = w.unknown(r, known); f.Reason == nil {
			f.counted(value, r.Limit)
			w.explainFigure(r, f)
		}
		return
	}
	if f.Reason = r.lacks; r.query < 0 {
		return
	}
	sums := w.judged.counter.Sums(r.query)
	if r.in >= 0 && sums.Total > 0 && sums.Total == sums.Cut {
		f.Reason, f.Cut = AllCut{}, w.cut(r)
		return
	}
	f.Samples = int64(math.Round(max(sums.N, 0)))
	if sums.Total <= 0 || f.Samples == 0 { // values of no sample prove nothing
		f.Samples = 0
		w.empty(r, f)
		return
	}
	switch {
	case r.Test == Grows:
		w.grows(r, f)
	case r.Test == Absent:
		w.absent(r, sums, f)
	case r.Class == Leak:
		f.counted(float64(sums.Total), 0)
		f.Hits, f.Reason = sums.Total, Leaked{}
		w.explainMost(r, f)
	default:
		w.limited(r, sums, f)
	}
}

// unjudgeable is why the rule is not judged in this window, nil if it is.
func (w *window) unjudgeable(r *rule, f *Finding) Reason {
	if why := w.gate(r); why != nil {
		return why
	}
	if w.isNotLinked(r) {
		if r.Test == Absent {
			f.Verdict = evidence.Pass
		}
		f.Elsewhere = w.elsewhere(r)
		return NotLinked{}
	}
	if pending := w.judged.names.Waiting(); pending > 0 && (r.subject >= 0 || r.in >= 0 || r.except >= 0) {
		return NamesPending{pending}
	}
	return nil
}

// isNotLinked reports whether no function of the program matches the rule's pattern.
func (w *window) isNotLinked(r *rule) bool {
	return r.Class == Pattern && slices.Contains(w.facts.NotLinked, r.Subject)
}

// gate is why the rule's condition keeps it from being judged, nil if it does not.
func (w *window) gate(r *rule) Reason {
	c := r.When
	if c.Figure == "" {
		return nil
	}
	value, ok := w.figure(c.Figure)
	switch {
	case !ok:
		return ConditionUnknown{w.facts.NoFigures[c.Figure]}
	case c.Below && value >= c.Limit, !c.Below && value <= c.Limit:
		return Idle{value}
	}
	return nil
}

// figure is a figure of the process, from the facts or, where it shows there, from
// the profile.
func (w *window) figure(name string) (float64, bool) {
	if name == "process" {
		name = "cores"
	}
	if v, ok := w.facts.Figures[name]; ok {
		return v, isFigure(v) // whoever measured it wrongly, nobody else measures it
	}
	v, ok := w.judged.layout.value(map[string]string{"cores": kinds.CPU, "goroutines": kinds.Goroutine, "heap": kinds.Heap}[name], unit.Bytes)
	if !ok {
		return 0, false
	}
	total := float64(w.total(v.index)) * v.scale
	if name == "cores" {
		return total / w.elapsed, w.elapsed > 0 && isFigure(total)
	}
	return total, isFigure(total) // differences of profiles may be below zero
}

// isFigure reports whether a figure can be what it says: what is not a number is
// below no limit and above none.
func isFigure(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

// figureOf is the figure that a rule is about. It reports false for a rule that is
// to be read off the profile's samples.
func (w *window) figureOf(r *rule) (value float64, known, ok bool) {
	_, given := w.facts.Figures["cores"]
	switch {
	case r.isGC():
		_, given = w.facts.Figures["gc"]
		ok = given || w.facts.NoFigures["gc"] != ""
	case r.Class == Figure:
		ok = true
	case r.Class == Process && r.Dimension == unit.Cores:
		ok = given
	}
	if ok {
		value, known = w.figure(r.Subject)
	}
	return value, known, ok
}

// unknown is why a figure that a rule is about has no value, nil if it has.
func (w *window) unknown(r *rule, known bool) Reason {
	if known {
		return nil
	}
	name := r.Subject
	if name == "process" {
		name = "cores"
	}
	why := FigureUnknown{Figure: name, Why: w.facts.NoFigures[name]}
	why.Value, why.Given = w.facts.Figures[name]
	if why.Why == "" && !why.Given && r.Test != Steady && r.lacks != nil {
		return r.lacks
	}
	return why
}

// steady is beyond one window; its cap is not.
func (w *window) steady(r *rule, f *Finding) {
	value, known := w.figure(r.Subject)
	switch {
	case !known:
		f.Reason = w.unknown(r, known)
	case r.Limit > 0 && value > r.Limit:
		f.counted(value, r.Limit)
		w.explainFigure(r, f)
	default:
		f.Value, f.Low, f.High = value, value, value
		f.Reason = OverHours{}
	}
}

// total adds up a value over all samples.
func (w *window) total(index int) int64 {
	var sum int64
	n := len(w.t.Types)
	for i := index; i < len(w.t.Values); i += n {
		sum = charge.AddSaturating(sum, w.t.Values[i])
	}
	return sum
}

// empty is what is found in a profile that holds nothing of what is asked.
func (w *window) empty(r *rule, f *Finding) {
	switch {
	case r.Class == Leak:
		f.counted(0, 0)
		f.Reason = Leaked{}
	case r.in >= 0 || r.where >= 0:
		f.Reason = OutOfScope{}
	case r.value.census && r.Dimension != unit.Share:
		f.counted(0, r.Limit)
		f.Reason = CountedNone{}
	default:
		f.Reason = NoSamples{}
	}
}

// cut is how many samples are of stacks that the runtime cut off, where their lost end
// may answer otherwise.
func (w *window) cut(r *rule) int64 {
	if r.query < 0 {
		return 0
	}
	sums := w.judged.counter.Sums(r.query)
	if sums.Cut == 0 {
		return 0
	}
	return int64(math.Round(float64(sums.Cut) / float64(sums.Total) * sums.N))
}
