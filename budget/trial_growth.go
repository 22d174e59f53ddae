package budget

import "github.com/profguard/profguard/internal/evidence"

// judgeOf is the judge of somebody's share or rate in a trial.
func (t *trial) judgeOf(w *window, r *rule, name string, limit float64) evidence.Sequential {
	if r.budget.Rule == "grows" {
		if g, ok := w.growthOf(r); ok {
			return t.tuned(g.judge(name))
		}
	}
	return t.sequential(limit)
}

// trifling reports whether the growth of a function is not asked for, as it is not
// in [Set.Judge].
func (s *course) trifling(r *rule, f *functionCourse) bool {
	return r.budget.Rule == "grows" && r.dim != dimPoints && f.k < trifle*s.samples
}

// closeGrowth replaces the verdict on all samples by that of the trial.
func (s *course) closeGrowth(w *window, r *rule, res *Result) {
	who, worst, found := "", evidence.Finding{}, false
	consider := func(name string, judge *evidence.Sequential) {
		f := judge.Close()
		if !found || worse(f, worst) || name < who && !worse(worst, f) {
			who, worst, found = name, f, true
		}
	}
	if s.each == nil {
		consider("", &s.one)
	}
	for name, f := range s.each {
		if f.near != nil && !s.trifling(r, f) {
			consider(name, f.near)
		}
	}
	if !found {
		if s.nobody.Verdict() == evidence.Inconclusive && res.Verdict == Pass {
			res.Verdict = Inconclusive
		}
		return // nobody comes near the limit, and what was found on all samples says so
	}
	base := &w.judged.base
	before := base.counter.Sums(r.query)
	if r.dim != dimPoints {
		// What is missing is work; say it in samples, in proportion.
		worst.Needed *= float64(res.Samples) / w.facts.Work[r.budget.Per]
		worst.Baseline *= before.N / w.facts.BaselineWork[r.budget.Per]
	}
	k0 := base.before(r)
	switch {
	case s.each != nil:
		k0 = base.charged(r.query, who)
	case r.class == classProcess:
		who = "the process"
	default:
		who = r.budget.Subject
	}
	res.take(worst)
	if res.Verdict != Fail {
		res.Offenders, res.Over = nil, 0
	}
	res.Reason = grew(r, worst, who, r.dim != dimPoints && worst.Value > -1 && k0 <= 0, res, before.N) + w.elsewhere(r)
}
