package budget

import (
	"fmt"
	"math"
	"slices"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/evidence"
)

// each judges "no function above" and "no package above": by the worst. Where some are
// over the limit, the result speaks of the first offender, which is the deepest of them.
func (w *window) each(r *rule, sums *charge.Sums, res *Result) {
	m := w.measureOf(r, sums)
	if m.problem != "" {
		res.Reason = m.problem
		return
	}
	over := w.judged.over[:0]
	worst, value := int32(-1), int64(0)
	for key := range w.ranked(r.query) {
		if worst < 0 {
			worst, value = key, sums.By(key)
		}
		if m.part(sums.By(key)) <= r.limit {
			break
		}
		over = append(over, key)
	}
	w.judged.over = over
	f := w.eachFinding(r, m, sums, worst)
	name := "no function shows: the worst is"
	if worst >= 0 {
		name = w.keyName(sums, worst)
	}
	res.Verdict = Verdict(f.Verdict)
	// Whoever is over by accident of few samples is no offender beside one that is so
	// beyond doubt. That the budget is broken is proven by then, so one in twenty is doubt
	// enough. More weight is more proof, so the list ends at once.
	over = over[:w.nameable(r, m, sums, over, res.Verdict)]
	if res.Verdict != Pass && len(over) > 0 {
		res.Over = len(over)
		w.explain(r, r.query, over, m.values(r.limit), m, res)
	}
	if len(res.Offenders) > 0 && res.Offenders[0].Function != name {
		for _, key := range over {
			if w.keyName(sums, key) == res.Offenders[0].Function {
				verdict := f.Verdict
				name, value, f = w.keyName(sums, key), sums.By(key), w.eachFinding(r, m, sums, key)
				if verdict == evidence.Fail && f.Verdict != verdict {
					f.Verdict, f.Low = verdict, m.low(value)
				}
			}
		}
	}
	res.take(f)
	res.Hits = int64(math.Round(m.hits(value)))
	if len(res.Offenders) > 0 {
		name = res.Offenders[0].name(r.budget)
	}
	w.reason(r, f, name, res)
	if res.Verdict != Pass {
		res.Reason += w.unordered(r, sums)
	}
}

// nameable is how many of those over the limit, heaviest first, may be named.
func (w *window) nameable(r *rule, m measure, sums *charge.Sums, over []int32, verdict Verdict) int {
	i := slices.IndexFunc(over, func(key int32) bool {
		if verdict == Fail {
			return m.low(sums.By(key)) <= r.limit
		}
		return w.eachFinding(r, m, sums, key).Verdict == evidence.Pass
	})
	if i < 0 {
		return len(over)
	}
	return i
}

// eachFinding is the finding on a function or package, -1 for one that does not show.
// What was cut off may be anybody's, so a pass must hold for all.
func (w *window) eachFinding(r *rule, m measure, sums *charge.Sums, key int32) evidence.Finding {
	var value int64
	if key >= 0 {
		value = sums.By(key)
	}
	if sums.Cut == 0 {
		return m.finding(value, r.limit)
	}
	most := max(value+sums.Unknown(key), sums.Cut)
	for _, k := range sums.Keys {
		most = max(most, sums.By(k)+sums.Unknown(k))
	}
	return m.findingWithin(value, most, r.limit)
}

// unordered says that hand-overs may have been missed.
func (w *window) unordered(r *rule, sums *charge.Sums) string {
	if w.judged.counter.Ordered() || sums.Query.Charge != charge.Inner && sums.Query.Charge != charge.Waiting {
		return ""
	}
	return "; without addresses in the profile, no router outside the standard library is known"
}

// pattern judges what matches one pattern.
func (w *window) pattern(r *rule, sums *charge.Sums, res *Result) {
	value := sums.By(r.subject)
	if r.budget.Rule == "absent" {
		w.absent(r, sums, value, res)
		return
	}
	m := w.measureOf(r, sums)
	if m.problem != "" {
		res.Reason = m.problem
		return
	}
	f := m.findingWithin(value, value+sums.Unknown(r.subject), r.limit)
	res.take(f)
	res.Hits = int64(math.Round(m.hits(value)))
	if res.Verdict != Pass && m.part(value) > r.limit {
		w.explainMatches(r, m, res)
	}
	w.reason(r, f, r.budget.Subject, res)
	if where := w.elsewhere(r); where != "" {
		res.Reason += where
		return
	}
	w.unmatched(r, value, res)
}

