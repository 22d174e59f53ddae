package judge

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// A Watch judges window after window of one process and weighs what they say
// together: each Finding also has an Alarm. Where the verdict of a window asks
// "do these samples prove it", the alarm asks "do all samples so far", so it
// finds a small excess that no window shows by itself, and it may be looked at
// after every window without crying wolf: about once in a hundred months at a
// window a minute.
//
// A window that was lost is not given to a Watch.
// It is not safe for concurrent use.
type Watch struct {
	judge     *Judge
	every     time.Duration
	last      time.Duration // the end of the last window
	standings []standing
}

const (
	// month is the time in which a Watch may err with a chance of one in ten.
	month  = 30 * 24 * time.Hour
	chance = 0.1
	// perSample is how many distinct functions a stack was measured to have.
	perSample = 10
)

// NewWatch returns a watch for a process of which there is a window every so
// often (0 means a minute).
func NewWatch(rules []Rule, every time.Duration) (*Watch, error) {
	j, err := New(rules)
	if err != nil {
		return nil, err
	}
	if every <= 0 {
		every = time.Minute
	}
	w := &Watch{judge: j, every: every, standings: make([]standing, len(j.rules))}
	windows := float64(month / every)
	for i := range j.rules {
		tests := 1.0
		if r := &j.rules[i]; r.Class == Each {
			tests = evidence.Tests(perSample, r.Limit)
			if r.Dimension != unit.Share || r.Flat {
				tests = evidence.Tests(1, 0.02)
			}
		}
		w.standings[i].lnA = evidence.LnA(windows, float64(len(rules)), tests, chance)
	}
	return w, nil
}

// Inherit moves what from has learnt about its rule j, counted from 0, to w's rule i:
// for a set that replaces another, in which some budgets stay. The two rules must be
// of the same budget.
func (w *Watch) Inherit(i int, from *Watch, j int) {
	lnA := w.standings[i].lnA
	w.standings[i], from.standings[j] = from.standings[j], standing{lnA: from.standings[j].lnA}
	w.standings[i].lnA = lnA
}

// Ended drops the evidence for an excess of rule i, counted from 0: its alert has
// ended.
func (w *Watch) Ended(i int) {
	s := &w.standings[i]
	if s.one != nil {
		s.one.Forget()
	}
	for _, f := range s.functions {
		f.stream.Forget()
	}
	s.evidence = 0
}

// Profile judges the next window from a parsed profile, see Table.
func (w *Watch) Profile(p *profile.Profile, at time.Duration, facts Facts) ([]Finding, error) {
	t, err := w.judge.decoder.Profile(p)
	if err != nil {
		return nil, err
	}
	return w.Table(context.Background(), t, at, facts)
}

// Table judges the next window, that ended at a time since any fixed instant. The
// context ends the work on it.
func (w *Watch) Table(ctx context.Context, t *decode.Table, at time.Duration, facts Facts) ([]Finding, error) {
	win, findings, err := w.judge.table(ctx, t, facts)
	if err != nil {
		return nil, err // and nothing has been added to the evidence
	}
	near := w.last > 0 && at-w.last < w.every*3/4
	w.last = at
	for i := range findings {
		s, f := &w.standings[i], &findings[i]
		s.add(win, &w.judge.rules[i], at, near, f)
		f.Alarm, f.Strength = s.verdict, s.evidence
		f.Unmatched = false // of a program that is watched, Facts.NotLinked tells
	}
	return findings, nil
}

// A standing is what a Watch remembers of one rule.
type standing struct {
	lnA      float64
	verdict  evidence.Verdict // the last proof
	evidence float64          // for an excess, as a part of what is proof

	one       *evidence.Stream     // of a budget on one thing; of "no function" budgets, of the worst of each window
	functions map[string]*function // of "no function" budgets, those that have come near the limit
	clean     float64              // samples since the last hit of an "absent" budget
	steady    *evidence.Steady
	baseline  *decode.Table // that the streams were set up for
}

// add adds a window to what is known about a rule.
func (s *standing) add(w *window, r *rule, at time.Duration, near bool, f *Finding) {
	switch {
	case f.Verdict != evidence.Fail && w.mostlyCut(r):
		return // what was cut off may be what the rule is about
	case r.Test == Steady:
		s.addSteady(w, r, at, f)
		return
	case r.Test == Absent && f.Samples > 0 && !r.value.Census:
		s.addAbsent(f)
		return
	case f.Samples == 0, r.proves():
		if f.Verdict != evidence.Inconclusive {
			s.verdict, s.evidence = f.Verdict, 0
		}
		return
	}
	if base := &w.judged.base; r.Test == Grows && base.table != nil && s.baseline != base.table {
		*s = standing{lnA: s.lnA, baseline: base.table}
	}
	c, why := w.comparison(r)
	switch {
	case why != nil:
	case r.Class == Each:
		s.addEach(&c, at, near)
	default:
		s.addOne(&c, r.charged(&w.judged.counter, ""), near)
		s.verdict, s.evidence = s.one.Verdict(), s.one.Strength()
	}
}

