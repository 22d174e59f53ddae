package guard

import (
	"fmt"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/unit"
)

// What events and the status say about an alert. The reason of a single result is said by
// package budget.

// shown is a value of the budget in words.
func (e *entry) shown(v float64) string { return unit.Format(v, e.rule.Dimension) }

// limit is the limit as the sentence has it, but in the unit of the measured value.
func (e *entry) limit(r *budget.Result) string {
	if e.rule.Dimension == unit.Waited {
		return unit.Short(r.Limit, unit.Waited)
	}
	return r.Budget.Limit.String()
}

// broken is the message of an event about a budget that is broken: what was measured, the
// limit, and the offender. The sinks have the reason beside it.
func (e *entry) broken(event alert.Event, r *budget.Result) string {
	is := "is broken by another offender, too"
	switch {
	case event == alert.Fired:
		is = "is broken"
	case e.Offender == nil: // the event before named none
		is = "is still broken"
	}
	who := sentence(e.Budget)
	if e.Name != who {
		who = fmt.Sprintf("%s (%s)", e.Name, who)
	}
	text := fmt.Sprintf("budget %s %s: at %s", who, is, e.shown(r.Value))
	if r.Limit > 0 {
		text += ", limit " + e.limit(r)
	}
	if len(r.Offenders) > 0 {
		text += "; offender " + r.Offenders[0].String()
	}
	return text
}

// endedBy says why the alert has ended, with the figures that ended it. r is the result of the
// last window.
func (e *entry) endedBy(event alert.Event, r *budget.Result) string {
	since := &e.alert.Recovery
	over := "in the last " + unit.Plural(since.Windows, "window")
	if since.Samples > 0 {
		over += fmt.Sprintf(" (%s)", unit.Plural(since.Samples, "sample"))
	}
	switch {
	case event == alert.Unjudged && r.Idle:
		return fmt.Sprintf("%s; the condition has not held for %s", r.Reason, unit.Plural(e.alert.Idle.Windows, "window"))
	case event == alert.Unjudged:
		return fmt.Sprintf("%s; there was nothing to judge in the last %s", r.Reason, unit.Plural(e.alert.Unjudged.Windows, "window"))
	case event == alert.Unproven:
		return "it is no longer proven: " + r.Reason
	case e.rule.IsAbsent():
		return fmt.Sprintf("none of %s in the last %s", unit.Plural(since.Samples, "sample"), unit.Plural(since.Windows, "window"))
	case r.Limit <= 0: // "leaked" and "steady"
		return r.Reason
	case event == alert.Proven && e.rule.IsEach(): // the largest of a small window is mostly chance
		zone := evidence.Zone * r.Limit
		if d := e.rule.Dimension; d == unit.Share || d == unit.Points {
			zone = evidence.Edge(r.Limit)
		}
		return fmt.Sprintf("none is above %s %s, taken together; the limit is %s", e.shown(zone), over, e.limit(r))
	case event == alert.Proven:
		return fmt.Sprintf("at %s %s; the limit is %s", e.shown(since.Mean()), over, e.limit(r))
	}
	return fmt.Sprintf("at most %s %s; the limit is %s", e.shown(since.Worst), over, e.limit(r))
}

// removed is the event about a budget that SetBudgets has removed while it was firing.
func (e *entry) removed() Event {
	r := e.Result
	r.Verdict, r.Reason = budget.Inconclusive, "removed by SetBudgets"
	return Event{Name: EventResolved, Budget: e.Name, Result: r, Message: fmt.Sprintf("budget %s was removed or changed while it was firing", e.Name)}
}

// reason is the reason of the budget's last window. If the budget fires although that window
// did not fail, it also says what the alert waits for.
func (e *entry) reason(g *Guard) string {
	r := &e.Result
	if e.alert.State != alert.Firing || r.Verdict == budget.Fail {
		return r.Reason
	}
	rule := e.rule.Alert(g.cfg.Every, g.cfg.Window)
	windows, d := e.alert.NeededToEnd(time.Since(g.started), rule)
	text := r.Reason + "; still firing"
	if named := e.Offender; named != nil && rule.Each && (len(r.Offenders) == 0 || r.Offenders[0].Function != named.Function) {
		text += " for " + named.Function
	}
	left := e.alert.CalmLeft(r.Limit, rule)
	if rule.AtOnce && left > 0 {
		text += fmt.Sprintf(": ends after about %s without a hit", unit.Plural(left, "more window"))
		if d > rule.Time { // it has come back before
			text += fmt.Sprintf(", at least %v after the last hit", d)
		}
	} else {
		text += fmt.Sprintf(": ends when %s in a row pass, over at least %v (%d so far)", unit.Plural(windows, "window"), d, e.alert.Passes.Windows)
		if !rule.Counted {
			text += ", or when all together prove that it is kept"
		}
		if left > 0 {
			text += fmt.Sprintf(": about %s within the limit", unit.Plural(left, "more window"))
		}
	}
	if r.Idle {
		text += fmt.Sprintf(", or when the condition has not held for %d periods (%s so far)", alert.IdlePeriods, unit.Plural(e.alert.Idle.Windows, "window"))
	}
	return text
}
