package budget

import (
	"time"

	"github.com/profguard/profguard/internal/evidence"
)

// A state is what a Watch remembers of one budget.
type state struct {
	lnA      float64
	verdict  Verdict
	evidence float64 // of the last window that said anything

	alarm    evidence.Alarm // of a budget on one thing; of "no function" budgets, on the worst of each window
	started  bool
	fates    fates   // of "no function" budgets
	clean    float64 // samples since the last hit of an "absent" budget
	steady   evidence.Steady
	baseline uint64 // content of the one that alarms were set up for
}

// retune makes a state one of another number of budgets.
func (s *state) retune(lnA float64) {
	s.lnA = lnA
	s.alarm.Retune(lnA)
	for _, one := range s.fates.byName {
		one.alarm.Retune(lnA)
	}
}

// feed adds a window to what is known about a budget.
func (s *state) feed(w *window, r *rule, at time.Duration, res *Result) {
	defer func() { res.Alarm, res.Evidence = s.verdict, s.evidence }()
	switch {
	case r.budget.Rule == "steady":
		s.feedSteady(w, r, at, res)
		return
	case r.budget.Rule == "absent" && res.Samples > 0 && !r.value.census:
		s.feedAbsent(res)
		return
	case res.Samples == 0, r.proves():
		if res.Verdict != Inconclusive {
			s.conclude(res.Verdict)
		}
		return
	}
	if base := &w.judged.base; r.budget.Rule == "grows" && base.profile != nil && s.baseline != base.content {
		s.baseline, s.started, s.fates, s.verdict, s.evidence = base.content, false, fates{}, Inconclusive, 0
	}
	sums := w.judged.counter.Sums(r.query)
	bet, ok := w.betOf(r, sums)
	if !ok {
		return
	}
	if r.class == classEach {
		s.feedEach(w, r, sums, bet, at, res)
		return
	}
	value := sums.Total
	if r.subject >= 0 {
		value = sums.By[r.subject]
	}
	k, n, limit := bet("", value)
	s.add(w, r, k, n, limit)
	s.verdict = Verdict(s.alarm.Verdict())
	s.evidence = strength(&s.alarm)
}

// proves reports whether one window says all there is to say: figures are
// measured and not sampled, goroutines are counted. Of the live heap, window
// after window shows the same samples of the same objects, so that adding them
// up would prove one accident a thousand times.
func (r *rule) proves() bool {
	return r.query < 0 || r.value.census || r.budget.Kind == "heap" || r.class == classFigure && r.budget.Subject != "gc"
}

// conclude takes over a verdict that needs no further evidence.
func (s *state) conclude(v Verdict) {
	s.verdict, s.evidence = v, 0
	if v == Fail {
		s.evidence = 1
	}
}

// feedAbsent: one hit fires, and as many samples without any as one window would
// need pass again, in however many windows they come.
func (s *state) feedAbsent(res *Result) {
	if res.Verdict == Fail {
		s.clean = 0
		s.conclude(Fail)
		return
	}
	s.clean += float64(res.Samples)
	s.evidence = 0
	if evidence.Absent(0, s.clean, 1, 0).Verdict == evidence.Pass {
		s.conclude(Pass)
	}
}

// add gives a window to the alarm.
func (s *state) add(w *window, r *rule, k, n, limit float64) {
	if !s.started {
		s.alarm, s.started = w.alarm(r, "", limit, s.lnA), true
	}
	s.alarm.Add(k, n)
}

// strength is the part of the evidence needed to fire that an alarm has.
func strength(a *evidence.Alarm) float64 {
	if a.Threshold() <= 0 {
		return 0
	}
	return a.Evidence() / a.Threshold()
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
	s.evidence = s.steady.Evidence() / s.steady.Threshold()
	if res.Verdict == Fail { // its cap
		s.conclude(Fail)
		return
	}
	res.Verdict = s.verdict
	switch learned := s.steady.Learned(); {
	case s.verdict == Fail:
		res.Reason = r.budget.Subject + " keep growing beyond what the load explains: " + format(value, figureDimension(r.budget.Subject)) + " now"
	case learned < 1:
		res.Reason = "learning what is normal, and telling nothing until 48 hours are in: " + percentage(learned) + " of them are"
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