// mostlyCut reports whether stacks that were cut off are more than a hundredth of what
// the budget is about, so that a window without hits is no evidence for it.
func (w *window) mostlyCut(r *rule) bool {
	if r.query < 0 {
		return false
	}
	sums := w.judged.counter.Sums(r.query)
	return sums.Cut > sums.Total/100
}

// proves reports whether one window says all there is to say: figures are
// measured and not sampled, goroutines are counted. Of the live heap, window
// after window shows the same samples of the same objects, so that adding them
// up would prove one accident a thousand times.
func (r *rule) proves() bool {
	return r.query < 0 || r.value.Census || kinds.Of(r.Kind).Taken == kinds.State || r.Class == Figure && !r.isGC()
}

// addAbsent: one hit is proof, and so are as many samples without any as one window
// would need, in however many windows they come.
func (s *standing) addAbsent(f *Finding) {
	s.evidence = 0
	if f.Verdict == evidence.Fail {
		s.clean, s.verdict = 0, evidence.Fail
		return
	}
	s.clean += float64(f.Samples)
	if evidence.Absent(0, s.clean).Verdict == evidence.Pass {
		s.verdict = evidence.Pass
	}
}

// addOne gives a window to the stream of one thing.
func (s *standing) addOne(c *comparison, value int64, near bool) {
	if s.one == nil {
		s.one = evidence.NewStream(c.limitOf(""), s.lnA)
	}
	s.one.Retune(s.lnA)
	s.one.Add(c.hits(value), c.n, near)
}

// addSteady follows a figure over hours.
func (s *standing) addSteady(w *window, r *rule, at time.Duration, f *Finding) {
	if s.steady == nil {
		s.steady = evidence.NewSteady()
	}
	value, ok := w.figure(r.Subject)
	if !ok {
		return
	}
	load, _ := w.figure("process")
	if r.Class == Process {
		load = 0 // the load does not explain itself
	}
	s.verdict = s.steady.Add(at, value, load)
	s.evidence = s.steady.Strength()
	if f.Verdict == evidence.Fail { // its cap
		s.verdict, s.evidence = evidence.Fail, 1
		return
	}
	f.Verdict, f.Reason = s.verdict, Learning{s.steady.Learned()}
}

// A function is the evidence about one function of a rule about each.
type function struct {
	stream *evidence.Stream
	near   time.Duration // the last window in which it was at a tenth of the limit
}

const (
	// maxFunctions bounds the functions that one rule remembers. At a limit of 10%
	// and ten functions a sample there can be a thousand at a tenth of the limit in
	// theory; the 256 that were near last are far more than can be over it.
	maxFunctions = 256

	// suspicion is a twentieth of what is proof: odds of nearly three to one.
	suspicion = 0.05
)

// addEach gives a window to every function that is or was near the limit. The rule
// stands as the worst of them.
func (s *standing) addEach(c *comparison, at time.Duration, near bool) {
	if s.functions == nil {
		s.functions = map[string]*function{}
	}
	// Growth has a limit for each function: with a baseline of it, a larger one.
	sameLimit, worst, least := c.before == nil, int64(0), c.rule.near(c.n, c.sums.N)
	for key := range c.w.judged.counter.Ranked(c.query) {
		value := c.sums.By(key)
		worst = max(worst, value)
		if c.hits(value) < least {
			break // all that follow have less
		}
		name := c.name(key)
		f := s.functions[name]
		if f == nil {
			f = &function{stream: evidence.NewStream(c.limitOf(name), s.lnA)}
			s.functions[name] = f
		}
		f.near = at
	}
	if sameLimit {
		// Whether all keep to the limit shows in the worst of each window, whoever that is.
		s.addOne(c, worst, near)
	}
	failed, passed := false, true
	s.evidence = 0
	for name, f := range s.functions {
		f.stream.Retune(s.lnA)
		f.stream.Add(c.hits(c.charged(&c.w.judged.counter, name)), c.n, near)
		s.evidence = max(s.evidence, f.stream.Strength())
		// Who may be over the limit now keeps the budget from being kept again.
		failed = failed || f.stream.Verdict() == evidence.Fail || s.verdict == evidence.Fail && f.stream.Strength() >= suspicion
		passed = passed && f.stream.Verdict() == evidence.Pass
	}
	switch {
	case failed:
		s.verdict = evidence.Fail
	case sameLimit && s.verdict == evidence.Fail:
		s.verdict = evidence.Pass // whoever was over the limit has been shown to be back
	case sameLimit && s.one.Verdict() == evidence.Pass, !sameLimit && passed:
		s.verdict = evidence.Pass
	case !sameLimit:
		s.verdict = evidence.Inconclusive // the baseline is too small to tell
	}
	s.forget()
}

// forget keeps the memory bounded: whoever has not been near the limit for the
// longest time goes; those that are over it stay the longest.
func (s *standing) forget() {
	if len(s.functions) <= maxFunctions {
		return
	}
	names := slices.SortedFunc(maps.Keys(s.functions), func(a, b string) int {
		x, y := s.functions[a], s.functions[b]
		return cmp.Or(
			cmp.Compare(severity(x.stream.Verdict()), severity(y.stream.Verdict())),
			cmp.Compare(x.near, y.near),
			cmp.Compare(a, b))
	})
	for _, name := range names[:len(names)-maxFunctions] {
		delete(s.functions, name)
	}
}
