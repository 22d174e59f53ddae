package judge

import (
	"math"
	"time"

	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/evidence"
)

// absent judges that no sample may have a function of a pattern. One hit is proof.
type absent struct{ *rule }

func (a absent) alert(period, window time.Duration) alert.Rule {
	rule := a.alertOf(period, window, false)
	rule.AtOnce = !rule.Strict
	return rule
}

// unknown is the number of hits that may be in stacks that were cut off.
func (a absent) unknown(c *charges) float64 { return c.hits(c.sums.Unknown(a.subject)) }

func (a absent) window(m *measurement) Finding {
	switch why := m.unjudged(a.rule).(type) {
	case nil:
	case NotLinked: // the best possible pass
		return Finding{Verdict: evidence.Pass, Reason: why}
	default:
		return Finding{Reason: why}
	}
	c := m.charges(a.rule)
	if c.samples() == 0 {
		return c.named(c.noSamples())
	}
	value := c.sums.By(a.subject)
	k, unknown := c.hits(value), a.unknown(&c)
	e := (&clean{c.sums.N, unknown}).finding(k)
	if a.value.Counted {
		e = withUnknown(evidence.Counted(c.sums.Part(value), 0), unknown/c.sums.N)
	}
	f := findingOf(e, Occurs{e.Needed})
	f.Samples, f.Hits = c.samples(), min(int64(math.Ceil(k)), c.samples())
	if unknown > 0 && e.Verdict == evidence.Inconclusive {
		f.Cut = cut(c.sums)
	}
	if value > 0 {
		f.Offenders = c.offenders()
	}
	return c.named(f)
}

// follow adds windows up: a pass is proven by as many samples without a hit as one window would
// need.
func (a absent) follow(r *record, m *measurement, f Finding) Finding {
	if f.Samples == 0 || a.proves() {
		return r.proven(f)
	}
	c := m.charges(a.rule)
	switch {
	case f.lacksNames():
	case f.Verdict == evidence.Fail:
		r.clean, r.Proven = clean{}, evidence.Fail
	case mostlyCut(c.sums): // what was cut off would outweigh all windows to come
	default:
		r.clean.add(float64(f.Samples), a.unknown(&c))
		if r.clean.finding(0).Verdict == evidence.Pass {
			r.Proven, r.Kept, r.clean = evidence.Pass, m.at, clean{} // the next proof is of other windows
		}
	}
	return r.with(f)
}

func (a absent) block(t *tally, m *measurement) {
	if m.isNotLinked(a.rule) {
		t.decided = evidence.Pass
	}
	if t.decided != evidence.Inconclusive || m.unjudged(a.rule) != nil {
		return
	}
	c := m.charges(a.rule)
	t.clean.add(c.sums.N, a.unknown(&c))
	t.decided = t.clean.finding(float64(c.sums.By(a.subject))).Verdict
}

// absentLeast is how many samples without a hit are enough at the end. To be sure of
// a share below 1% takes more, but a share of 10% would have shown.
const absentLeast = 30

// isEnough reports whether there are enough samples without a hit at the end.
func (a absent) isEnough(t *tally) bool {
	return t.decided == evidence.Inconclusive && t.samples >= absentLeast && t.unknown <= evidence.AbsentShare*t.samples
}

func (a absent) verdict(t *tally, last bool) evidence.Verdict {
	if last && a.isEnough(t) {
		return evidence.Pass
	}
	return t.decided
}

func (a absent) closed(t *tally, m *measurement, all Finding) Finding {
	if !a.isEnough(t) || a.query >= 0 && a.nameless(m.charges(a.rule).sums) != nil {
		return all
	}
	all.Verdict, all.Value, all.Low, all.High = evidence.Pass, 0, 0, t.clean.finding(0).High
	all.Samples, all.Reason, all.Notes = int64(t.samples), AbsentInBlocks{}, Notes{}
	return all
}