// unmatched says that a pattern matched nothing, as long as it may well be
// misspelt: of a saved profile nobody else says so. What a watch has seen before is
// not, and of its program Facts.NotLinked tells.
func (w *window) unmatched(r *rule, value int64, res *Result) {
	if r.class != classPattern || r.budget.In != "" || len(r.budget.Where) > 0 {
		return
	}
	watched, before := w.judged.matched != nil, false
	if watched {
		before = w.judged.matched[r.subject] || value > 0
		w.judged.matched[r.subject] = before
	}
	const nobody = "no function of this profile matches "
	switch {
	case value > 0 || before:
	case res.Verdict != Pass:
		res.Reason = nobody + r.budget.Subject + ": " + res.Reason
	case !watched:
		res.Reason += "; " + nobody + r.budget.Subject
	}
}

// absent judges that what a pattern matches does not occur at all.
func (w *window) absent(r *rule, sums *charge.Sums, value int64, res *Result) {
	hits := float64(value) / float64(sums.Total) * sums.N
	f := evidence.Absent(hits, sums.N, 1, 0)
	if unknown := float64(sums.Unknown(r.subject)) / float64(sums.Total); unknown > 0 && value == 0 {
		f.High = min(f.High+unknown, 1)
		if f.High > evidence.AbsentShare {
			f.Verdict = evidence.Inconclusive
		}
	}
	if r.value.census {
		f = counted(float64(value)/float64(sums.Total), 0)
	}
	res.take(f)
	res.Hits = int64(math.Ceil(hits))
	switch {
	case value > 0:
		w.explainMatches(r, w.measureOf(r, sums), res)
		res.Verdict = Fail
		res.Reason = fmt.Sprintf("%s shows in %d of %s (%s), and may not at all", r.budget.Subject, res.Hits, r.pieces(res.Samples), percentage(f.Value))
	case res.Verdict == Pass && r.value.census:
		res.Reason = fmt.Sprintf("%s shows in none of %s", r.budget.Subject, r.pieces(res.Samples))
	case res.Verdict == Pass:
		res.Reason = "none of " + samples(res.Samples) + ", so its share is below " + percentage(f.High)
	default:
		res.Reason = fmt.Sprintf("none of %s, %.0f are needed to say that its share is below %s", samples(res.Samples), f.Needed, round(evidence.AbsentShare, dimShare))
	}
	res.Reason += w.cutOff(r) + w.elsewhere(r)
}

// process judges the sum of everything.
func (w *window) process(r *rule, sums *charge.Sums, res *Result) {
	if r.class == classLeak {
		w.leaked(r, sums, res)
		return
	}
	m := w.measureOf(r, sums)
	if m.problem != "" {
		res.Reason = m.problem
		return
	}
	f := m.finding(sums.Total, r.limit)
	res.take(f)
	res.Hits = res.Samples
	if res.Verdict != Pass && f.Value > r.limit {
		w.explainMost(r, res)
	}
	w.reason(r, f, "the process", res)
}

func (w *window) leaked(r *rule, sums *charge.Sums, res *Result) {
	res.take(counted(float64(sums.Total), 0))
	res.Hits = sums.Total
	res.Reason = fmt.Sprintf("%d goroutines are blocked for ever", sums.Total)
	if sums.Total == 1 {
		res.Reason = "1 goroutine is blocked for ever"
	}
	w.explainMost(r, res)
}

// figure judges a figure of the process. It reports false for one that is to be
// read off the profile's samples.
func (w *window) figure(r *rule, res *Result) bool {
	if r.budget.Subject == "gc" && !w.told("gc") {
		return false
	}
	value, ok := w.figureValue(r.budget.Subject)
	if !ok {
		res.Reason = w.lacks(r)
		return true
	}
	exact(res, r, value, r.budget.Subject)
	w.explainFigure(r, res)
	return true
}

