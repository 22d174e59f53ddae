package judge

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// A Watch judges window after window of one process and combines their evidence: each
// Finding also says what is Proven. The verdict of a window answers "do these samples prove it?",
// Proven answers "do all samples so far prove it?". So Proven finds a small excess
// that no single window shows. It may be looked at after every window: at most one
// false alarm is expected in ten months, and docs/alerts.md has how many there were.
//
// A window that was lost is not given to a Watch.
// It is not safe for concurrent use.
type Watch struct {
	judge  *Judge
	every  time.Duration
	last   time.Duration // the end of the last window
	states []watchState
}

const (
	// The chance of a false alarm of a Watch within a month is at most one in ten.
	month  = 30 * 24 * time.Hour
	chance = 0.1
	// perSample is the measured number of distinct functions in a stack.
	perSample = 10
)

// NewWatch returns a watch for a process that has a window in each period of length every.
func NewWatch(rules []Rule, every time.Duration) *Watch {
	w := &Watch{judge: New(rules), every: every, states: make([]watchState, len(rules))}
	windows := float64(month / every)
	for i, r := range rules {
		tests := 1.0
		if r.Class == Each {
			tests = evidence.Tests(perSample, r.Limit)
			if r.Dimension != unit.Share || r.Flat {
				tests = evidence.Tests(1, 0.02)
			}
		}
		w.states[i].lnA = evidence.LnA(windows, float64(len(rules)), tests, chance)
	}
	return w
}

// Inherit moves the evidence about rule j of another watch, counted from 0, to rule i of w:
// for a new set of budgets that keeps some of the old ones. The two rules must be of the
// same budget.
func (w *Watch) Inherit(i int, from *Watch, j int) {
	lnA := w.states[i].lnA
	w.states[i], from.states[j] = from.states[j], watchState{lnA: from.states[j].lnA}
	w.states[i].lnA = lnA
}

// Ended drops the evidence for an excess of rule i, counted from 0, when its alert has
// ended.
func (w *Watch) Ended(i int) {
	s := &w.states[i]
	for _, f := range s.streams {
		f.Forget()
	}
	if s.evidence, s.unproven = 0, false; s.verdict == evidence.Fail {
		s.verdict = evidence.Inconclusive
	}
}

// Table judges the next window. It ended at a time since any fixed instant. The work stops
// when the context ends.
func (w *Watch) Table(ctx context.Context, t *decode.Table, at time.Duration, facts Facts) ([]Finding, error) {
	win, findings, err := w.judge.table(ctx, t, facts)
	if err != nil {
		return nil, err // and nothing has been added to the evidence
	}
	soon := w.last > 0 && at-w.last < w.every*3/4
	w.last = at
	for i := range findings {
		s, f := &w.states[i], &findings[i]
		s.add(win, &w.judge.rules[i], at, soon, f)
		if s.verdict != evidence.Pass {
			s.kept = 0
		}
		f.Proven, f.Evidence, f.Kept = s.verdict, s.evidence, s.kept
		f.Unmatched = false // for a program that is watched, Facts.NotLinked says this
	}
	return findings, nil
}

// A watchState is what a Watch remembers of one rule.
type watchState struct {
	lnA      float64
	verdict  evidence.Verdict // the last proof
	evidence float64          // for an excess, as a part of the proof: 1 is proof
	unproven bool             // an excess of a function ended without proof that it is below the limit
	kept     time.Duration    // when all windows together proved a pass last; 0 for never
	lost     bool             // the stream of a function was forgotten that had not passed

	// streams has a stream for each name. A rule about one subject has only the name "". A rule
	// about each function has one for each function that came near the limit; there, "" is a
	// function without samples.
	streams map[string]*stream
	clean   float64 // samples since the last hit of an "absent" budget
	unknown float64 // those of them in which frames that were cut off may match
	steady  *evidence.Steady
}

// add adds a window to the evidence about a rule.
func (s *watchState) add(w *window, r *rule, at time.Duration, soon bool, f *Finding) {
	switch f.Reason.(type) {
	case NoNames, NoPackages:
		return // it says nothing about functions
	}
	switch {
	case r.Test == Steady:
		if w.unmet(r) == nil {
			s.addSteady(w, r, at, f)
		}
		return
	case r.Test == Absent && f.Samples > 0 && !r.proves():
		s.addAbsent(w, r, at, f)
		return
	case f.Samples == 0, r.proves():
		if f.Verdict != evidence.Inconclusive {
			s.verdict, s.evidence = f.Verdict, 0
		}
		return
	}
	c, why := w.comparison(r)
	if why != nil || f.Verdict != evidence.Fail && c.before != nil && mostlyCut(c.before) {
		return // what the baseline lacks would look like growth
	}
	s.addStreams(&c, at, soon)
}

// proves reports whether the verdict of one window is the proof, so that windows are not
// added up. Figures are measured and goroutines are counted, and not sampled. Profiles of
// the live heap show the same samples of the same objects in each window, so they must not
// be added up.
func (r *rule) proves() bool {
	return r.query < 0 || r.value.Counted || kinds.Of(r.Kind).Taken == kinds.State || r.Class == Figure && !r.isGC()
}

// mostlyCut reports whether more than 1% of the samples have stacks that were cut off.
func mostlyCut(s *charge.Sums) bool { return s.Cut > s.Total/100 }

