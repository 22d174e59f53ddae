package judge

import (
	"math"
	"slices"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/unit"
)

// limited judges a limit on what is charged to each, to what a pattern matches, or to
// the process.
func (w *window) limited(r *rule, sums *charge.Sums, f *Finding) {
	m, why := w.measureOf(r, sums)
	if why != nil {
		f.Reason = why
		return
	}
	if r.Class == Each {
		w.each(r, m, sums, f)
		return
	}
	value, unknown := r.charged(sums), int64(0)
	if r.subject >= 0 {
		unknown = sums.Unknown(r.subject)
	}
	e := m.findingWithin(value, value+unknown, r.Limit)
	f.take(e)
	f.Hits = int64(math.Round(m.hits(value)))
	if f.Verdict != evidence.Pass && m.part(value) > r.Limit {
		w.explainSubject(r, m, f)
	}
	w.reason(r, m, e, f)
	f.Elsewhere = w.elsewhere(r)
	f.Unmatched = r.Class == Pattern && r.In == "" && len(r.Where) == 0 && value == 0 && f.Elsewhere == ""
}

// each judges "no function above" and "no package above": by the worst. Where some are
// over the limit, the finding is of the first offender, which is the deepest of them.
func (w *window) each(r *rule, m measure, sums *charge.Sums, f *Finding) {
	over := w.judged.over[:0]
	who, value := int32(-1), int64(0)
	for key := range w.ranked(r.query) {
		if who < 0 {
			who, value = key, sums.By(key)
		}
		if m.part(sums.By(key)) <= r.Limit {
			break
		}
		over = append(over, key)
	}
	w.judged.over = over
	e := m.findingOfEach(r, sums, who)
	f.Verdict = e.Verdict
	var likely Reason
	if over = m.nameable(r, sums, over, f.Verdict); f.Verdict != evidence.Pass && len(over) > 0 {
		f.Over = len(over)
		if first, ok := w.explain(r, r.query, over, m.values(r.Limit), m, f); ok && first != who {
			proven, low := w.keyName(sums, who), e.Low
			who, value, e = first, sums.By(first), m.findingOfEach(r, sums, first)
			if f.Verdict == evidence.Fail && e.Verdict != f.Verdict {
				e.Verdict, e.Low = f.Verdict, m.low(value)
				likely = Likely{proven, low}
			}
		}
	}
	f.take(e)
	f.Hits = int64(math.Round(m.hits(value)))
	if who >= 0 {
		f.Who = w.keyName(sums, who)
	}
	if w.reason(r, m, e, f); likely != nil {
		f.Reason = likely
	}
	f.Unordered = f.Verdict != evidence.Pass && !w.judged.counter.Ordered() &&
		(sums.Query.Charge == charge.Inner || sums.Query.Charge == charge.Waiting)
}

// nameable are those of the keys over the limit, heaviest first, that may be named.
// Whoever is over by accident of few samples is no offender beside one that is so beyond
// doubt. That the budget is broken is proven by then, so one in twenty is doubt enough.
// More weight is more proof, so the list ends at once.
func (m measure) nameable(r *rule, sums *charge.Sums, over []int32, verdict evidence.Verdict) []int32 {
	end := slices.IndexFunc(over, func(key int32) bool {
		if verdict == evidence.Fail {
			return m.low(sums.By(key)) <= r.Limit
		}
		return m.findingOfEach(r, sums, key).Verdict == evidence.Pass
	})
	if end < 0 {
		return over
	}
	return over[:end]
}

// findingOfEach is the finding on a function or package, -1 for one that does not show.
// What was cut off may be anybody's, so a pass must hold for all.
func (m measure) findingOfEach(r *rule, sums *charge.Sums, key int32) evidence.Finding {
	var value int64
	if key >= 0 {
		value = sums.By(key)
	}
	if sums.Cut == 0 {
		return m.finding(value, r.Limit)
	}
	most := max(value+sums.Unknown(key), sums.Cut)
	for _, k := range sums.Keys {
		most = max(most, sums.By(k)+sums.Unknown(k))
	}
	return m.findingWithin(value, most, r.Limit)
}

// absent judges that what a pattern matches does not occur at all.
func (w *window) absent(r *rule, sums *charge.Sums, f *Finding) {
	value := sums.By(r.subject)
	hits := float64(value) / float64(sums.Total) * sums.N
	e := evidence.Absent(hits, sums.N)
	if unknown := float64(sums.Unknown(r.subject)) / float64(sums.Total); unknown > 0 && value == 0 {
		e.High = min(e.High+unknown, 1)
		if e.High > evidence.AbsentShare {
			e.Verdict = evidence.Inconclusive
		}
	}
	if r.value.census {
		e = counted(float64(value)/float64(sums.Total), 0)
	}
	f.take(e)
	f.Hits = int64(math.Ceil(hits))
	if value > 0 {
		w.explainMatches(r, shareOf(r.value, sums), f)
		f.Verdict = evidence.Fail
	}
	f.Reason, f.Cut, f.Elsewhere = Occurs{e.Needed}, w.cut(r), w.elsewhere(r)
}

// reason says what the finding on a limit rests on.
func (w *window) reason(r *rule, m measure, e evidence.Finding, f *Finding) {
	f.Cut = w.cut(r)
	switch {
	case m.census:
		f.Reason = Counted{}
	case f.Verdict != evidence.Inconclusive:
		f.Reason = Measured{}
	case w.judged.counter.Sums(r.query).Cut > 0 && e.Needed == 0:
		f.Reason = UpTo{}
	default:
		f.Reason = tooFew(r, m, e, f.Samples)
	}
}

// tooFew says how many samples would have decided. Few samples do not tell how close to
// the limit a share is, unless it is far below.
func tooFew(r *rule, m measure, e evidence.Finding, samples int64) Reason {
	middle := (1 + r.Limit) / 2
	if farBelow := e.Needed > 0 && e.Value < r.Limit/2; r.Dimension == unit.Share && !farBelow {
		if needed := evidence.Needed(0, 0, r.Limit, 1); float64(samples) < needed {
			return TooFew{needed, math.Min(evidence.Notable*r.Limit, middle)}
		}
	}
	reason := TooClose{e.Needed, evidence.Zone * r.Limit}
	if m.exposure > 0 {
		// The need is in exposure; say it in samples, in proportion.
		reason.Needed = e.Needed / m.exposure * float64(samples)
	}
	if r.Dimension == unit.Share {
		reason.Zone = math.Min(reason.Zone, middle)
	}
	return reason
}