// steady is beyond one window; its cap is not.
func (w *window) steady(r *rule, res *Result) {
	value, ok := w.figureValue(r.budget.Subject)
	switch {
	case !ok:
		res.Reason = w.lacks(r)
	case r.budget.Limit != (Amount{}) && value > r.limit:
		exact(res, r, value, r.budget.Subject)
		w.explainFigure(r, res)
	default:
		res.Share, res.Low, res.High = value, value, value
		res.Reason = "whether it grows shows over hours: a running guard tells"
	}
}

// reason writes the sentence that explains a finding. Every budget has one in every
// window, and most are of these few, which concatenation allocates once for.
func (w *window) reason(r *rule, f evidence.Finding, who string, res *Result) {
	zone := edge(r)
	at := format(f.Value, r.dim)
	switch {
	case r.value.census:
		res.Reason = who + " at " + at + ", the limit is " + r.budget.Limit.String()
	case res.Verdict == Fail:
		res.Reason = who + " at " + at + ", surely above " + format(f.Low, r.dim) + " (" + samples(res.Samples) + ")"
	case res.Verdict == Pass:
		res.Reason = who + " at " + at + ", surely below " + format(f.High, r.dim) + " (" + samples(res.Samples) + ")"
	case r.query >= 0 && w.judged.counter.Sums(r.query).Cut > 0 && f.Needed == 0:
		res.Reason = who + " at " + at + ", or up to " + format(f.High, r.dim) + " (" + samples(res.Samples) + ")"
	default:
		res.Reason = w.tooFew(r, f, who, at, zone, res)
	}
	res.Reason += w.cutOff(r)
}

// cutOff says how many samples are of stacks that the runtime cut off, where their lost
// end may answer otherwise.
func (w *window) cutOff(r *rule) string {
	if r.query < 0 {
		return ""
	}
	sums := w.judged.counter.Sums(r.query)
	if sums.Cut == 0 {
		return ""
	}
	n := int64(math.Round(float64(sums.Cut) / float64(sums.Total) * sums.N))
	return "; of " + samples(n) + " the runtime has cut off the stack, and who called is not known"
}

// tooFew says how many samples would have decided.
func (w *window) tooFew(r *rule, f evidence.Finding, who, at string, zone float64, res *Result) string {
	needed := f.Needed
	if m := w.measureOf(r, w.judged.counter.Sums(r.query)); m.exposure > 0 {
		// The need is in exposure; say it in samples, in proportion.
		needed = f.Needed / m.exposure * float64(res.Samples)
	}
	count := samples(res.Samples)
	if r.dim == dimShare {
		if catch := evidence.Needed(0, 0, r.limit, 1); float64(res.Samples) < catch {
			return fmt.Sprintf("%s, %.0f are needed to tell %s from %s; %s at %s", count, catch,
				r.budget.Limit, round(math.Min(evidence.Notable*r.limit, (1+r.limit)/2), dimShare), who, at)
		}
	}
	if needed <= 0 {
		return fmt.Sprintf("%s at %s after %s, too close to the limit of %s to tell", who, at, count, r.budget.Limit)
	}
	return fmt.Sprintf("%s at %s after %s, %.0f would tell it from the limit of %s (passing needs to be below %s)",
		who, at, count, math.Ceil(needed), r.budget.Limit, round(zone, r.dim))
}

// edge is the upper end of the zone of indifference.
func edge(r *rule) float64 {
	if r.dim == dimShare && r.budget.Rule != "grows" {
		return math.Min(evidence.Zone*r.limit, (1+r.limit)/2)
	}
	return evidence.Zone * r.limit
}

// pieces is a number of the rule's samples, in words.
func (r *rule) pieces(n int64) string {
	switch {
	case !r.value.census:
		return samples(n)
	case n == 1:
		return "1 goroutine"
	}
	return fmt.Sprintf("%d goroutines", n)
}
