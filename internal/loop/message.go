package loop

import (
	"fmt"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/unit"
)

// What notices and the status say about an alert. The reason of a single result is said by
// package budget.

// shown is a value of the budget in words.
func (b *Budget) shown(v float64) string { return unit.Format(v, b.Rule.Dimension) }

// limit is the limit as the sentence has it, but in the unit of the measured value.
func (b *Budget) limit(r *budget.Result) string {
	if b.Rule.Dimension == unit.Waited {
		return unit.Short(r.Limit, unit.Waited)
	}
	return r.Budget.Limit.String()
}

// broken says that the budget is broken: what was measured, the limit, and the offender. The sinks
// have the reason beside it.
func (c *Change) broken(is string) string {
	b, r := c.Of, &c.Result
	sentence := b.Of
	sentence.Name = ""
	who := sentence.String()
	if b.Name != who {
		who = fmt.Sprintf("%s (%s)", b.Name, who)
	}
	text := fmt.Sprintf("budget %s %s: at %s", who, is, unit.Rounded(r.Value, r.Low, r.High, b.Rule.Dimension))
	if _, compares := c.Finding.Reason.(judge.Released); compares { // which says what it was before
		text = fmt.Sprintf("budget %s %s: %s", who, is, r.Reason)
	}
	if r.Limit > 0 {
		text += ", limit " + b.limit(r)
	}
	if len(r.Offenders) > 0 {
		text += "; offender " + r.Offenders[0].String()
	}
	return text
}

// firedBy says why the alert has begun. A window that does not fail only says that it is not enough.
func (c *Change) firedBy() string {
	if c.Result.Verdict == budget.Fail {
		return c.Result.Reason
	}
	return "all windows together prove it; this one alone: " + c.Result.Reason
}

// over is the notice that the alert has ended.
func (c *Change) over(event alert.Event) *Notice {
	is := "is kept again"
	if event == alert.Unproven || event == alert.Unjudged {
		is = "no longer fires"
	}
	n := &Notice{Event: event, Result: c.Result}
	n.Result.Reason = c.endedBy(event)
	n.Message = fmt.Sprintf("budget %s %s: %s", c.Of.Name, is, n.Result.Reason)
	return n
}

// endedBy says why the alert has ended, with the figures that ended it.
func (c *Change) endedBy(event alert.Event) string {
	b, r, since := c.Of, &c.Result, &c.Alert.Recovery
	over := "in the last " + unit.Plural(since.Windows, "window")
	if since.Samples > 0 {
		over += fmt.Sprintf(" (%s)", unit.Plural(since.Samples, "sample"))
	}
	switch {
	case event == alert.Unjudged && r.Idle:
		return fmt.Sprintf("%s; the condition has not held for %s", r.Reason, unit.Plural(c.Alert.Idle.Windows, "window"))
	case event == alert.Unjudged:
		return fmt.Sprintf("%s; there was nothing to judge in the last %s", r.Reason, unit.Plural(c.Alert.Unjudged.Windows, "window"))
	case event == alert.Unproven:
		return "it is no longer proven: " + r.Reason
	case b.Rule.Test == judge.Absent:
		return fmt.Sprintf("none of %s in the last %s", unit.Plural(since.Samples, "sample"), unit.Plural(since.Windows, "window"))
	case r.Limit <= 0: // "leaked"
		return r.Reason
	case event == alert.Proven && b.Alert.Each: // the largest of a small window is mostly chance
		zone := evidence.Zone * r.Limit
		if d := b.Rule.Dimension; d == unit.Share || d == unit.Points {
			zone = evidence.Edge(r.Limit)
		}
		return fmt.Sprintf("none is above %s %s, taken together; the limit is %s", b.shown(zone), over, b.limit(r))
	case event == alert.Proven:
		return fmt.Sprintf("at %s %s; the limit is %s", b.shown(since.Mean()), over, b.limit(r))
	}
	return fmt.Sprintf("at most %s %s; the limit is %s", b.shown(since.Worst), over, b.limit(r))
}

// Reason is the reason of the budget's last window, of which r is the result, at a time since the
// guard was started. If the budget fires although that window did not fail, it also says what the
// alert waits for. named is the offender for which it fires.
func (b *Budget) Reason(r *budget.Result, a *alert.Alert, named *budget.Offender, now time.Duration) string {
	if a.State != alert.Firing || r.Verdict == budget.Fail {
		return r.Reason
	}
	windows, d := a.NeededToEnd(now, b.Alert)
	text := r.Reason + "; still firing"
	if named != nil && b.Alert.Each && (len(r.Offenders) == 0 || r.Offenders[0].Function != named.Function) {
		text += " for " + named.Function
	}
	text += fmt.Sprintf(": ends when %s in a row pass, over at least %v (%d so far)", unit.Plural(windows, "window"), d, a.Passes.Windows)
	if !b.Alert.Counted {
		text += ", or when all together prove that it is kept"
	}
	if r.Idle {
		text += fmt.Sprintf(", or when the condition has not held for %d periods (%s so far)", alert.IdlePeriods, unit.Plural(a.Idle.Windows, "window"))
	}
	return text
}
