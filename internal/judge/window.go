package judge

import (
	"math"
	"slices"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/unit"
)

// A window is one profile that is being judged.
type window struct {
	judged  *Judge
	t       *decode.Table
	facts   Facts
	elapsed float64 // seconds; 0 when unknown

	unseen   int64  // nanoseconds of waiting for locks that are in no sample of a mutex profile
	walked   int64  // frames that were walked for the paths of offenders
	compared int    // functions that may be over a limit, see maxCompared
	matched  []bool // by pattern: a function of the profile matches it; nil before the first question
}

// judge judges one rule by the window.
func (w *window) judge(r *rule, f *Finding) {
	if f.Reason = w.unmet(r); f.Reason != nil {
		return
	}
	switch {
	case w.isNotLinked(r):
		f.Reason = NotLinked{}
		if r.Test == Absent {
			f.Verdict = evidence.Pass
		}
		return
	case w.isOfFigure(r):
		w.judgeFigure(r, f)
		return
	case r.query < 0:
		f.Reason = r.lacks
		return
	}
	sums := w.judged.counter.Sums(r.query)
	f.Samples = int64(math.Round(max(sums.N, 0)))
	switch {
	case r.Class == Leak:
		f.set(counted(float64(sums.Total), 0))
		f.Hits, f.Reason = sums.Total, Leaked{}
		w.explainSubject(r, f)
	case sums.Total <= 0 || f.Samples == 0: // values without a sample prove nothing
		f.Samples = 0
		w.empty(r, f)
	case r.Test == Absent:
		w.absent(r, sums, f)
	default:
		w.compare(r, f)
	}
	if why := r.nameless(sums); why != nil && f.Verdict != evidence.Fail && !r.keeps(f, sums) {
		f.Verdict, f.Reason = evidence.Inconclusive, why
		if r.isShare() {
			f.High = min(f.High+max(sums.Hidden, sums.Foreign), 1)
		}
	}
}

// maxNameless is the part of the samples that may lack names where a pass depends on names: a
// function that is in no other sample is "absent" up to this share.
const maxNameless = evidence.AbsentShare

// nameless is why the samples can't show that the rule is kept, because functions have no
// names. It is nil if they can.
func (r *rule) nameless(sums *charge.Sums) Reason {
	switch {
	case r.Class != Each && r.subject < 0 && r.in < 0: // it asks for no name
	case sums.Hidden > maxNameless:
		return NoNames{sums.Hidden}
	case r.Class == Each && !r.Flat && !r.Literal && sums.Foreign > maxNameless:
		return NoPackages{sums.Foreign}
	}
	return nil
}

// keeps reports whether a count is within its limit even if one function was in all samples that lack
// names. A profile of goroutines often has a goroutine without frames, which has just begun.
func (r *rule) keeps(f *Finding, sums *charge.Sums) bool {
	more := max(sums.Hidden, sums.Foreign)
	if !r.value.Counted || r.Test != Limited || more >= 1 {
		return false
	}
	if r.Dimension == unit.Count {
		more *= float64(sums.Total) / (1 - more)
	}
	return f.Value+more <= r.Limit
}

// isNotLinked reports whether no function of the program matches the rule's pattern.
func (w *window) isNotLinked(r *rule) bool {
	return r.Class == Pattern && slices.Contains(w.facts.NotLinked, r.Subject)
}

// unmet is why the rule's condition keeps it from being judged, nil if it does not.
func (w *window) unmet(r *rule) Reason {
	value, known := w.figure(r.When.Figure)
	return r.When.unmet(value, known, w.facts.NoFigures[r.When.Figure])
}

// figure is a figure of the process, from the facts, or from the profile if its total is
// that figure.
func (w *window) figure(name string) (float64, bool) {
	name = FigureOf(name)
	if v, ok := w.facts.Figures[name]; ok {
		return v, isFigure(v) // the profile is not asked when the fact is wrong
	}
	v, ok := w.judged.layout.Value(figureKinds[name], unit.Bytes)
	if !ok {
		return 0, false
	}
	total := float64(w.total(v.Index)) * v.Scale
	if name == "cores" {
		return total / w.elapsed, w.elapsed > 0 && isFigure(total)
	}
	return total, isFigure(total) // differences of profiles may be below zero
}

