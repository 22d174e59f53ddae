package guard

import (
	"fmt"
	"math"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/unit"
)

// A judgement is what a window has brought for one budget, and what that makes of its
// alert.
type judgement struct {
	entry      *entry
	result     budget.Result
	finding    judge.Finding // the same without its words
	start, end time.Time     // of the time that it is about
	lost       bool          // there is no result of it
	stacks     int           // in the profile
	data       []byte        // the profile
	ended      func()        // to be called when the alert has ended

	next  alert.Alert
	event alert.Event
}

// A standing is where a budget stands: its alert, and what its windows add up to. Only
// this file writes it, but for the warning.
type standing struct {
	BudgetStatus // what is computed when somebody asks is left out
	alert        alert.Alert
	offenders    alert.Offenders // that the alert has named
}

// maxHistory is an hour at the default cadence; a budget's takes 1 KB.
const maxHistory = 60

// ruleOf is what it takes for the alert of a budget to fire and to end.
func (e *entry) ruleOf(cfg *Config) alert.Rule {
	counted := isCounted(e.rule) && e.rule.Test != judge.Absent
	var r alert.Rule
	switch {
	case e.Budget.ForWindows > 0 || e.Budget.ForTime > 0:
		r = alert.For(e.Budget.ForWindows, e.Budget.ForTime, cfg.Every)
	case counted:
		r = alert.Counted(cfg.Every)
	default:
		r = alert.Lasting(cfg.Every, cfg.Window)
		r.AtOnce = e.rule.Test == judge.Absent || e.rule.Class == judge.Leak
	}
	r.Counted = counted
	r.Each = isEach(e.rule)
	r.Growth = e.rule.Test == judge.Grows
	return r
}

// step works out what a result makes of the alert. Of a window that was lost that is
// nothing: it says nothing about the budget.
func (j *judgement) step(g *Guard) {
	e, r := j.entry, j.result
	if j.next = e.alert; j.lost {
		return
	}
	f := alert.Finding{
		Start: j.start.Sub(g.started), End: j.end.Sub(g.started),
		Window: evidence.Verdict(r.Verdict), Stream: j.finding.Alarm, Strength: j.finding.Strength,
		Idle: r.Idle, Measured: measured(&r), Value: r.Share, Limit: r.Limit, Samples: r.Samples,
	}
	if e.rule.Test == judge.Steady && r.Verdict == budget.Inconclusive && measured(&r) {
		f.Window = evidence.Pass // it is within its limit, and of growth nothing is said while it learns
	}
	j.next, j.event = e.alert.Next(f, e.ruleOf(&g.cfg))
}

// add adds a result, and what it has made of the alert.
func (st *standing) add(j judgement) {
	r := j.result
	st.Verdicts[r.Verdict.String()]++
	st.Samples += r.Samples
	st.Hits += r.Hits
	if len(st.History) == maxHistory {
		st.History = st.History[1:]
	}
	st.History = append(st.History, Measurement{Value: r.Share, Verdict: r.Verdict})
	if !j.lost { // otherwise they are as they were
		st.Proven, st.Evidence = budget.Verdict(j.finding.Alarm), j.finding.Strength
	}
	if j.next.State != st.alert.State {
		st.Since = j.end
	}
	st.alert, st.Result = j.next, r
}

// notice is the event that tells of a transition, or of another offender while the
// budget fires. It has no name where there is nothing to tell.
func (e *entry) notice(j judgement, g *Guard) Event {
	event, r := j.event, j.result
	n := Event{Time: j.end, Budget: e.Name, Result: r}
	now, least := j.end.Sub(g.started), g.cfg.Keep.least()
	switch {
	case event == alert.Fired:
		e.offenders = alert.NewOffenders(offenders(r)[0], now)
		e.Offender = worst(r)
		n.Name, n.Result.Reason = eventFiring, e.brokenBy(r)
		n.Message = e.tell("is broken", r)
	case event.Ends():
		e.Offender = nil
		n.Name, n.Result.Reason = eventResolved, e.endedBy(event, r)
		is := "is kept again"
		switch event {
		case alert.Unproven:
			is = "is not shown to be broken any more"
		case alert.WentIdle, alert.Unjudged:
			is = "does not fire any more"
		}
		n.Message = fmt.Sprintf("budget %s %s: %s", e.Name, is, n.Result.Reason)
	case e.alert.State == alert.Firing && r.Verdict == budget.Fail && len(r.Offenders) > 0 && e.offenders.Another(r.Offenders[0].Function, now, least):
		e.Offender = worst(r)
		n.Name = eventOffender
		n.Message = e.tell("is broken by another, too", r)
	}
	return n
}

// worst is the first offender, or nil. The ways that lead to it stand in the event, and
// would be as much again in each Status.
func worst(r budget.Result) *budget.Offender {
	if len(r.Offenders) == 0 {
		return nil
	}
	o := r.Offenders[0]
	o.Callers, o.Callees = nil, nil
	return &o
}

