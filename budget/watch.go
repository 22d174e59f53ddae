package budget

import (
	"cmp"
	"io"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/tally"
)

// A Watch judges window after window of one process and weighs what they say
// together: each Result also has an Alarm. Where the verdict of a window asks
// "do these samples prove it", the alarm asks "do all samples so far", so it
// finds a small excess that no window shows by itself, and it may be looked at
// after every window without crying wolf: about once in a hundred months at a
// window a minute.
//
// A window that was lost is not given to a Watch.
// It is not safe for concurrent use.
type Watch struct {
	judge  *Judge
	states []state
	perDay float64
}

// state is what a Watch remembers of one budget.
type state struct {
	lnA     float64
	alarm   evidence.Alarm           // of a budget on one thing
	each    map[string]*functionFate // of "no function" budgets, by name
	steady  evidence.Steady
	verdict Verdict
	started bool
}

// functionFate is the evidence about one function.
type functionFate struct {
	alarm evidence.Alarm
	used  time.Duration // the last window in which it was at a tenth of the limit
}

const (
	// maxFates bounds the functions that one budget remembers. At most ten
	// functions a sample can have a tenth of a limit of 10%, times ten for paths
	// that change.
	maxFates = 256
	// month is the time in which a Watch may err once in a hundred.
	month = 30 * 24 * time.Hour
	// chance of a false alarm in a month, over all budgets.
	chance = 0.01
	// perSample is how many distinct functions a stack was measured to have.
	perSample = 10
)

// NewWatch returns a watch for a process of which there is a window every so
// often (0 means a minute).
func NewWatch(set Set, every time.Duration) (*Watch, error) {
	j, err := NewJudge(set)
	if err != nil {
		return nil, err
	}
	if every <= 0 {
		every = time.Minute
	}
	w := &Watch{judge: j, states: make([]state, len(j.rules))}
	windows := float64(month / every)
	for i := range j.rules {
		tests := 1.0
		if r := &j.rules[i]; r.class == classEach {
			tests = evidence.Tests(perSample, r.limit)
			if r.dim != dimShare || r.budget.Flat {
				tests = evidence.Tests(1, 0.02)
			}
		}
		w.states[i].lnA = evidence.LnA(windows, float64(len(set)), tests, chance)
	}
	return w, nil
}

// Reader judges the next window, that ended at a time since any fixed instant.
func (w *Watch) Reader(r io.Reader, at time.Duration, facts ...Facts) ([]Result, error) {
	t, err := w.judge.decoder.Decode(r)
	if err != nil {
		return nil, err
	}
	return w.table(t, at, facts)
}

// Profile judges the next window from a parsed profile.
func (w *Watch) Profile(p *profile.Profile, at time.Duration, facts ...Facts) ([]Result, error) {
	t, err := decode.FromProfile(p, &w.judge.symbols)
	if err != nil {
		return nil, err
	}
	return w.table(t, at, facts)
}

func (w *Watch) table(t *decode.Table, at time.Duration, facts []Facts) ([]Result, error) {
	win, err := w.judge.open(t, facts)
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(w.states))
	for i := range results {
		r := &w.judge.rules[i]
		results[i] = win.judge(r)
		w.states[i].feed(win, r, at, &results[i])
		results[i].Alarm = w.states[i].verdict
	}
	return results, nil
}

// feed adds a window to what is known about a budget.
func (s *state) feed(w *window, r *rule, at time.Duration, res *Result) {
	if r.budget.Rule == "steady" {
		s.feedSteady(w, r, at, res)
		return
	}
	if res.Samples == 0 || r.query < 0 || r.value.census || r.budget.Rule == "absent" || r.class == classFigure && r.budget.Subject != "gc" || res.exact() {
		// One look is proof: nothing is sampled, or one hit is enough.
		if res.Verdict != Inconclusive {
			s.verdict = res.Verdict
			res.Evidence = map[Verdict]float64{Fail: 1, Pass: 0}[res.Verdict]
		}
		return
	}
	sums := w.judged.counter.Sums(r.query)
	bet, ok := w.betOf(r, sums)
	if !ok {
		return
	}
	switch {
	case r.class == classEach:
		s.feedEach(w, r, sums, bet, at, res)
	default:
		key := r.subject
		value := sums.Total
		if key >= 0 {
			value = sums.By[key]
		}
		k, n, limit := bet(key, value)
		s.feedOne(&s.alarm, &s.started, k, n, limit)
		s.verdict = Verdict(s.alarm.Verdict())
		res.Evidence = s.alarm.Evidence() / s.alarm.Threshold()
	}
}

func (s *state) feedOne(a *evidence.Alarm, started *bool, k, n, limit float64) {
	if !*started {
		*a, *started = evidence.NewAlarm(limit, s.lnA), true
	}
	a.Add(k, n)
}

