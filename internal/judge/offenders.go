package judge

import (
	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
)

const (
	// MaxOffenders is how many a result lists: what a person reads.
	MaxOffenders = 8
	// maxWalked bounds the frames that are walked for the paths through offenders, where
	// one takes about 50 ns. One offender is always explained.
	maxWalked = 12_000_000
	// notableShare is the share from which a function is named when the process
	// as a whole is over its limit.
	notableShare = 0.1
)

// explain fills in the offenders among the keys that are over a limit, and returns
// the key of the first.
func (w *window) explain(r *rule, query int, over []int32, limit int64, m measure, f *Finding) (first int32, ok bool) {
	if w.walked > maxWalked {
		return 0, false
	}
	w.walked += w.t.Frames
	j := w.judged
	c := charge.Case{Counter: &j.counter, Table: w.t, Query: query, Room: &j.room}
	sums := j.counter.Sums(query)
	heads := c.Offenders(over, limit, MaxOffenders)
	explanations := c.Explain(heads)
	frame := func(f charge.Frame) Frame {
		return Frame{
			Function: f.Function, File: f.File, Line: f.Line,
			Share: m.part(f.Value), Value: float64(f.Value) * r.value.scale, Own: f.Own,
		}
	}
	for i, key := range heads {
		e := explanations[i]
		value := sums.By(key)
		bounds := m.finding(value, r.Limit)
		o := Offender{Frame: frame(e.Here), Low: bounds.Low, High: bounds.High}
		if f.Verdict == evidence.Fail && r.Class == Each && r.Test != Grows && o.Low <= r.Limit {
			o.Low = m.low(value)
		}
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
		f.Offenders = append(f.Offenders, o)
	}
	if len(heads) == 0 {
		return 0, false
	}
	return heads[0], true
}

// explainSubject names what has most of what a rule is about, which is not each.
func (w *window) explainSubject(r *rule, m measure, f *Finding) {
	if r.subject >= 0 {
		w.explainMatches(r, m, f)
	} else {
		w.explainMost(r, f)
	}
}

// explainMatches names, of the functions that a pattern matched, those with at least
// half of what the heaviest has.
func (w *window) explainMatches(r *rule, m measure, f *Finding) {
	sums := w.count(r.detail)
	var over []int32
	var limit int64
	one := []int32{r.subject}
	for key := range w.ranked(r.detail) {
		if !w.judged.names.Match(decode.ID(key), one) {
			continue
		}
		if len(over) == 0 {
			limit = (sums.By(key) - 1) / 2
		}
		if sums.By(key) <= limit {
			break
		}
		over = append(over, key)
	}
	w.explain(r, r.detail, over, limit, m, f)
}

// explainFigure names what a figure that is over its limit is made of, if the
// profile at hand is of that.
func (w *window) explainFigure(r *rule, f *Finding) {
	if f.Verdict != evidence.Fail || r.query < 0 {
		return
	}
	if m, why := w.measureOf(r, w.judged.counter.Sums(r.query)); why == nil {
		w.explainSubject(r, m, f)
	}
}

// explainMost names what the process as a whole spends most on.
func (w *window) explainMost(r *rule, f *Finding) {
	for _, query := range [...]int{r.detail, r.literal} { // literally, where the runtime itself has most of it
		if query < 0 {
			continue
		}
		sums := w.count(query)
		var over []int32
		for key := range w.ranked(query) {
			if sums.Share(key) < notableShare {
				break
			}
			over = append(over, key)
		}
		m := shareOf(r.value, sums)
		if _, ok := w.explain(r, query, over, m.values(notableShare), m, f); ok {
			return
		}
	}
}

// count answers a query that only offenders need.
func (w *window) count(query int) *charge.Sums {
	j := w.judged
	if q := &j.queries[query]; !q.needed && q.counted != j.windows {
		q.counted = j.windows
		j.counter.Count(w.t, func(q int) bool { return q == query })
	}
	return j.counter.Sums(query)
}

func (w *window) keyName(sums *charge.Sums, key int32) string {
	if sums.Query.Unit == charge.Package {
		return w.judged.names.PackageName(key)
	}
	return w.t.Symbols.Name(decode.ID(key))
}