// brokenBy says why a budget is broken, in one sentence. Where all windows together have
// proved it, the reason of the last says only that this one does not suffice.
func (e *entry) brokenBy(r budget.Result) string {
	if r.Verdict == budget.Fail {
		return r.Reason
	}
	return fmt.Sprintf("all windows together prove it; in the last, %s is at %s (%s)", e.who(r), amount(r.Share, r.Unit), unit.Plural(r.Samples, "sample"))
}

// who is what a result measures.
func (e *entry) who(r budget.Result) string {
	switch {
	case isEach(e.rule) && len(r.Offenders) > 0:
		return r.Offenders[0].Function
	case isEach(e.rule):
		return "the largest"
	case e.rule.Class == judge.Process:
		return "the process"
	}
	return e.rule.Subject
}

// tell is the message of an event about a budget that is broken: what was measured, the
// limit, and the offender. The sinks have the reason beside it.
func (e *entry) tell(is string, r budget.Result) string {
	who := sentence(e.Budget)
	if e.Name != who {
		who = fmt.Sprintf("%s (%s)", e.Name, who)
	}
	text := fmt.Sprintf("budget %s %s: at %s", who, is, amount(r.Share, r.Unit))
	if r.Limit > 0 {
		text += ", limit " + r.Budget.Limit.String()
	}
	if len(r.Offenders) > 0 {
		text += "; offender " + located(r.Offenders[0])
	}
	return text
}

// lately is the time that a recovery is about, and what it rests on.
func lately(r alert.Recovery) string {
	text := "in the last " + unit.Plural(r.Windows, "window")
	if r.Samples > 0 {
		text += fmt.Sprintf(" (%s)", unit.Plural(r.Samples, "sample"))
	}
	return text
}

// endedBy says with its figures why the alert has ended, in one sentence. r is the result
// of the last window.
func (e *entry) endedBy(event alert.Event, r budget.Result) string {
	since, over, unjudged := e.alert.Recovery, lately(e.alert.Recovery), unit.Plural(e.alert.Unjudged(), "window")
	value := func(x float64) string { return amount(x, r.Unit) }
	r.Offenders = nil // of the last window only
	who := e.who(r)
	switch {
	case event == alert.WentIdle:
		return fmt.Sprintf("%s; the condition no longer holds, for %s", r.Reason, unjudged)
	case event == alert.Unjudged:
		return fmt.Sprintf("%s; there was nothing to judge in the last %s", r.Reason, unjudged)
	case event == alert.Unproven:
		return "nothing shows it any more, and the baseline is too small to show more: " + r.Reason
	case e.rule.Test == judge.Absent:
		return fmt.Sprintf("none of %s in the last %s", unit.Plural(since.Samples, "sample"), unit.Plural(since.Windows, "window"))
	case e.rule.Test == judge.Steady || e.rule.Class == judge.Leak:
		return r.Reason
	case event == alert.Proven && isEach(e.rule):
		// The largest of a small window is mostly chance.
		zone := evidence.Zone * r.Limit
		if r.Unit == "ratio" {
			zone = math.Min(zone, (1+r.Limit)/2)
		}
		return fmt.Sprintf("none is above %s %s, as they prove together; the limit is %s", value(zone), over, r.Budget.Limit)
	case event == alert.Proven:
		return fmt.Sprintf("%s at %s %s, the limit is %s", who, value(since.Mean()), over, r.Budget.Limit)
	}
	return fmt.Sprintf("%s measured at %s at the most %s, the limit is %s", who, value(since.Worst), over, r.Budget.Limit)
}

// reason is why the budget stands as it does. That is the reason of its last window,
// and what an alert waits for that goes on although this window did not fail.
func (e *entry) reason(g *Guard) string {
	r := e.Result
	if e.alert.State != alert.Firing || r.Verdict == budget.Fail {
		return r.Reason
	}
	if n := e.alert.Unjudged(); n > 0 {
		return fmt.Sprintf("%s; firing, with nothing to judge for %s", r.Reason, unit.Plural(n, "window"))
	}
	since := e.alert.Recovery
	switch {
	case since.Windows > 0:
	case e.Proven == budget.Fail:
		return r.Reason + "; firing, as all windows together prove it"
	default:
		return r.Reason + "; still firing"
	}
	over := lately(since)
	if r.Limit > 0 {
		r.Offenders = nil // of the last window only
		over = fmt.Sprintf("%s at %s %s, limit %s", e.who(r), amount(since.Mean(), r.Unit), over, r.Budget.Limit)
	} else {
		over = "no failure " + over
	}
	rule := e.ruleOf(&g.cfg)
	windows, d := e.alert.Needed(time.Since(g.started), rule)
	text := fmt.Sprintf("%s; still firing: %s; ends when %s in a row pass, over %v at the least (%d so far)", r.Reason, over, unit.Plural(windows, "window"), d, e.alert.Passed())
	if !rule.Counted {
		text += ", or when all together prove that it is kept"
	}
	return text
}
