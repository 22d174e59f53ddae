package guard

import (
	"fmt"
	"math"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/unit"
)

// A span is the time that a result is about, and what all windows up to its end prove.
type span struct {
	start, end time.Time
	lost       bool // there is no result of it
	stacks     int  // in its profile
	outOfScope bool // none of them within the budget's "in" and "where"

	proven   evidence.Verdict // the last proof, by one window or by all together
	strength float64          // for an excess, as a part of what is proof
}

// A standing is where a budget stands: its alert, its last result, and what its windows
// add up to. Only this file writes it.
type standing struct {
	alert     alert.Alert
	offenders alert.Offenders  // that the alert has named
	offender  *budget.Offender // the last of them, while it fires
	since     time.Time        // when the alert's state was entered
	result    budget.Result
	proven    evidence.Verdict // see span
	strength  float64
	verdicts  map[string]int64
	samples   int64
	hits      int64
	history   []Measurement
}

// maxHistory is an hour at the default cadence; a budget's takes 1 KB.
const maxHistory = 60

// ruleOf is what it takes for the alert of a budget to fire and to end.
func ruleOf(b budget.Budget, cfg *Config) alert.Rule {
	counted := isCounted(b) && b.Rule != "absent"
	var r alert.Rule
	switch {
	case b.ForWindows > 0 || b.ForTime > 0:
		r = alert.For(b.ForWindows, b.ForTime, cfg.Every)
	case counted:
		r = alert.Counted(cfg.Every)
	default:
		r = alert.Lasting(cfg.Every, cfg.Window)
		r.AtOnce = b.Rule == "absent" || b.Rule == "leaked"
	}
	r.Counted = counted
	r.Each = isEach(b)
	r.Growth = b.Rule == "grows"
	return r
}

// next is what a result makes of the alert. Of a window that was lost that is nothing:
// it says nothing about the budget.
func (e *entry) next(r budget.Result, s span, g *Guard) (alert.Alert, alert.Event) {
	if s.lost {
		return e.alert, alert.None
	}
	f := alert.Finding{
		Start: s.start.Sub(g.started), End: s.end.Sub(g.started),
		Window: evidence.Verdict(r.Verdict), Stream: s.proven, Strength: s.strength,
		Idle: r.Idle, Measured: measured(r), Value: r.Share, Limit: r.Limit, Samples: r.Samples,
	}
	if e.budget.Rule == "steady" && r.Verdict == budget.Inconclusive && measured(r) {
		f.Window = evidence.Pass // it is within its limit, and of growth nothing is said while it learns
	}
	return e.alert.Next(f, ruleOf(e.budget, &g.cfg))
}

// add adds a result, and what it has made of the alert.
func (st *standing) add(r budget.Result, next alert.Alert, s span) {
	st.verdicts[r.Verdict.String()]++
	st.samples += r.Samples
	st.hits += r.Hits
	if len(st.history) == maxHistory {
		st.history = st.history[1:]
	}
	st.history = append(st.history, Measurement{Value: r.Share, Verdict: r.Verdict})
	if !s.lost { // otherwise they are as they were
		st.proven, st.strength = s.proven, s.strength
	}
	if next.State != st.alert.State {
		st.since = s.end
	}
	st.alert, st.result = next, r
}

