package judge

import (
	"math"
	"slices"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/unit"
)

// absentLeast is how many samples without a hit are enough at the end, whatever it
// takes to be sure of a hundredth: a share of a tenth would have shown.
const absentLeast = 30

// close replaces the verdict on all samples, which does not know how they came,
// by that of the blocks.
func (s *blockStanding) close(w *window, r *rule, f *Finding) {
	if r.Test == Absent && s.decided == evidence.Inconclusive && s.sum >= absentLeast {
		f.Verdict, f.Value, f.Low, f.High = evidence.Pass, 0, 0, evidence.Absent(0, s.sum).High
		f.Samples, f.Reason, f.Notes = int64(s.sum), AbsentInBlocks{}, Notes{}
		return
	}
	switch {
	case s.decided != evidence.Inconclusive || !s.started && s.each == nil:
		// One look was enough, or there was nothing to look at.
	case r.Test == Grows:
		s.closeGrowth(w, r, f)
	default:
		s.closeLimit(w, r, f)
	}
}

// closeLimit is close for a limit.
func (s *blockStanding) closeLimit(w *window, r *rule, f *Finding) {
	who, e, certain, _ := s.worst(r)
	cut := w.judged.counter.Sums(r.query).Cut > 0
	if cut && f.Verdict == evidence.Inconclusive && e.Verdict == evidence.Pass {
		return // no block knows what stacks that were cut off have lost
	}
	scale := 1.0 // from shares of trials to the unit of the limit
	if r.Dimension != unit.Share {
		scale = r.Limit / evidence.RareShare
	}
	f.Verdict = e.Verdict
	if f.Verdict != evidence.Fail {
		f.Offenders, f.Over = nil, 0
	} else if r.Class == Each {
		proof := func(o Offender) (evidence.Finding, bool) { return s.proof(o, r.Limit, scale) }
		if first, ok := f.onlyProven(proof); ok {
			who, e = f.Offenders[0].Function, first
		}
	}
	f.Who = who
	f.Value, f.Low, f.High = e.Value*scale, e.Low*scale, e.High*scale
	if len(f.Offenders) > 0 && f.Offenders[0].Function == who { // one thing has one lower bound
		f.Offenders[0].Low, f.Offenders[0].High = f.Low, f.High
	}
	needed := e.Needed
	if r.Dimension != unit.Share {
		// In trials; say it in samples, in proportion.
		trials := s.sum
		if s.each == nil {
			trials = s.one.Samples()
		}
		needed = e.Needed / trials * float64(f.Samples)
	}
	if !(needed > 0) || math.IsInf(needed, 0) {
		needed = 0
	}
	f.Reason, f.Notes = InBlocks{certain, needed}, Notes{Elsewhere: w.elsewhere(r)}
}

// onlyProven keeps the offenders that are over the limit beyond doubt, by all blocks or
// by all samples, and returns the proof on the first of them, of which the finding is.
func (f *Finding) onlyProven(proof func(Offender) (evidence.Finding, bool)) (first evidence.Finding, ok bool) {
	all := len(f.Offenders)
	f.Offenders = slices.DeleteFunc(f.Offenders, func(o Offender) bool {
		e, proven := proof(o)
		if proven && !ok {
			first, ok = e, true
		}
		return !proven
	})
	f.Over -= all - len(f.Offenders)
	return first, ok
}

// proof is the finding on an offender, and whether it is over the limit beyond doubt.
func (s *blockStanding) proof(o Offender, limit, scale float64) (evidence.Finding, bool) {
	c := s.each[o.Function]
	if c == nil || c.near == nil {
		return evidence.Finding{}, false
	}
	f := c.near.Finding()
	f.Low = max(f.Low, o.Low/scale)
	return f, f.Low*scale > limit
}

// worst is the finding that decides: of a rule about each, the worst function's, or that
// of nobody ("") when none comes near the limit. It is not certain when only the end made
// it a pass.
func (s *blockStanding) worst(r *rule) (who string, f evidence.Finding, certain, near bool) {
	certain = s.each == nil || s.nobody.Verdict() != evidence.Inconclusive
	for name, test := range s.near(r) {
		certain = certain && test.Verdict() != evidence.Inconclusive
		if e := test.Close(); !near || worse(e, f) || name < who && !worse(f, e) {
			who, f, near = name, e, true
		}
	}
	if !near {
		f = s.nobody.Close()
	}
	return who, f, certain || f.Verdict == evidence.Fail, near
}

// closeGrowth is close for growth.
func (s *blockStanding) closeGrowth(w *window, r *rule, f *Finding) {
	who, worst, _, near := s.worst(r)
	if !near {
		if s.nobody.Verdict() == evidence.Inconclusive && f.Verdict == evidence.Pass {
			f.Verdict = evidence.Inconclusive
		}
		return // nobody comes near the limit, and what was found on all samples says so
	}
	base := &w.judged.base
	before := base.counter.Sums(r.query).N
	if r.Dimension != unit.Points {
		// What is missing is work; say it in samples, in proportion.
		worst.Needed *= float64(f.Samples) / w.facts.Work[r.Per]
		worst.Baseline *= before / w.facts.BaselineWork[r.Per]
	}
	if worst.Verdict != evidence.Fail {
		f.Offenders, f.Over = nil, 0
	} else if r.Class == Each {
		proof := func(o Offender) (evidence.Finding, bool) {
			return s.proofOfGrowth(o, w.grownBy(r, o.Function).Finding, r.Limit)
		}
		if first, ok := f.onlyProven(proof); ok {
			who, worst = f.Offenders[0].Function, first
		}
	}
	f.take(worst)
	f.Hits = int64(math.Round(hits(w.judged.counter.Sums(r.query), w.charged(r, who))))
	f.Who, f.Notes = who, Notes{Elsewhere: w.elsewhere(r)}
	f.Reason = Growth{
		Before: before, New: r.Dimension != unit.Points && worst.Value > -1 && base.charged(r, who) <= 0,
		Needed: worst.Needed, NeededBefore: worst.Baseline,
	}
}

// proofOfGrowth is proof for growth: by the blocks, or by what all samples say.
func (s *blockStanding) proofOfGrowth(o Offender, all evidence.Finding, limit float64) (evidence.Finding, bool) {
	c := s.each[o.Function]
	if c == nil || c.near == nil {
		return evidence.Finding{}, false
	}
	f := c.near.Finding()
	if f.Verdict != evidence.Fail && f.Low <= limit {
		f = all
	}
	proven := f.Verdict == evidence.Fail || f.Low > limit
	f.Verdict, f.Needed, f.Baseline = evidence.Fail, 0, 0
	return f, proven
}
