package loop

import (
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
)

// A Change is a verdict with the alert that it leads to.
type Change struct {
	*Verdict
	Alert    alert.Alert // after the window
	Since    time.Time   // when its state was entered, zero if that was before this window
	Proven   budget.Verdict
	Evidence float64
	Offender *budget.Offender // for which the budget fires
	Notice   *Notice          // nil for none
}

// A Notice is what is told of a budget: that its alert begins or ends, or has another offender.
type Notice struct {
	Event   alert.Event // None for another offender
	Result  budget.Result
	Message string
}

// alerts advances the alerts of all budgets. It is the only one that knows their states.
type alerts struct {
	started time.Time     // of the guard
	least   time.Duration // between two notices about offenders of one budget
	of      map[*Budget]standing
}

// A standing is what is known of a budget after a window.
type standing struct {
	alert    alert.Alert
	proven   evidence.Verdict // by the last proof
	evidence float64
	offender *budget.Offender
	named    map[string]bool // the offenders that were told of while it fires, else nil
	namedAt  time.Time       // when the last one was
}

// adopt keeps the alerts of budgets that are in a new set, too.
func (a *alerts) adopt(s *Set) {
	before := a.of
	a.of = make(map[*Budget]standing, len(s.Budgets))
	for _, b := range s.Budgets {
		a.of[b] = before[b]
	}
}

// hurries reports whether extra windows help to decide about a budget: one that is pending, or
// fires and may be over.
func (a *alerts) hurries(s *Set) bool {
	for _, b := range s.Budgets {
		if now := a.of[b].alert; now.Hurries() && !b.Needs.Periodic && b.Of.ForWindows == 0 && b.Of.ForTime == 0 {
			return true
		}
	}
	return false
}

// changes advances the alerts by the verdicts of a window.
func (a *alerts) changes(verdicts []Verdict) []Change {
	list := make([]Change, len(verdicts))
	for i := range verdicts {
		v := &verdicts[i]
		list[i], a.of[v.Of] = a.next(v, a.of[v.Of])
	}
	return list
}

// next is the change by a verdict. A verdict that says nothing about the budget changes no alert:
// of a lost window, unless figures show that the budget's condition does not hold, or of one in
// which a counter of work could not be read.
func (a *alerts) next(v *Verdict, s standing) (Change, standing) {
	was, event := s.alert.State, alert.None
	if !v.silent {
		if !v.idle {
			if s.evidence = v.Finding.Evidence; v.Finding.Proven != evidence.Inconclusive {
				s.proven = v.Finding.Proven
			}
		}
		s.alert, event = s.alert.Next(a.finding(v, s), v.Of.Alert.Fed(v.fed))
	}
	c := Change{Verdict: v, Alert: s.alert}
	if s.alert.State != was {
		c.Since = v.End
	}
	switch {
	case event == alert.Fired && len(v.Result.Offenders) > 0:
		s.offender = &v.Result.Offenders[0]
	case event.Ends(): // the watch forgets, too
		s.offender, s.evidence = nil, 0
		if s.proven == evidence.Fail {
			s.proven = evidence.Inconclusive
		}
	}
	c.Notice = a.notice(&c, &s, event)
	c.Proven, c.Evidence, c.Offender = budget.Verdict(s.proven), s.evidence, s.offender
	return c, s
}

// finding is a verdict as alerts take it.
func (a *alerts) finding(v *Verdict, s standing) alert.Finding {
	r := &v.Result
	f := alert.Finding{
		Start: v.Start.Sub(a.started), End: v.End.Sub(a.started),
		Window: evidence.Verdict(r.Verdict), Proven: v.Finding.Proven, Evidence: v.Finding.Evidence, Kept: v.Finding.Kept,
		Idle: r.Idle, Measured: v.Finding.HasValue(), Value: r.Value, Limit: r.Limit, Samples: r.Samples, Hidden: v.Finding.Cut > 0,
	}
	if v.idle {
		f.Proven, f.Evidence = s.proven, s.evidence
	}
	_, none := v.Finding.Reason.(judge.NotLinked)
	if r.Verdict == budget.Pass && !f.Above() || none && v.Of.Default { // which is not misspelt
		f.Kept, f.Measured = f.End, true
	}
	if nothing, is := v.Finding.Reason.(judge.NoRelease); is && nothing.First() { // which is no lack of data
		f.Measured = true
	}
	if _, learning := v.Finding.Reason.(judge.Learning); learning && r.Verdict == budget.Inconclusive {
		f.Window = evidence.Pass // it is within its limit; growth is not judged while it learns
	}
	return f
}

// mostNamed is the most offenders that the notices of one alert name.
const mostNamed = 64

// notice is what is told of a transition, or of another offender while the budget fires.
func (a *alerts) notice(c *Change, s *standing, event alert.Event) *Notice {
	r, who, message := &c.Result, c.worst(), ""
	another := s.named != nil && r.Verdict == budget.Fail && len(r.Offenders) > 0 && !s.named[who] &&
		len(s.named) < mostNamed && c.End.Sub(s.namedAt) >= a.least
	switch {
	case event.Ends():
		s.named = nil
		return c.over(event)
	case event == alert.Fired:
		s.named, message = map[string]bool{}, c.broken("is broken")
	case another && s.offender == nil: // the notice before named none
		s.offender, message = &r.Offenders[0], c.broken("is still broken")
	case another:
		s.offender, message = &r.Offenders[0], c.broken("is broken by another offender, too")
	default:
		return nil
	}
	s.named[who], s.namedAt = true, c.End
	n := &Notice{Event: event, Result: *r, Message: message}
	if r.Verdict != budget.Fail { // its own reason only says that this window is not enough
		together := c.Finding
		together.Reason = judge.Together{}
		n.Result = c.Of.Of.Result(together)
	}
	return n
}

// partsOfWhole stands for the offenders of a budget on the process or a figure: they are parts of a
// whole, of which another leads in each window.
const partsOfWhole = "parts"

// worst is the name of the worst offender, "" without any.
func (v *Verdict) worst() string {
	switch {
	case len(v.Result.Offenders) == 0:
		return ""
	case v.Of.Rule.HasParts():
		return partsOfWhole
	}
	return v.Result.Offenders[0].Function
}
