package budget

import (
	"fmt"
	"math"

	"github.com/profguard/profguard/internal/evidence"
)

// close replaces the verdict on all samples, which does not know how they came,
// by that of the trial.
func (s *course) close(w *window, r *rule, res *Result) {
	if r.budget.Rule == "absent" && s.decided == Inconclusive && s.sum >= absentLeast {
		f := evidence.Absent(0, s.sum, 1, 0)
		res.Verdict, res.Share, res.Low, res.High = Pass, 0, 0, f.High
		res.Reason = fmt.Sprintf("none of %s: below %s", samples(int64(s.sum)), format(f.High, dimShare))
		return
	}
	if s.decided != Inconclusive || !s.started && s.each == nil {
		return // one look was enough, or there was nothing to look at
	}
	if r.budget.Rule == "grows" {
		s.closeGrowth(w, r, res)
		return
	}
	if sums := w.judged.counter.Sums(r.query); sums.Cut > 0 && res.Verdict == Inconclusive {
		defer func(open Result) {
			if res.Verdict == Pass {
				*res = open // no block knows what stacks that were cut off have lost
			}
		}(*res)
	}
	name, f, certain := s.worst(r)
	unit := 1.0
	if r.dim != dimShare {
		unit = r.limit / evidence.RareShare
	}
	res.Share, res.Low, res.High = f.Value*unit, f.Low*unit, f.High*unit
	res.Verdict = Verdict(f.Verdict)
	if res.Verdict != Fail {
		res.Offenders, res.Over = nil, 0
	} else if r.class == classEach && len(res.Offenders) > 0 {
		first := res.Offenders[0].Function // the result speaks of the one that the report begins with
		if c := s.each[first]; c != nil && c.near != nil {
			if g := c.near.Finding(); g.Low*unit > r.limit {
				res.Share, res.Low, res.High = g.Value*unit, g.Low*unit, g.High*unit
				name, f = first, g
			}
		}
	}
	res.Reason = s.reason(r, name, f, certain, res) + w.elsewhere(r)
}

// worst is the finding that decides: of a "no function" budget, the worst
// function's. It is not certain when only the end of the trial made it a pass.
func (s *course) worst(r *rule) (name string, f evidence.Finding, certain bool) {
	if s.each == nil {
		name = r.budget.Subject
		if r.class == classProcess {
			name = "the process"
		}
		return name, s.one.Close(), s.one.Verdict() != evidence.Inconclusive
	}
	rank := map[evidence.Verdict]int{evidence.Pass: 0, evidence.Inconclusive: 1, evidence.Fail: 2}
	name, f, certain = "nothing", s.nobody.Close(), s.nobody.Verdict() != evidence.Inconclusive
	for n, c := range s.each {
		if c.near == nil {
			continue
		}
		g := c.near.Close()
		certain = certain && c.near.Verdict() != evidence.Inconclusive
		worse := rank[g.Verdict] - rank[f.Verdict]
		if worse > 0 || worse == 0 && (g.Value > f.Value || g.Value == f.Value && (name == "nothing" || n < name)) {
			name, f = n, g
		}
	}
	return name, f, certain || f.Verdict == evidence.Fail
}

// absentLeast is how many samples without a hit are enough at the end of a trial,
// whatever it takes to be sure of a hundredth: a share of a tenth would have shown.
const absentLeast = 30

func (s *course) reason(r *rule, name string, f evidence.Finding, certain bool, res *Result) string {
	came := samples(res.Samples)
	at := format(res.Share, r.dim)
	switch {
	case res.Verdict == Fail:
		return fmt.Sprintf("%s at %s, surely above %s (%s)", name, at, format(res.Low, r.dim), came)
	case res.Verdict == Pass && certain && res.Share > r.limit:
		return fmt.Sprintf("%s at %s, too close to the limit of %s to tell, and surely below %s (%s)",
			name, at, r.budget.Limit, format(res.High, r.dim), came)
	case res.Verdict == Pass && certain:
		return fmt.Sprintf("%s at %s, surely below %s (%s)", name, at, format(res.High, r.dim), came)
	case res.Verdict == Pass && res.High < r.limit: // there was no time for as many blocks as make it certain
		return fmt.Sprintf("%s at %s, likely below %s; one and a half times the limit of %s would have been caught (%s)",
			name, at, format(res.High, r.dim), r.budget.Limit, came)
	case res.Verdict == Pass:
		return fmt.Sprintf("%s at %s, too close to the limit of %s to tell; one and a half times the limit would have been caught (%s)",
			name, at, r.budget.Limit, came)
	case res.Samples == 0:
		return "no CPU sample at all"
	}
	needed := f.Needed
	if r.dim != dimShare {
		// In trials; say it in samples, in proportion.
		needed = f.Needed / s.one.Samples() * float64(res.Samples)
		if s.each != nil {
			needed = f.Needed / s.sum * float64(res.Samples)
		}
	}
	if needed <= 0 || math.IsNaN(needed) || math.IsInf(needed, 0) {
		return fmt.Sprintf("%s at %s after %s: no number of samples would tell it from the limit of %s", name, at, came, r.budget.Limit)
	}
	return fmt.Sprintf("too few CPU samples: %d came, %.0f are needed to tell it from the limit of %s; %s at %s so far",
		res.Samples, math.Ceil(needed), r.budget.Limit, name, at)
}