// feedEach keeps evidence for every function that has come near the limit.
func (s *state) feedEach(w *window, r *rule, sums *tally.Sums, bet bet, at time.Duration, res *Result) {
	if s.each == nil {
		s.each = map[string]*functionFate{}
	}
	fed := map[string]bool{}
	for _, key := range w.rank(r.query) {
		if w.excepted(r, sums, key) {
			continue
		}
		k, n, limit := bet(key, sums.By[key])
		name := w.keyName(sums, key)
		fate := s.each[name]
		if k < n*limit/10 {
			if fate == nil {
				if len(fed) >= len(s.each) {
					break // all that follow have less, and every fate has been fed
				}
				continue
			}
		} else if fate == nil {
			fate = &functionFate{alarm: evidence.NewAlarm(limit, s.lnA)}
			s.each[name] = fate
		}
		if k >= n*limit/10 {
			fate.used = at
		}
		fate.alarm.Add(k, n)
		fed[name] = true
	}
	worst, verdict := 0.0, Pass
	for name, fate := range s.each {
		if !fed[name] {
			_, n, _ := bet(-1, 0)
			fate.alarm.Add(0, n)
		}
		worst = max(worst, fate.alarm.Evidence()/fate.alarm.Threshold())
		switch Verdict(fate.alarm.Verdict()) {
		case Fail:
			verdict = Fail
		case Inconclusive:
			if verdict == Pass {
				verdict = Inconclusive
			}
		}
	}
	if len(s.each) == 0 {
		verdict = res.Verdict // nobody has come near
	}
	s.verdict, res.Evidence = verdict, worst
	if verdict == Fail {
		res.Evidence = max(1, worst)
	}
	s.forget(at)
}

// forget keeps the memory bounded: whoever has not come near the limit for the
// longest time goes, unless it is firing.
func (s *state) forget(at time.Duration) {
	if len(s.each) <= maxFates {
		return
	}
	var names []string
	for name, f := range s.each {
		if f.alarm.Verdict() != evidence.Fail {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		x, y := s.each[a], s.each[b]
		return cmp.Or(cmp.Compare(x.used, y.used), cmp.Compare(x.alarm.Evidence(), y.alarm.Evidence()), cmp.Compare(a, b))
	})
	for _, name := range names[:min(len(names), len(s.each)-maxFates)] {
		delete(s.each, name)
	}
}

// feedSteady follows a figure over hours.
func (s *state) feedSteady(w *window, r *rule, at time.Duration, res *Result) {
	if !s.started {
		s.steady, s.started = evidence.NewSteady(0), true
	}
	value, ok := w.figureValue(r.budget.Subject)
	if !ok {
		return
	}
	load, _ := w.figureValue("process")
	if r.budget.Subject == "process" {
		load = 0 // the load does not explain itself
	}
	s.verdict = Verdict(s.steady.Add(at, value, load))
	res.Evidence = s.steady.Evidence() / s.steady.Threshold()
	if res.Verdict == Fail { // its cap
		s.verdict, res.Evidence = Fail, 1
		return
	}
	res.Verdict = s.verdict
	switch learned := s.steady.Learned(); {
	case s.verdict == Fail:
		res.Reason = r.budget.Subject + " keep growing beyond what the load explains: " + format(value, figureDimension(r.budget.Subject)) + " now"
	case learned < 1:
		res.Reason = "learning what is normal: " + percentage(learned) + " of 48 hours are in"
	default:
		res.Reason = r.budget.Subject + " at " + format(value, figureDimension(r.budget.Subject)) + ", no growth beyond what the load explains"
	}
}

func figureDimension(name string) dimension {
	switch name {
	case "heap", "rss":
		return dimBytes
	case "process":
		return dimCores
	}
	return dimCount
}

// exact reports whether the result was measured and not sampled.
func (res *Result) exact() bool { return res.Low == res.High && res.Low == res.Share }

// A bet turns what is charged to a key into hits out of trials, and the limit on
// their share.
type bet func(key int32, value int64) (k, n, limit float64)

func (w *window) betOf(r *rule, sums *tally.Sums) (bet, bool) {
	if r.budget.Rule == "grows" {
		return w.growthBet(r, sums)
	}
	m := w.measureOf(r, sums)
	if m.problem != "" {
		return nil, false
	}
	if r.dim == dimShare {
		return func(_ int32, v int64) (float64, float64, float64) { return m.hits(v), sums.N, r.limit }, true
	}
	trials := evidence.Trials(m.exposure, r.limit)
	return func(_ int32, v int64) (float64, float64, float64) {
		return m.hits(v), trials, evidence.RareShare
	}, true
}

// growthBet holds a stream against what the baseline allows.
func (w *window) growthBet(r *rule, sums *tally.Sums) (bet, bool) {
	base := &w.judged.base
	if base.problem != "" {
		return nil, false
	}
	before := base.counter.Sums(r.query)
	if before.Total <= 0 {
		return nil, false
	}
	hits := func(s *tally.Sums, v int64) float64 { return float64(v) / float64(s.Total) * s.N }
	charged := func(key int32) int64 {
		if key < 0 {
			return before.Total
		}
		return at(before, key)
	}
	if r.dim == dimPoints {
		return func(key int32, v int64) (float64, float64, float64) {
			limit := r.limit
			if key >= 0 {
				limit = evidence.GrowthLimit(hits(before, charged(key)), before.N, 1, r.limit)
			}
			return hits(sums, v), sums.N, limit
		}, true
	}
	done, done0 := w.facts.Work[r.budget.Per], w.facts.BaselineWork[r.budget.Per]
	if !(done > 0 && done0 > 0) {
		return nil, false
	}
	return func(key int32, v int64) (float64, float64, float64) {
		// As many hits per unit of work as the baseline can have had, and the margin.
		rate := evidence.RateUpper(hits(before, charged(key)), 0.01) / done0 * (1 + r.limit)
		return hits(sums, v), evidence.Trials(done, rate), evidence.RareShare
	}, true
}

