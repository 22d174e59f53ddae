package budget

import (
	"fmt"
	"math"
	"slices"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
)

// A window is one profile being judged.
type window struct {
	judged  *Judge
	t       *decode.Table
	facts   Facts
	elapsed float64 // seconds; 0 when unknown

	explained int   // offenders' chains worked out so far
	walked    int64 // frames that were looked at for them
}

// judge returns the result of one rule.
func (w *window) judge(r *rule) Result {
	res := Result{Budget: r.budget, Limit: r.limit, Unit: r.unit()}
	if reason, gated := w.gate(r); gated {
		_, known := w.figureValue(r.budget.When.Figure)
		res.Reason, res.Idle = reason, known
		return res
	}
	if r.subject >= 0 && slices.Contains(w.facts.NotLinked, r.budget.Subject) {
		if r.budget.Rule == "absent" {
			res.Verdict, res.Reason = Pass, "not linked: no function of the program matches "+r.budget.Subject
		} else {
			res.Reason = "no function linked into the program matches " + r.budget.Subject + ": check the spelling, or drop the budget"
		}
		res.Reason += w.elsewhere(r)
		return res
	}
	if waiting := w.judged.names.Waiting(); waiting > 0 && (r.subject >= 0 || r.in >= 0 || r.except >= 0) {
		res.Reason = fmt.Sprintf("%d functions have yet to be matched with the patterns of the budgets, which takes more than one window: name packages and functions instead of so many regular expressions", waiting)
		return res
	}
	switch {
	case r.budget.Rule == "steady":
		w.steady(r, &res)
		return res
	case r.class == classFigure:
		if w.figure(r, &res) {
			return res
		}
	case r.class == classProcess && r.dim == dimCores:
		if _, given := w.facts.Figures["cores"]; given {
			cores, ok := w.figureValue("process")
			if !ok {
				res.Reason = w.lacks(r)
				return res
			}
			exact(&res, r, cores, "the process")
			if res.Verdict == Fail {
				w.explainMost(r, &res)
			}
			return res
		}
	}
	if r.query < 0 {
		res.Reason = r.lacks
		return res
	}
	sums := w.judged.counter.Sums(r.query)
	if r.in >= 0 && sums.Total > 0 && sums.Total == sums.Cut {
		res.Reason = "no sample shows " + r.budget.In + w.cutOff(r)
		return res
	}
	if sums.Total <= 0 {
		w.empty(r, &res)
		return res
	}
	res.Samples = int64(math.Round(sums.N))
	switch {
	case r.budget.Rule == "grows":
		w.grows(r, sums, &res)
	case r.class == classEach:
		w.each(r, sums, &res)
	case r.class == classPattern || r.class == classFigure:
		w.pattern(r, sums, &res)
	default: // process, no goroutine
		w.process(r, sums, &res)
	}
	return res
}

// gate tells whether the budget's condition keeps it from being judged.
func (w *window) gate(r *rule) (reason string, gated bool) {
	c := r.budget.When
	if c == (Condition{}) {
		return "", false
	}
	value, ok := w.figureValue(c.Figure)
	limit := c.Amount.base()
	switch {
	case !ok:
		why := w.facts.NoFigures[c.Figure]
		if why == "" {
			why = "the window does not say"
		}
		return fmt.Sprintf("cannot tell whether %s: %s", c, why), true
	case c.Below && value >= limit, !c.Below && value <= limit:
		return fmt.Sprintf("idle: judged only when %s, it is at %s", c, format(value, c.Amount.dimension())), true
	}
	return "", false
}

