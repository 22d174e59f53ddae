package guard

import (
	"fmt"
	"math"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/evidence"
)

// A span is the time that a result is about.
type span struct {
	start, end time.Time
	lost       bool // there is no result of it
}

// ruleOf is what it takes for the alert of a budget to fire and to end.
func ruleOf(b budget.Budget, cfg *Config) alert.Rule {
	switch {
	case b.ForWindows > 0 || b.ForTime > 0:
		return alert.For(b.ForWindows, b.ForTime, cfg.Every)
	case isCounted(b) && b.Rule != "absent":
		return alert.Counted(cfg.Every)
	}
	r := alert.Lasting(cfg.Every, cfg.Window)
	r.AtOnce = b.Rule == "absent" || b.Rule == "leaked"
	return r
}

// take notes the result of a window and returns what it means for the alert.
func (e *entry) take(r budget.Result, s span, g *Guard) alert.Event {
	e.verdicts[r.Verdict.String()]++
	e.samples += r.Samples
	e.hits += r.Hits
	if len(e.history) == maxHistory {
		e.history = e.history[1:]
	}
	e.history = append(e.history, Measurement{Value: r.Share, Verdict: r.Verdict})
	if s.lost {
		// Neither the alert nor what it waits for changes.
		r.Alarm, r.Evidence = e.result.Alarm, e.result.Evidence
		e.result = r
		return alert.None
	}
	before := e.alert.State
	next, event := e.next(r, s, g)
	e.alert = next
	if e.alert.State != before {
		e.since = s.end
	}
	if event == alert.Fired || r.Verdict == budget.Fail {
		e.calm = calm{}
	} else {
		e.calm = e.calm.add(r)
	}
	e.result = r
	return event
}

// next is what a result would make of the alert.
func (e *entry) next(r budget.Result, s span, g *Guard) (alert.Alert, alert.Event) {
	f := alert.Finding{
		Start: s.start.Sub(g.started), End: s.end.Sub(g.started),
		Window: verdictOf(r.Verdict), Strength: r.Evidence,
		Idle: r.Idle, Measured: measured(r), Above: r.Share > r.Limit,
	}
	if e.over(r) {
		f.Stream = evidence.Pass
	}
	if e.budget.Rule == "steady" && r.Verdict == budget.Inconclusive && measured(r) {
		f.Window = evidence.Pass // it is within its limit, and of growth nothing is said while it learns
	}
	return e.alert.Next(f, ruleOf(e.budget, &g.cfg))
}

// over reports whether all windows since the last that failed prove together that the
// budget is kept. What is counted says so by itself.
func (e *entry) over(r budget.Result) bool {
	switch {
	case isCounted(e.budget) && e.budget.Rule != "absent":
		return false
	case e.budget.Rule == "grows" && e.result.Alarm == budget.Fail && r.Alarm == budget.Inconclusive:
		// Against a baseline of few samples growth can be shown, and not that there is
		// none: when it is over, there is only no proof of it any more.
		return true
	case r.Alarm != budget.Pass:
		return false
	}
	// Proof is of a share within the zone: what was measured may still be above the limit.
	return isEach(e.budget.Subject) && e.budget.Subject != "process" || r.Limit == 0 || e.calm.add(r).mean() <= r.Limit
}

// A calm is what windows have shown since the last one that failed.
type calm struct {
	windows    int // that had anything to judge
	idle       int // windows in a row, up to the last, that had not
	samples    int64
	sum, worst float64 // of what was measured; the sum is weighed by samples
}

func (c calm) add(r budget.Result) calm {
	if !measured(r) {
		c.idle++
		return c
	}
	c.idle = 0
	c.windows++
	c.samples += r.Samples
	c.sum += r.Share * float64(r.Samples)
	c.worst = max(c.worst, r.Share)
	return c
}

func (c calm) mean() float64 {
	if c.samples == 0 {
		return c.worst
	}
	return c.sum / float64(c.samples)
}

