package loop

import (
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
)

// A Change is a verdict, and what is known of its budget with it.
type Change struct {
	*Verdict
	Standing
	Notice *Notice // nil for none
}

// A Standing is what is known of a budget after a window. It is a value: the next window has another one.
type Standing struct {
	Alert    alert.Alert
	Since    time.Time      // when its state was entered
	Last     budget.Result  // of the last window that has one
	Measured bool           // it has a value
	Proven   budget.Verdict // by the last proof
	Evidence float64
	Offender *budget.Offender // for which the budget fires
	Seen     Seen
	Verdicts [budget.Fail + 1]int64
	Samples  int64
	Hits     int64
	History  []Past // the oldest first

	named   map[string]bool // the offenders that were told of while it fires, else nil
	namedAt time.Time       // when the last one was
}

// A Past is what a window has measured.
type Past struct {
	Value   float64        `json:"value"`
	Verdict budget.Verdict `json:"verdict"`
}

// maxHistory is an hour at the default period; a budget's takes 1 KB.
const maxHistory = 60

// Unjudged is what is known of a budget before its first window.
func (b *Budget) Unjudged() Standing {
	return Standing{Since: b.Since, Last: budget.Result{Budget: b.Of, Limit: b.Rule.Limit, Unit: b.Rule.Dimension.String()}}
}

// after is what is known after a window with a verdict, but for the alert.
func (s Standing) after(v *Verdict) Standing {
	r := &v.Result
	s.Last, s.Measured = *r, v.Finding.HasValue()
	s.Verdicts[r.Verdict]++
	s.Samples, s.Hits = s.Samples+r.Samples, s.Hits+r.Hits
	s.History = append(s.History[max(0, len(s.History)+1-maxHistory):], Past{r.Value, r.Verdict})
	return s
}

// A Notice is what is told of a budget: that its alert begins or ends, or has another offender.
type Notice struct {
	Event   alert.Event // None for another offender
	Result  budget.Result
	Message string
}

// hurries reports whether extra windows help to decide about a budget: one that is pending, or
// fires and may be over.
func (j *judger) hurries(s *Set) bool {
	for _, b := range s.Budgets {
		if k := j.known[b]; k != nil && k.Alert.Hurries() && !b.Needs.Periodic && b.Of.ForWindows == 0 && b.Of.ForTime == 0 {
			return true
		}
	}
	return false
}

// change advances the alert of a budget by a verdict. A verdict that says nothing about the budget changes no alert:
// of a lost window, unless figures show that the budget's condition does not hold, or of one in
// which a counter of work could not be read.
func (j *judger) change(v *Verdict) Change {
	k := j.known[v.Of]
	s, was, event := k.Standing.after(v), k.Alert.State, alert.None
	if !v.silent {
		if !v.idle {
			if s.Evidence = v.Finding.Evidence; v.Finding.Proven != evidence.Inconclusive {
				s.Proven = budget.Verdict(v.Finding.Proven)
			}
		}
		s.Alert, event = s.Alert.Next(j.finding(v, &s), v.Of.Alert.Fed(v.fed))
	}
	if s.Alert.State != was {
		s.Since = v.End
	}
	switch {
	case event == alert.Fired && len(v.Result.Offenders) > 0:
		s.Offender = &v.Result.Offenders[0]
	case event.Ends():
		k.watch.Ended(k.at)
		s.Offender, s.Evidence = nil, 0
		if s.Proven == budget.Fail {
			s.Proven = budget.Inconclusive
		}
	}
	c := Change{Verdict: v, Standing: s}
	c.Notice = j.notice(&c, event)
	k.Standing = c.Standing
	return c
}

// finding is a verdict as alerts take it.
func (j *judger) finding(v *Verdict, s *Standing) alert.Finding {
	r := &v.Result
	f := alert.Finding{
		Start: v.Start.Sub(j.started), End: v.End.Sub(j.started),
		Window: evidence.Verdict(r.Verdict), Proof: v.Finding.Proof,
		Idle: r.Idle, Measured: v.Finding.HasValue(), Value: r.Value, Limit: r.Limit, Samples: r.Samples, Hidden: v.Finding.Cut > 0,
	}
	if v.idle {
		f.Proven, f.Evidence = evidence.Verdict(s.Proven), s.Evidence
	}
	_, none := v.Finding.Reason.(judge.NotLinked)
	if r.Verdict == budget.Pass && !f.Above() || none && v.Of.Default { // which is not misspelt
		f.Kept, f.Measured = f.End, true
	}
	if nothing, is := v.Finding.Reason.(judge.NoRelease); is && nothing.First() { // which is no lack of data
		f.Measured = true
	}
	return f
}

// mostNamed is the most offenders that the notices of one alert name.
const mostNamed = 64

// notice is what is told of a transition, or of another offender while the budget fires. It notes in the change of whom
// it tells.
func (j *judger) notice(c *Change, event alert.Event) *Notice {
	s := &c.Standing
	r, who, message := &c.Result, c.worst(), ""
	another := s.named != nil && r.Verdict == budget.Fail && len(r.Offenders) > 0 && !s.named[who] &&
		len(s.named) < mostNamed && c.End.Sub(s.namedAt) >= j.least
	switch {
	case event.Ends():
		s.named = nil
		return c.over(event)
	case event == alert.Fired:
		s.named, message = map[string]bool{}, c.broken("is broken")
	case another && s.Offender == nil: // the notice before named none
		s.Offender, message = &r.Offenders[0], c.broken("is still broken")
	case another:
		s.Offender, message = &r.Offenders[0], c.broken("is broken by another offender, too")
	default:
		return nil
	}
	s.named[who], s.namedAt = true, c.End
	n := &Notice{Event: event, Result: *r, Message: message}
	n.Result.Reason = c.firedBy()
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
