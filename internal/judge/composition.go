package judge

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/release"
)

// In a test, too, the shares of all functions grow where one of them got cheaper. A share that has grown is
// a failure only if the function costs more for each unit of work, which is a call of the test's work in
// the baselines that a test writes. If the work is not known on both sides, the shares are compared as those of
// builds are, see [released.window].

// costs are what functions cost for each unit of work, in the blocks of a test and in its baseline.
type costs struct {
	per                            string
	samples, work, squares, blocks float64 // squares of the work of blocks
	n0, work0                      float64 // the samples of the baseline, and the work
	by                             map[string]*cost
	ended                          bool // no more blocks come
}

// A cost is that of a function: its hits, the sums over the blocks of their squares, and of hits times work,
// its hits in the baseline, and how many more may be in stacks there that were cut off.
type cost struct{ hits, squares, products, before, hidden float64 }

func (r released) block(t *tally, m *measurement) {
	if m.unjudged(r.rule) != nil {
		return
	}
	if !r.byBuilds(m) {
		r.growth.block(t, m)
	} else {
		t.samples += m.charges(r.rule).sums.N
	}
	c, why := r.grown(m)
	if r.Class != Each || why != nil || m.facts.Releases != nil {
		return
	}
	if per := commonUnit(&m.facts, r.Per); t.costs == nil && per != "" {
		t.costs = &costs{per: per, n0: c.n0, work0: m.facts.BaselineWork[per], by: map[string]*cost{}}
	}
	if t.costs == nil {
		return
	}
	work := m.facts.Work[t.costs.per]
	if now, then := perHit(c.sums, m.t), perHit(c.before, m.base.table); now > 0 && then > 0 {
		work *= then / now // hits of the two profiles may stand for different values
	}
	t.costs.add(&c, work)
}

// add adds a block.
func (k *costs) add(c *grown, work float64) {
	k.samples, k.work, k.squares, k.blocks = k.samples+c.sums.N, k.work+work, k.squares+work*work, k.blocks+1
	for name := range c.names(0) {
		f := k.by[name]
		if f == nil {
			x := c.charge(name)
			f = &cost{before: hits(c.before, x.before), hidden: hits(c.before, x.hidden)}
			k.by[name] = f
		}
		now, _, _ := c.of(name)
		n := c.hits(now)
		f.hits, f.squares, f.products = f.hits+n, f.squares+n*n, f.products+n*work
	}
}

// commonUnit is a unit of work of which both sides know how much was done, "" if there is none. It is one by
// that name, if there is a name.
func commonUnit(f *Facts, name string) string {
	for _, per := range slices.Sorted(maps.Keys(f.Work)) {
		if (name == "" || per == name) && isAmount(f.Work[per]) && isAmount(f.BaselineWork[per]) {
			return per
		}
	}
	return ""
}

const (
	// slower is by what factor another machine may be slower than that of the baseline.
	slower = 1.2
	// costAlpha is the chance that a cost seems to have grown by more than the limit, which takes a share that
	// has grown for sure.
	costAlpha = 1e-4
	// leastBlocks is the number of blocks from which on their differences are known.
	leastBlocks = 12
	// rarely is a factor for trials that makes hits rare among them, as they are in the work.
	rarely = 50
	// atEnd times the limit is what would have been caught where a cost that seems to be within the limit passes
	// at the end: a test must not be flaky because a call costs less.
	atEnd = 3
)

// grown is what is proven of a function's cost: by how much it has grown, in parts of what everything cost
// before. Where all else got cheaper, a machine that is slower may hide that it costs the same.
func (k *costs) grown(name string, limit float64) (e evidence.Finding) {
	f := k.by[name]
	if f == nil || k.blocks < leastBlocks {
		return e
	}
	rate, trials := f.hits/k.work, k.n0*k.work/k.work0
	phi := 1.0
	if f.hits > 0 {
		phi = max(1, (f.squares-2*rate*f.products+rate*rate*k.squares)/f.hits*k.blocks/(k.blocks-1))
	}
	most := f.before + f.hidden
	now, before := evidence.Hits{K: f.hits, N: rarely * trials, Phi: phi}, evidence.Hits{K: most, N: rarely * k.n0, Phi: phi}
	others, others0 := (k.samples-f.hits)/trials, 1-most/k.n0
	machine := min(max(1, others0/max(others, 1e-9)), slower)
	e.Value = f.hits/trials - most/k.n0
	e.Low = rarely * machine * evidence.ChangeAbove(now, before, 1/machine, costAlpha)
	before.K = f.before
	e.High = rarely * evidence.ChangeBelow(now, before, 1, evidence.PassAlpha)
	switch {
	case e.Low > limit:
		e.Verdict = evidence.Fail
	case e.High < evidence.Notable*limit, k.ended && e.Value <= limit && e.High < atEnd*limit:
		e.Verdict = evidence.Pass
	}
	return e
}

// verdict is that of the worst function, by its share and its cost. Where the work is not known, it is that of
// the shares, of which a failure takes the comparison of builds.
func (r released) verdict(t *tally, last bool) evidence.Verdict {
	v := r.growth.verdict(t, last)
	switch {
	case r.Class != Each || r.Per == "" && t.each == nil:
		return v
	case r.Per != "" && t.costs != nil:
		if v = r.looked(t).Verdict; v == evidence.Inconclusive && r.costsNoMore(t) {
			v = evidence.Pass
		}
	case t.costs != nil:
		_, v = r.worst(t, (*evidence.Sequential).Verdict)
	case r.Per != "" || v == evidence.Fail:
		v = r.looked(t).Verdict
	}
	return v
}

