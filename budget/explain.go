package budget

import (
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/blame"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/scaffold"
	"github.com/profguard/profguard/internal/tally"
)

const (
	// maxOffenders is how many a result lists: what a person reads.
	maxOffenders = 8
	// maxExplained bounds the offenders of one window for which the paths through
	// them are walked. A window in which more are over their limits is a
	// disaster that the first few tell of.
	maxExplained = 64
	// notableShare is the share from which a function is named when the process
	// as a whole is over its limit.
	notableShare = 0.1
	// notablePart is the part of what a pattern matched from which a function of
	// it is named: a package has many with next to nothing.
	notablePart = 0.25
)

// explain fills in the offenders among the keys that are over the limit.
func (w *window) explain(r *rule, query int, over []int32, m measure, res *Result) {
	if w.explained >= maxExplained {
		return
	}
	j := w.judged
	c := blame.Case{Counter: &j.counter, Table: w.t, Query: query, Module: w.facts.Module, Room: &j.room}
	sums := j.counter.Sums(query)
	heads := c.Heads(over)
	heads = heads[:min(len(heads), maxOffenders)]
	w.explained += len(heads)
	explanations := c.Explain(heads)
	for i, key := range heads {
		e := explanations[i]
		value := sums.By[key]
		f := m.finding(value, r.limit)
		o := Offender{Low: f.Low, High: f.High}
		frame := func(f blame.Frame) Frame {
			return Frame{
				Function: f.Function, File: f.File, Line: f.Line,
				Share: m.part(f.Value), Value: float64(f.Value) * r.value.scale,
			}
		}
		o.Frame = frame(e.Here)
		o.Function = w.keyName(sums, key)
		o.Share, o.Value = m.part(value), float64(value)*r.value.scale
		if e.Own.Function != "" {
			o.Blame = frame(e.Own)
		}
		for _, f := range e.From {
			o.Callers = append(o.Callers, frame(f))
		}
		for _, f := range e.To {
			o.Callees = append(o.Callees, frame(f))
		}
		res.Offenders = append(res.Offenders, o)
	}
}

// explainMatches names the functions that a pattern matched.
func (w *window) explainMatches(r *rule, m measure, res *Result) {
	sums := w.count(r.detail)
	var over []int32
	one := []int32{r.subject}
	for key := range w.ranked(r.detail) {
		if !w.judged.names.Match(w.id(key), one) {
			continue
		}
		if len(over) > 0 && float64(sums.By[key]) < notablePart*float64(sums.By[over[0]]) {
			break
		}
		over = append(over, key)
	}
	w.explain(r, r.detail, over, m, res)
}

// explainFigure names what a figure that is over its limit is made of, if the
// profile at hand is of that.
func (w *window) explainFigure(r *rule, res *Result) {
	switch {
	case res.Verdict != Fail || r.query < 0:
	case r.subject >= 0:
		w.explainMatches(r, w.measureOf(r, w.judged.counter.Sums(r.query)), res)
	default:
		w.explainMost(r, res)
	}
}

// explainMost names what the process as a whole spends most on.
func (w *window) explainMost(r *rule, res *Result) {
	sums := w.count(r.detail)
	var over []int32
	for key := range w.ranked(r.detail) {
		if sums.Share(key) < notableShare {
			break
		}
		over = append(over, key)
	}
	w.explain(r, r.detail, w.callers(r, over), w.measureOf(&rule{dim: dimShare, value: r.value}, sums), res)
}

// callers leaves the allocator out among the offenders of a profile of memory, where
// its callers are among them.
func (w *window) callers(r *rule, over []int32) []int32 {
	if !r.budget.ofMemory() || strings.HasSuffix(r.budget.Subject, "package") {
		return over
	}
	rest := slices.DeleteFunc(slices.Clone(over), func(key int32) bool { return scaffold.Allocates(w.t.Symbols.Name(w.id(key))) })
	if len(rest) == 0 {
		return over
	}
	return rest
}

// count answers a query that only offenders need.
func (w *window) count(query int) *tally.Sums {
	j := w.judged
	if !j.needed[query] && j.detailed[query] != j.windows {
		j.detailed[query] = j.windows
		j.counter.Count(w.t, func(q int) bool { return q == query })
	}
	return j.counter.Sums(query)
}

func (w *window) id(key int32) decode.ID { return decode.ID(key) }

func (w *window) keyName(sums *tally.Sums, key int32) string {
	switch sums.Query.Unit {
	case tally.Package:
		return w.judged.names.PackageName(key)
	default:
		return w.t.Symbols.Name(decode.ID(key))
	}
}