// notice is the event that tells of a transition, or of another offender while the
// budget fires. It has no name where there is nothing to tell.
func (e *entry) notice(event alert.Event, r budget.Result, at time.Time, g *Guard) Event {
	n := Event{Time: at, Budget: e.name, Result: r}
	now, least := at.Sub(g.started), g.cfg.Keep.least()
	switch {
	case event == alert.Fired:
		e.offenders = alert.NewOffenders(offenders(r)[0], now)
		e.offender = worst(r)
		n.Name, n.Result.Reason = eventFiring, e.brokenBy(r)
		n.Message = e.tell("is broken", r)
	case event.Ends():
		e.offender = nil
		n.Name, n.Result.Reason = eventResolved, e.endedBy(event, r)
		is := "is kept again"
		switch event {
		case alert.Unproven:
			is = "is not shown to be broken any more"
		case alert.WentIdle, alert.Unjudged:
			is = "does not fire any more"
		}
		n.Message = fmt.Sprintf("budget %s %s: %s", e.name, is, n.Result.Reason)
	case e.alert.State == alert.Firing && r.Verdict == budget.Fail && len(r.Offenders) > 0 && e.offenders.Another(r.Offenders[0].Function, now, least):
		e.offender = worst(r)
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

// violation names for the store the violation that a window belongs to, "" if it is none.
func (e *entry) violation(next alert.Alert, g *Guard) string {
	if next.State != alert.Firing {
		return ""
	}
	return fmt.Sprintf("%s-%d", e.name, g.started.Add(next.Since).UnixNano())
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
	case isEach(e.budget) && len(r.Offenders) > 0:
		return r.Offenders[0].Function
	case isEach(e.budget):
		return "the largest"
	case e.budget.Subject == "process":
		return "the process"
	}
	return e.budget.Subject
}

// tell is the message of an event about a budget that is broken: what was measured, the
// limit, and the offender. The sinks have the reason beside it.
func (e *entry) tell(is string, r budget.Result) string {
	who := sentence(e.budget)
	if e.name != who {
		who = fmt.Sprintf("%s (%s)", e.name, who)
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

// endedBy says with its figures why the alert has ended, in one sentence. r is the result
// of the last window.
func (e *entry) endedBy(event alert.Event, r budget.Result) string {
	windows, unjudged, since := unit.Plural(e.alert.Recovery.Windows, "window"), unit.Plural(e.alert.Unjudged(), "window"), e.alert.Recovery
	over := "in the last " + windows
	if since.Samples > 0 {
		over = fmt.Sprintf("(%d samples in the last %s)", since.Samples, windows)
	}
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
	case e.budget.Rule == "absent":
		return fmt.Sprintf("none of %s in the last %s", unit.Plural(since.Samples, "sample"), windows)
	case e.budget.Rule == "steady" || e.budget.Rule == "leaked":
		return r.Reason
	case event == alert.Proven && isEach(e.budget):
		// The largest of a small window is mostly chance.
		zone := evidence.Zone * r.Limit
		if r.Unit == "ratio" {
			zone = math.Min(zone, (1+r.Limit)/2)
		}
		return fmt.Sprintf("none is above %s, as all windows since prove together %s; the limit is %s", value(zone), over, r.Budget.Limit)
	case event == alert.Proven:
		return fmt.Sprintf("%s at %s %s, the limit is %s", who, value(since.Mean()), over, r.Budget.Limit)
	}
	return fmt.Sprintf("%s measured at %s at the most %s, the limit is %s", who, value(since.Worst), over, r.Budget.Limit)
}

// reason is why the budget stands as it does. That is the reason of its last window,
// and what an alert waits for that goes on although this window did not fail.
func (e *entry) reason(g *Guard) string {
	r := e.result
	if e.alert.State != alert.Firing || r.Verdict == budget.Fail {
		return r.Reason
	}
	if n := e.alert.Unjudged(); n > 0 {
		return fmt.Sprintf("%s; firing, with nothing to judge for %s", r.Reason, unit.Plural(n, "window"))
	}
	since := e.alert.Recovery
	switch {
	case since.Windows > 0:
	case e.proven == evidence.Fail:
		return r.Reason + "; firing, as all windows together prove it"
	default:
		return r.Reason + "; still firing"
	}
	over := "in the last " + unit.Plural(since.Windows, "window")
	if since.Samples > 0 {
		over += fmt.Sprintf(" (%s)", unit.Plural(since.Samples, "sample"))
	}
	if r.Limit > 0 {
		r.Offenders = nil // of the last window only
		over = fmt.Sprintf("%s at %s %s, limit %s", e.who(r), amount(since.Mean(), r.Unit), over, r.Budget.Limit)
	} else {
		over = "no failure " + over
	}
	rule := ruleOf(e.budget, &g.cfg)
	windows, d := e.alert.Needed(time.Since(g.started), rule)
	text := fmt.Sprintf("%s; still firing: %s; ends when %s in a row pass, over %v at the least (%d so far)", r.Reason, over, unit.Plural(windows, "window"), d, e.alert.Passed())
	if !rule.Counted {
		text += ", or when all together prove that it is kept"
	}
	return text
}