// costsNoMore reports whether none of the functions with a notable part of the blocks costs more.
func (r released) costsNoMore(t *tally) bool {
	for name, f := range t.costs.by {
		if f.hits >= r.near(t.costs.samples, t.costs.samples) && t.costs.grown(name, r.Limit).Verdict != evidence.Pass {
			return false
		}
	}
	return t.costs.samples > 0
}

// worst is the function that decides, where share gives the verdict on the share of each. It is "" if none
// keeps the rule from passing.
func (r released) worst(t *tally, share func(*evidence.Sequential) evidence.Verdict) (who string, verdict evidence.Verdict) {
	verdict = evidence.Pass
	for name, s := range t.near(r.near) {
		if v := r.together(t, name, share(s)); severity(v) > severity(verdict) || v == verdict && v != evidence.Pass && name < who {
			who, verdict = name, v
		}
	}
	return who, verdict
}

// together is the verdict on a function by its share and its cost: it fails if both have grown, and the cost has
// not only moved, and passes if one of them has not.
func (r released) together(t *tally, name string, share evidence.Verdict) evidence.Verdict {
	if share == evidence.Pass {
		return evidence.Pass
	}
	switch cost := t.costs.grown(name, r.Limit).Verdict; {
	case cost == evidence.Fail && share == evidence.Fail && r.movedFrom(t, name) == nil:
		return evidence.Fail
	case cost == evidence.Fail && share == evidence.Fail, cost == evidence.Pass:
		return evidence.Pass
	}
	return evidence.Inconclusive
}

// movedFrom are the functions where the cost of one was before that has only moved, nil if it has not.
func (r released) movedFrom(t *tally, name string) []string {
	if of, known := r.looked(t).Reason.(Released); known {
		return of.Of.MovedFrom(name)
	}
	return nil
}

// looks is the factor by which the samples grow from one comparison of all blocks to the next.
const looks = 1.25

// looked is what the comparison of builds finds in the blocks so far.
func (r released) looked(t *tally) Finding {
	m := t.whole.measurement()
	if n := float64(m.t.Count()); n > 0 && n >= looks*t.looked {
		o := release.Options{Per: r.Per, Except: r.Except, Limit: r.Limit}
		if t.costs != nil {
			o.Per = t.costs.per
		}
		t.looked, t.compared = n, r.comparedBy(m, o)
	}
	return t.compared
}

func (r released) closed(t *tally, m *measurement, all Finding) Finding {
	if t.costs != nil {
		t.costs.ended = true
	}
	if r.byBuilds(m) {
		if all.Verdict == evidence.Inconclusive && t.costs != nil && all.Cut == 0 && r.costsNoMore(t) {
			all.Verdict = evidence.Pass
			if e := t.costs.grown(all.Who, r.Limit); e.Verdict == evidence.Pass {
				all.Value, all.Low, all.High = e.Value, e.Low, e.High
			}
		}
		return all
	}
	f := r.growth.closed(t, m, r.growth.window(m))
	_, byShares := f.Reason.(Growth)
	switch {
	case r.Class != Each || f.Verdict == evidence.Pass || !byShares || f.Verdict != evidence.Fail && f.Cut > 0:
		return f
	case t.costs != nil:
		return r.byCost(t, m, f)
	case f.Verdict != evidence.Fail:
		return f
	}
	of := r.compared(m)
	why, few := of.Reason.(NoRelease)
	if !few {
		return of
	}
	if share := float64(f.Hits) / float64(max(f.Samples, 1)); share-f.Value > share/mostCheaper {
		f.Verdict, f.Reason, f.Offenders, f.Over = evidence.Inconclusive, Composition{Share: f.Value, Why: why.Why}, nil, 0
	}
	return f
}

// mostCheaper is the factor by which all but one function may have got cheaper at once. A function whose share
// has grown by more than that, as one that is new, has grown by itself.
const mostCheaper = 10

// byCost is a finding that shares have grown, or may have, by what the functions cost for each unit of work, too.
func (r released) byCost(t *tally, m *measurement, f Finding) Finding {
	who, verdict := r.worst(t, func(s *evidence.Sequential) evidence.Verdict { return s.Close().Verdict })
	who = cmp.Or(who, f.Who)
	n := len(f.Offenders)
	f.Offenders = slices.DeleteFunc(f.Offenders, func(o Offender) bool {
		return verdict != evidence.Fail || r.together(t, o.Function, evidence.Fail) != evidence.Fail
	})
	f.Over -= n - len(f.Offenders)
	if n > 0 && len(f.Offenders) > 0 && f.Offenders[0].Function == f.Who {
		return f
	}
	if len(f.Offenders) > 0 {
		who = f.Offenders[0].Function
	}
	s := t.each[who]
	e, share := s.Close(), s.Close()
	if c, why := r.grown(m); why == nil {
		x := c.charge(who)
		x.Finding = share
		f.Reason = c.reason(x)
	}
	if verdict == evidence.Pass || verdict != share.Verdict {
		e = t.costs.grown(who, r.Limit)
		f.Reason = Composition{Share: share.Value, Per: t.costs.per}
		if from := r.movedFrom(t, who); from != nil {
			f.Reason = Composition{Share: share.Value, From: from}
		}
	}
	k, _ := s.Seen()
	f.Verdict, f.Who, f.Hits = verdict, who, int64(math.Round(k))
	f.Value, f.Low, f.High = e.Value, e.Low, e.High
	return f
}
