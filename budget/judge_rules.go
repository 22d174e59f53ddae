package budget

import (
	"fmt"
	"math"
	"slices"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/tally"
)

// each judges "no function above" and "no package above": by the worst.
func (w *window) each(r *rule, sums *tally.Sums, res *Result) {
	m := w.measureOf(r, sums)
	if m.problem != "" {
		res.Reason = m.problem
		return
	}
	over := w.judged.over[:0]
	worst := int32(-1)
	for key := range w.ranked(r.query) {
		above := m.part(sums.By[key]) > r.limit
		if worst >= 0 && !above {
			break
		}
		if w.excepted(r, sums, key) {
			continue
		}
		if worst < 0 {
			worst = key
		}
		if above {
			over = append(over, key)
		}
	}
	w.judged.over = over
	var value int64
	if worst >= 0 {
		value = sums.By[worst]
	}
	f := m.finding(value, r.limit)
	res.take(f)
	res.Hits = int64(math.Round(m.hits(value)))
	if res.Verdict == Fail {
		// Whoever is over by accident of few samples is no offender beside one that
		// is so beyond doubt. More weight is more proof, so the list ends at once.
		proven := slices.IndexFunc(over, func(key int32) bool { return Verdict(m.finding(sums.By[key], r.limit).Verdict) != Fail })
		if proven >= 0 {
			over = over[:proven]
		}
	}
	if res.Verdict != Pass && len(over) > 0 {
		res.Over = len(over)
		w.explain(r, r.query, w.callers(r, over), m, res)
	}
	name := "no function shows: the worst is"
	if worst >= 0 {
		name = w.keyName(sums, worst)
	}
	for _, o := range res.Offenders {
		if o.Share == res.Share {
			name = o.Function // of a path that is all one, the function that matters
			break
		}
	}
	w.reason(r, f, name, res)
}

// excepted reports whether the budget exempts the key.
func (w *window) excepted(r *rule, sums *tally.Sums, key int32) bool {
	if len(r.except) == 0 {
		return false
	}
	if sums.Query.Unit == tally.Package {
		path := w.judged.names.PackageName(key)
		for _, p := range r.except {
			if w.judged.pkgs[p].MatchPackage(path) {
				return true
			}
		}
		return false
	}
	return w.judged.names.Match(w.id(key), r.except)
}

// pattern judges what matches one pattern.
func (w *window) pattern(r *rule, sums *tally.Sums, res *Result) {
	value := sums.By[r.subject]
	if r.budget.Rule == "absent" {
		w.absent(r, sums, value, res)
		return
	}
	m := w.measureOf(r, sums)
	if m.problem != "" {
		res.Reason = m.problem
		return
	}
	f := m.finding(value, r.limit)
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
func (w *window) absent(r *rule, sums *tally.Sums, value int64, res *Result) {
	hits := float64(value) / float64(sums.Total) * sums.N
	f := evidence.Absent(hits, sums.N, 1, 0)
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
	res.Reason += w.elsewhere(r)
}

// process judges the sum of everything.
func (w *window) process(r *rule, sums *tally.Sums, res *Result) {
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

func (w *window) leaked(r *rule, sums *tally.Sums, res *Result) {
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
	default:
		res.Reason = w.tooFew(r, f, who, at, zone, res)
	}
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