// figureValue is a figure of the process, from the facts or, where it shows
// there, from the profile.
func (w *window) figureValue(name string) (float64, bool) {
	if name == "process" {
		name = "cores"
	}
	if v, ok := w.facts.Figures[name]; ok {
		if !isFigure(v) {
			return 0, false // whoever measured it did not, and nobody else does
		}
		return v, true
	}
	kind, dim := map[string]string{"cores": "cpu", "goroutines": "goroutine", "heap": "heap"}[name], dimBytes
	v, ok := w.judged.layout.value(kind, dim)
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

// told reports whether the facts have a figure, or say why not.
func (w *window) told(name string) bool {
	_, given := w.facts.Figures[name]
	return given || w.facts.NoFigures[name] != ""
}

// lacks says why a figure that a budget is about has no value.
func (w *window) lacks(r *rule) string {
	name := r.budget.Subject
	if name == "process" {
		name = "cores"
	}
	if why := w.facts.NoFigures[name]; why != "" {
		return "the process's " + name + " is not known: " + why
	}
	if v, given := w.facts.Figures[name]; given {
		return fmt.Sprintf("the window does not say the process's %s: it has %v for it", name, v)
	}
	if r.budget.Rule == "steady" || r.lacks == "" {
		return "the window does not say the process's " + r.budget.Subject
	}
	return r.lacks
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

// empty is the result for a profile that holds nothing of what is asked.
func (w *window) empty(r *rule, res *Result) {
	switch {
	case r.class == classLeak:
		res.take(counted(0, 0))
		res.Reason = "no goroutine is blocked for ever"
	case r.value.census && r.dim != dimShare && r.in < 0 && r.where < 0:
		// Counting nobody is a count.
		exact(res, r, 0, "")
	case r.in >= 0 || r.where >= 0:
		res.Reason = "no sample within " + scopeText(r.budget)
	default:
		res.Reason = "no samples: nothing ran, or nobody was looking"
	}
}

// measure is what a limit is compared with: the value charged to somebody, in
// the unit of the limit.
type measure struct {
	total, n float64 // of the window: the sum of its values, and how many hits those are
	share    bool    // of the total, and not an amount over something
	census   bool    // every value is known, and none is a sample
	scale    float64 // from values to the base unit
	over     float64 // what amounts are divided by
	exposure float64 // for amounts: the limit times this is a number of hits
	problem  string
}

// measureOf tells how the rule compares.
func (w *window) measureOf(r *rule, sums *charge.Sums) measure {
	m := measure{total: float64(sums.Total), n: sums.N, census: r.value.census, scale: r.value.scale}
	if r.dim == dimShare || r.dim == dimPoints {
		m.share = true
		return m
	}
	if m.over, m.problem = w.divisor(r); m.problem != "" {
		return m
	}
	worth := m.total * m.scale / m.n // of one hit, in base units
	m.exposure = m.over / worth
	return m
}

// part is a value in the unit of the limit.
func (m measure) part(value int64) float64 {
	if m.share {
		return float64(value) / m.total
	}
	return float64(value) * m.scale / m.over
}

// hits is how many hits a value is.
func (m measure) hits(value int64) float64 { return float64(value) / m.total * m.n }

func (m measure) finding(value int64, limit float64) evidence.Finding {
	switch {
	case m.census:
		return counted(m.part(value), limit)
	case m.share:
		return evidence.Fixed(m.hits(value), m.n, limit, 1)
	}
	return evidence.Rate(m.hits(value), m.exposure, limit, 1)
}

// nameAlpha is the chance of naming somebody who is not above the limit, where it is
// proven that others are.
const nameAlpha = 0.05

// low is below the truth but for that chance.
func (m measure) low(value int64) float64 {
	switch {
	case m.census:
		return m.part(value)
	case m.share:
		return evidence.Lower(m.hits(value), m.n, 1, nameAlpha)
	}
	return evidence.RateLower(m.hits(value), nameAlpha) / m.exposure
}

// findingWithin is a finding on a value of which the samples tell only that it is between
// two: it fails by the lower and passes by the upper.
func (m measure) findingWithin(low, high int64, limit float64) evidence.Finding {
	f := m.finding(low, limit)
	if high <= low {
		return f
	}
	g := m.finding(high, limit)
	f.High = g.High
	if f.Verdict == evidence.Pass && g.Verdict != evidence.Pass {
		f.Verdict = evidence.Inconclusive
	}
	if f.Verdict == evidence.Inconclusive {
		f.Needed = 0 // more samples of this kind do not help
	}
	return f
}

// values is how much is charged to somebody who is at a limit.
func (m measure) values(limit float64) int64 {
	if m.share {
		return int64(limit * m.total)
	}
	return int64(limit * m.over / m.scale)
}

// divisor is what values are divided by: seconds, work, or nothing.
func (w *window) divisor(r *rule) (over float64, problem string) {
	switch {
	case r.budget.Per != "":
		done, ok := w.facts.Work[r.budget.Per]
		if why, known := w.facts.NoWork[r.budget.Per]; !ok && known {
			return 0, why
		}
		if !ok {
			return 0, fmt.Sprintf("nobody counts %q: add it to Config.Work (Facts.Work)", r.budget.Per)
		}
		if !(done > 0) {
			return 0, fmt.Sprintf("no %s was done in the window", r.budget.Per)
		}
		if !isAmount(done) {
			return 0, fmt.Sprintf("%v of %q is no amount of work", done, r.budget.Per)
		}
		return done, ""
	case r.dim == dimCores:
		if w.elapsed <= 0 {
			return 0, "the profile does not say how long it took"
		}
		return w.elapsed, ""
	}
	return 1, ""
}

// counted is the finding on what was counted in full.
func counted(value, limit float64) evidence.Finding {
	f := evidence.Finding{Value: value, Low: value, High: value, Verdict: evidence.Pass}
	if value > limit {
		f.Verdict = evidence.Fail
	}
	return f
}

// exact sets the result of a figure that was measured and not sampled.
func exact(res *Result, r *rule, value float64, what string) {
	res.take(counted(value, r.limit))
	if what != "" {
		what += " "
	}
	res.Reason = fmt.Sprintf("%sat %s, the limit is %s", what, format(value, r.dim), r.budget.Limit)
}

func (res *Result) take(f evidence.Finding) {
	res.Verdict = Verdict(f.Verdict)
	res.Share, res.Low, res.High = f.Value, f.Low, f.High
}
