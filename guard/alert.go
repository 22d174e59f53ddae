package guard

import (
	"fmt"
	"slices"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/check"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
)

// A judgement is the result of one budget in a window.
type judgement struct {
	entry      *entry
	result     budget.Result
	finding    *judge.Finding // the result without words
	start, end time.Time      // of the time that was judged
	lost       bool           // nothing was found out, so the alert does not change
	worked     bool           // a unit of the budget's work has been done since the last window
	profile    decode.Source
	event      alert.Event // the transition of the alert
}

// maxHistory is an hour at the default period; a budget's takes 1 KB.
const maxHistory = 60

// add adds a result to its entry. A lost window (unless figures show that the budget's condition
// does not hold), or one in which a counter of work could not be read, does not change the alert,
// because it says nothing about the budget. add reports false
// for a budget that SetBudgets has removed.
func (g *Guard) add(j *judgement) bool {
	g.mu.Lock()
	defer g.mu.Unlock() // also after a panic
	e, r := j.entry, &j.result
	if !slices.Contains(g.budgets.entries, e) {
		return false
	}
	e.Verdicts[r.Verdict.String()]++
	e.Samples += r.Samples
	e.Hits += r.Hits
	if len(e.History) == maxHistory {
		e.History = e.History[1:]
	}
	e.History = append(e.History, Measurement{Value: r.Value, Verdict: r.Verdict})
	e.Result, e.measured, e.Accept = *r, j.finding.HasValue(), check.Accepting(r, 1)
	e.judged = e.judged || e.measured
	if j.worked { // it was not missed before
		e.worked, e.missed = true, 0
	}
	if j.lost {
		return true
	}
	switch j.finding.Reason.(type) {
	case judge.WorkUnknown:
		if !e.measured { // also not by counters, over the whole period
			return true
		}
	case judge.OutOfScope: // and not another reason, such as idle
		e.missed++
	case judge.NoWork:
		if !e.worked {
			e.missed++
		}
	}
	if e.Evidence = j.finding.Evidence; j.finding.Proven != evidence.Inconclusive {
		e.Proven = budget.Verdict(j.finding.Proven)
	}
	f := alert.Finding{
		Start: j.start.Sub(g.started), End: j.end.Sub(g.started),
		Window: evidence.Verdict(r.Verdict), Proven: j.finding.Proven, Evidence: j.finding.Evidence, Kept: j.finding.Kept,
		Idle: r.Idle, Measured: e.measured, Value: r.Value, Limit: r.Limit, Samples: r.Samples, Hidden: j.finding.Cut > 0,
	}
	_, none := j.finding.Reason.(judge.NotLinked)
	if r.Verdict == budget.Pass && !f.Above() || none && isDefault(e.Budget) { // which is not misspelt
		f.Kept, f.Measured = f.End, true
	}
	if _, learning := j.finding.Reason.(judge.Learning); learning && r.Verdict == budget.Inconclusive {
		f.Window = evidence.Pass // it is within its limit; growth is not judged while it learns
	}
	was := e.alert.State
	if e.alert, j.event = e.alert.Next(f, e.rule.Alert(g.cfg.Every, g.cfg.Window)); e.alert.State != was {
		e.Since = j.end
	}
	switch {
	case j.event == alert.Fired && len(r.Offenders) > 0: // with the state, because the event waits for the dump
		e.Offender = &r.Offenders[0]
	case j.event.Ends(): // the watch forgets, too
		e.Offender = nil
		if e.Evidence = 0; e.Proven == budget.Fail {
			e.Proven = budget.Inconclusive
		}
	}
	return true
}

// mostNamed is the most offenders that the events of one alert name.
const mostNamed = 64

// announce emits the event of a transition, or of another offender while the budget fires. For a
// budget that is no longer in force, SetBudgets has emitted the last event.
func (g *Guard) announce(j *judgement) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e, r := j.entry, &j.result
	if !slices.Contains(g.budgets.entries, e) {
		return
	}
	n := Event{Time: j.end, Budget: e.Name, Result: *r}
	another := e.named != nil && r.Verdict == budget.Fail && len(r.Offenders) > 0 && !e.named[e.worst(r)] &&
		len(e.named) < mostNamed && j.end.Sub(e.namedAt) >= g.cfg.Keep.least()
	switch {
	case j.event == alert.Fired:
		e.named = map[string]bool{}
		n.Name, n.Message = EventFiring, e.broken(j.event, r)
		if r.Verdict != budget.Fail { // its own reason only says that this window is not enough
			f := *j.finding
			f.Reason = judge.Together{}
			n.Result = e.Budget.Result(f)
		}
	case j.event.Ends():
		n.Name, n.Result.Reason = EventResolved, e.endedBy(j.event, r)
		is := "is kept again"
		if j.event == alert.Unproven || j.event == alert.Unjudged {
			is = "no longer fires"
		}
		n.Message = fmt.Sprintf("budget %s %s: %s", e.Name, is, n.Result.Reason)
	case another:
		n.Name, n.Message = EventOffender, e.broken(j.event, r)
		e.Offender = &r.Offenders[0]
	default:
		return
	}
	if n.Name == EventResolved {
		e.named = nil
	} else {
		e.named[e.worst(r)], e.namedAt = true, j.end
		g.nameDump(&n, e)
	}
	g.emit(n)
}