// addAbsent adds a window of an "absent" budget. One hit proves a fail. A pass is proven by as
// many samples without a hit as one window would need, from any number of windows.
func (s *watchState) addAbsent(w *window, r *rule, at time.Duration, f *Finding) {
	if f.Verdict == evidence.Fail {
		s.clean, s.unknown, s.verdict = 0, 0, evidence.Fail
		return
	}
	sums := w.judged.counter.Sums(r.query)
	if mostlyCut(sums) {
		return // what was cut off would outweigh all windows to come
	}
	s.clean += float64(f.Samples)
	s.unknown += hits(sums, sums.Unknown(r.subject))
	if absent(0, s.clean, s.unknown).Verdict == evidence.Pass {
		s.verdict, s.kept = evidence.Pass, at
		s.clean, s.unknown = 0, 0 // the next proof is of other windows
	}
}

// addSteady follows a figure over hours.
func (s *watchState) addSteady(w *window, r *rule, at time.Duration, f *Finding) {
	if s.steady == nil {
		s.steady = evidence.NewSteady()
	}
	value, ok := w.figure(r.Subject)
	if !ok {
		return
	}
	load, _ := w.figure("process")
	if r.Class == Process {
		load = 0 // the figure is the load itself
	}
	s.verdict = s.steady.Add(at, value, load)
	s.evidence = s.steady.Strength()
	if f.Verdict == evidence.Fail { // its cap
		s.verdict, s.evidence = evidence.Fail, 1
		return
	}
	f.Verdict, f.Reason = s.verdict, Learning{s.steady.Learned()}
}

const (
	// maxStreams limits the functions that one rule remembers, to far more than can be over it.
	maxStreams = 256

	// leastStrength is a twentieth of the evidence of a proof: odds of nearly three to one.
	leastStrength = 0.05
)

// addStreams adds a window to the stream of every function that is or was near the limit.
// The rule's verdict is that of the worst of them.
func (s *watchState) addStreams(c *comparison, at time.Duration, closely bool) {
	if s.streams == nil {
		s.streams = map[string]*stream{}
	}
	for name := range c.names(c.near(c.n, c.sums.N)) {
		if s.streams[name] == nil {
			f := &stream{Stream: evidence.NewStream(c.limitOf(name), s.lnA)}
			// Until now it was among the others, which had less than a tenth of the limit in each
			// window.
			if others := s.streams[""]; others != nil && c.before == nil && others.Verdict() == evidence.Pass && !s.lost {
				f.Assume()
				f.kept = others.kept
			}
			s.streams[name] = f
		}
	}
	failed, passed, kept := false, true, at
	s.evidence = 0
	for name, f := range s.streams {
		f.Retune(s.lnA)
		was := f.Verdict()
		if f.add(c, name, closely) {
			f.kept = at
		}
		kept = min(kept, f.kept)
		s.unproven = s.unproven || was == evidence.Fail && f.Verdict() == evidence.Inconclusive
		s.evidence = max(s.evidence, f.Strength())
		// A budget that has failed goes on failing while a function may be over the limit.
		failed = failed || f.Verdict() == evidence.Fail || s.verdict == evidence.Fail && f.Strength() >= leastStrength
		passed = passed && f.Verdict() == evidence.Pass
	}
	switch {
	case failed:
		s.verdict = evidence.Fail
	case passed:
		s.verdict, s.unproven, s.kept = evidence.Pass, false, max(s.kept, kept)
	case c.before == nil && s.verdict == evidence.Fail && !s.unproven: // all that were over the limit are proven to be below
		s.verdict, s.kept = evidence.Pass, at
	case c.before != nil, s.verdict == evidence.Fail: // the baseline is too small to tell, or stacks were cut off
		s.verdict, s.unproven = evidence.Inconclusive, false
	}
	s.forget()
}

// A stream is the evidence about one function. Where observations weigh differently, it
// takes one for what those of this function have weighed on average so far, see
// [comparison.bounds].
type stream struct {
	*evidence.Stream
	values, squares float64
	kept            time.Duration // when it proved a pass last; 0 for never
}

// add adds the charge of a name in a window, and reports whether it proves a pass.
func (s *stream) add(c *comparison, name string, closely bool) bool {
	now, unknown, weight := c.inWindow(name)
	if hit := perHit(c.sums, c.w.t); c.sums.Uneven() {
		s.values += float64(now)
		s.squares += float64(now) * weight * hit
		if s.values > 0 {
			weight = s.squares / s.values / hit
		}
	}
	return s.Add(c.hits(now)/weight, c.hits(unknown+c.unseen)/weight, c.n/weight, closely)
}

// forget limits the memory. It keeps the streams with the most evidence for an excess, and of
// those without any the ones that have not passed: a function that has is one of the others again.
func (s *watchState) forget() {
	if len(s.streams) <= maxStreams {
		return
	}
	open := func(f *stream) int { // 0 if it has passed
		if f.Verdict() == evidence.Pass {
			return 0
		}
		return 1
	}
	names := slices.SortedFunc(maps.Keys(s.streams), func(a, b string) int {
		f, g := s.streams[a], s.streams[b]
		return cmp.Or(cmp.Compare(f.Strength(), g.Strength()), cmp.Compare(open(f), open(g)), cmp.Compare(a, b))
	})
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	for _, name := range names[:len(s.streams)-maxStreams] {
		s.lost = s.lost || s.streams[name].Verdict() != evidence.Pass
		delete(s.streams, name)
	}
}