// ended says by what figures the alert has ended, in one sentence. r is the result of
// the last window.
func (e *entry) ended(by alert.Event, r budget.Result) string {
	over := fmt.Sprintf("in the last %s", plural(e.calm.windows, "window"))
	if e.calm.samples > 0 {
		over = fmt.Sprintf("(%d samples %s)", e.calm.samples, over)
	}
	who := e.budget.Subject
	switch who {
	case "no function", "no package":
		who = "the largest"
	case "process":
		who = "the process"
	}
	value := func(x float64) string { return amount(x, r.Unit) }
	switch {
	case by == alert.WentIdle:
		return fmt.Sprintf("%s; the condition no longer holds, for %s", r.Reason, plural(e.calm.idle, "window"))
	case e.budget.Rule == "absent":
		return "none of " + plural(int(e.calm.samples), "sample") + fmt.Sprintf(" in the last %s", plural(e.calm.windows, "window"))
	case e.budget.Rule == "steady" || e.budget.Rule == "leaked":
		return r.Reason
	case e.budget.Rule == "grows" && r.Alarm == budget.Inconclusive:
		return "nothing shows it any more, and the baseline is too small to show more: " + r.Reason
	case by == alert.Proven && who == "the largest":
		// The largest of a small window is mostly chance.
		return fmt.Sprintf("none is above %s, as all windows since prove together %s; the limit is %s", value(zone(r)), over, r.Budget.Limit)
	case by == alert.Proven:
		return fmt.Sprintf("%s at %s %s, the limit is %s", who, value(e.calm.mean()), over, r.Budget.Limit)
	}
	return fmt.Sprintf("%s at %s at the most %s, the limit is %s", who, value(e.calm.worst), over, r.Budget.Limit)
}

// zone is the value that is told from the limit: a quarter above it.
func zone(r budget.Result) float64 {
	z := evidence.Zone * r.Limit
	if r.Unit == "ratio" {
		z = math.Min(z, (1+r.Limit)/2)
	}
	return z
}

// reason is why the budget stands as it does. That is the reason of its last window,
// and what an alert waits for that goes on although this window did not fail.
func (e *entry) reason(g *Guard) string {
	r := e.result
	if e.alert.State != alert.Firing || r.Verdict == budget.Fail {
		return r.Reason
	}
	if e.calm.idle > 0 {
		return fmt.Sprintf("%s; firing, with nothing to judge for %s", r.Reason, plural(e.calm.idle, "window"))
	}
	windows, d := e.alert.Calm(time.Since(g.started), ruleOf(e.budget, &g.cfg))
	text := fmt.Sprintf("%s; still firing: no window of the last %d failed, and %d in %v have to pass", r.Reason, e.calm.windows, windows, d)
	if e.calm.samples > 0 {
		text += fmt.Sprintf(", or all to prove it (%d samples so far)", e.calm.samples)
	}
	return text
}

func verdictOf(v budget.Verdict) evidence.Verdict {
	switch v {
	case budget.Pass:
		return evidence.Pass
	case budget.Fail:
		return evidence.Fail
	}
	return evidence.Inconclusive
}

// isNews reports whether a result shows an offender that nobody was told of, while the
// budget fires already, and there is time for it.
func (e *entry) isNews(r budget.Result, at time.Time, least time.Duration) bool {
	if e.alert.State != alert.Firing || r.Verdict != budget.Fail || len(r.Offenders) == 0 || len(e.news) >= maxNews {
		return false
	}
	return !e.news[r.Offenders[0].Function] && at.Sub(e.newsAt) >= least
}

// maxNews bounds the offenders that are told of while one alert fires.
const maxNews = 64

// keptAgain says what the end of an alert means.
func keptAgain(by alert.Event, r budget.Result) string {
	switch {
	case by == alert.WentIdle:
		return "does not fire any more"
	case r.Budget.Rule == "grows" && r.Alarm == budget.Inconclusive:
		return "is not shown to be broken any more"
	}
	return "is kept again"
}