// isFigure reports whether a figure has a possible value. NaN would be neither above nor
// below any limit.
func isFigure(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

// isOfFigure reports whether the rule is about a figure, and not about the profile's
// samples.
func (w *window) isOfFigure(r *rule) bool {
	_, given := w.facts.Figures[FigureOf(r.Subject)]
	switch {
	case r.isGC():
		return given || w.facts.NoFigures["gc"] != ""
	case r.Subject == "heap" && r.Test == Limited && r.query >= 0:
		return given // a profile of the heap is a sample of it
	case r.Class == Process && r.Dimension == unit.Cores && r.Test != Steady:
		return given && r.where < 0 // of what has a label, only samples show
	}
	return r.Class == Figure || r.Test == Steady
}

// judgeFigure judges a figure of the process. One window can judge the cap of a "steady"
// budget, but not whether the figure is steady.
func (w *window) judgeFigure(r *rule, f *Finding) {
	value, known := w.figure(r.Subject)
	switch {
	case !known:
		f.Reason = w.unknown(r)
	case r.Test == Steady && (r.Limit == 0 || value <= r.Limit):
		f.Value, f.Low, f.High = value, value, value
		f.Reason = OverHours{}
	default:
		f.set(counted(value, r.Limit))
		f.Reason = Counted{}
		if f.Verdict == evidence.Fail && r.query >= 0 { // the profile shows who is to blame
			w.explainSubject(r, f)
		}
	}
}

// unknown is the reason why a rule's figure has no value.
func (w *window) unknown(r *rule) Reason {
	name := FigureOf(r.Subject)
	why := w.facts.NoFigures[name]
	if why == "" && r.Test != Steady && r.lacks != nil {
		return r.lacks
	}
	return FigureUnknown{name, why}
}

// total adds up a value over all samples.
func (w *window) total(index int) int64 {
	var sum int64
	n := len(w.t.Types)
	for i := index; i < len(w.t.Values); i += n {
		sum = decode.AddSaturating(sum, w.t.Values[i])
	}
	return sum
}

// empty judges a rule by a profile without samples for it.
func (w *window) empty(r *rule, f *Finding) {
	scoped := r.in >= 0 || r.where >= 0
	switch {
	case scoped && len(w.t.Samples) > 0:
		f.Reason = OutOfScope{}
	case !scoped && r.value.Counted && r.Dimension != unit.Share:
		f.set(counted(0, r.Limit))
		f.Reason = Counted{}
	default:
		f.Reason = NoSamples{}
	}
}

// absent judges a rule that no sample may match.
func (w *window) absent(r *rule, sums *charge.Sums, f *Finding) {
	value := sums.By(r.subject)
	k := hits(sums, value)
	unknown := hits(sums, sums.Unknown(r.subject))
	e := absent(k, sums.N, unknown)
	if r.value.Counted {
		e = withUnknown(counted(sums.Part(value), 0), unknown/sums.N)
	}
	if f.set(e); unknown > 0 && e.Verdict == evidence.Inconclusive {
		f.Cut = cut(sums)
	}
	f.Hits = min(int64(math.Ceil(k)), f.Samples)
	if value > 0 {
		w.explainSubject(r, f)
	}
	f.Reason = Occurs{e.Needed}
}

// absent is the finding on k samples of n that match what may not occur. In so many others
// (unknown) the frames that may match were cut off.
func absent(k, n, unknown float64) evidence.Finding {
	return withUnknown(evidence.Absent(k, n), unknown/n)
}

// withUnknown is the finding f on "absent" where a further share of the samples may match.
func withUnknown(f evidence.Finding, share float64) evidence.Finding {
	if f.Verdict != evidence.Fail && share > 0 {
		if f.High = min(f.High+share, 1); f.High > evidence.AbsentShare {
			f.Verdict = evidence.Inconclusive
		}
	}
	return f
}

// cut is the number of samples with stacks that the runtime cut off, where the lost frames
// could change the answer.
func cut(s *charge.Sums) int64 { return int64(math.Round(hits(s, s.Cut))) }
