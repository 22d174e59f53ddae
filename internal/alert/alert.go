package alert

import (
	"math"
	"time"

	"github.com/profguard/profguard/internal/evidence"
)

const (
	// An alert without a `for` fires after firePeriods of excess, and ends after as many
	// that pass, so that a burst that is shorter is no alarm. Both take at least
	// leastWindows.
	firePeriods  = 3
	leastWindows = 3

	// Windows that follow each other closely fill three periods with a dozen at the
	// defaults. Where they could not, bursts of some seconds look like a lasting excess
	// in three of them, but not in so many.
	mostWindows = 8

	// idlePeriods end an alert whose budget has a condition that does not hold.
	idlePeriods = 5

	// What goes to and fro takes longer, both to fire and to end: bursts of seconds make
	// windows fail and pass, and an alert of what comes back every five minutes would end
	// and fire for ever. unsettled counts rows of failing windows that came to nothing,
	// and alerts that ended, an alert as four; a count fades within some three hours.
	unsettledPeriods = 180
	unsettledByRow   = 1
	unsettledByAlert = 4
	unsettledFrom    = 5 // from so many on twice as long, from twice as many four times
	mostPatience     = 8

	// rising is the part of the evidence from which a budget is pending: 5 of 20 nats are
	// a hundred to one.
	rising = 0.25
)

// Rule is how long the windows of a budget have to fail until its alert fires, and to
// pass until it ends. The zero value takes one window.
type Rule struct {
	Period  time.Duration // between windows
	Windows int           // in a row; of three that pass no more are asked for
	Time    time.Duration // from the start of the first to the end of the last
	Strict  bool          // the user has said how long: nothing but such a row fires
	AtOnce  bool          // one failing window is proof
}

// Lasting is the rule of a budget without a `for`: three periods.
func Lasting(period, window time.Duration) Rule {
	fit := int(firePeriods * period / max(window*3/2, 1)) // with a pause of half a window
	return Rule{Period: period, Windows: min(max(fit, leastWindows), mostWindows), Time: firePeriods * period}
}

// Counted is the rule of a budget on what is counted over whole periods: three of them.
func Counted(period time.Duration) Rule {
	return Rule{Period: period, Windows: leastWindows, Time: period * 3 / 2}
}

// For is the rule of a budget with a `for`, in windows or in time. Windows that follow
// each other within a period are one.
func For(windows int, d, period time.Duration) Rule {
	return Rule{Period: period, Windows: max(windows, 1), Time: max(d, time.Duration(windows-1)*period*3/4), Strict: true}
}

// Finding is what one window says about a budget, and all windows with it.
type Finding struct {
	Start, End time.Duration    // of the window, since any fixed instant
	Window     evidence.Verdict // of this window by itself
	Stream     evidence.Verdict // of all windows: Pass is proof that an excess is over
	Strength   float64          // of the evidence of all windows for an excess: 1 is proof
	Measured   bool             // there was something to judge,
	Above      bool             // and it is above the limit, proven or not
	Idle       bool             // the budget's condition did not hold
}

// A run is windows of a kind in a row.
type run struct {
	windows int
	start   time.Duration
}

func (r run) add(f Finding) run {
	if r.windows == 0 {
		r.start = f.Start
	}
	r.windows++
	return r
}

func (r run) lasts(windows int, d, end time.Duration) bool {
	return r.windows >= windows && end-r.start >= d
}

// Alert is the alert of one budget between two windows. The zero value is an
// inactive alert. It holds no pointers and may be compared and copied.
type Alert struct {
	State   State
	Since   time.Duration // when State was entered
	Firings int           // how often it has fired

	fails, passes, idle run           // inconclusive windows interrupt only the last
	failed              time.Duration // the end of the last window that failed
	unsettled           float64       // when it was last counted,
	counted             time.Duration // which was then
}

// Next returns the alert after a window, and what happened. It depends on nothing but
// its arguments. Verdicts and states that it does not know count as inconclusive and
// inactive. A window that was lost is no argument for it.
func (a Alert) Next(f Finding, r Rule) (Alert, Event) {
	a.count(f, r)
	fails, rising := f.Window == evidence.Fail, !r.Strict && f.Strength >= rising
	switch {
	case a.State == Firing:
		if why := a.ends(f, r); why != None {
			a.unsettle(unsettledByAlert, f.End, r)
			a.enter(Resolved, f.End)
			return a, why
		}
	case a.fires(f, r):
		a.Firings++
		a.enter(Firing, f.End)
		return a, Fired
	case fails || rising:
		if a.State != Pending {
			a.enter(Pending, f.End)
			return a, BecamePending
		}
	case f.Window == evidence.Pass, a.idle.lasts(idlePeriods, idlePeriods*r.Period*3/4, f.End):
		a.fails = run{}
		if a.State != Inactive {
			a.enter(Inactive, f.End)
		}
	}
	return a, None
}

// count adds a window to the rows of windows that it continues.
func (a *Alert) count(f Finding, r Rule) {
	switch {
	case f.Window == evidence.Fail:
		a.fails, a.passes, a.failed = a.fails.add(f), run{}, f.End
	case f.Window == evidence.Pass && !f.Above: // above the limit it is within the zone
		a.endRow(f.End, r)
		a.passes = a.passes.add(f)
	case f.Window == evidence.Pass:
		a.endRow(f.End, r)
		a.passes = run{}
	case f.Above:
		a.passes = run{}
	case f.Measured && !r.Strict:
		a.endRow(f.End, r)
	}
	if a.idle = a.idle.add(f); !f.Idle {
		a.idle = run{}
	}
}

// endRow notes that a row of failing windows, if there is one, is over.
func (a *Alert) endRow(now time.Duration, r Rule) {
	if a.fails.windows > 0 && a.State != Firing {
		a.unsettle(unsettledByRow, now, r)
	}
	a.fails = run{}
}

func (a *Alert) unsettle(by float64, now time.Duration, r Rule) {
	a.unsettled, a.counted = a.faded(now, r)+by, now
}

func (a *Alert) faded(now time.Duration, r Rule) float64 {
	return a.unsettled * math.Exp(-float64(now-a.counted)/float64(unsettledPeriods*max(r.Period, 1)))
}

// patience is how many times as long as usual it takes.
func (a *Alert) patience(now time.Duration, r Rule) int {
	p := 1
	for u := a.faded(now, r); p < mostPatience && u >= unsettledFrom; u /= 2 {
		p *= 2
	}
	return p
}

// fires reports whether an alert begins.
func (a *Alert) fires(f Finding, r Rule) bool {
	patience := a.patience(f.End, r)
	if r.Strict {
		patience = 1
	}
	if f.Window == evidence.Fail && (r.AtOnce || a.fails.lasts(patience*r.Windows, time.Duration(patience)*r.Time, f.End)) {
		return true
	}
	// Evidence may be in sooner than an excess has lasted, and stay when it is over.
	return !r.Strict && a.State == Pending && f.Strength >= 1 && f.Window != evidence.Pass && f.End-a.Since >= firePeriods*r.Period
}

// ends says whether an alert ends, and by what.
func (a *Alert) ends(f Finding, r Rule) Event {
	windows, calm := a.Calm(f.End, r)
	switch {
	case a.passes.lasts(windows, calm, f.End):
		return Passed
	case f.Stream == evidence.Pass && f.Window != evidence.Fail && (a.patience(f.End, r) == 1 || f.End-a.failed >= calm):
		return Proven
	case a.idle.lasts(idlePeriods, idlePeriods*r.Period*3/4, f.End):
		return WentIdle
	}
	return None
}

// Calm is what has to pass until the alert ends: so many windows in a row, and for so
// long.
func (a *Alert) Calm(now time.Duration, r Rule) (windows int, d time.Duration) {
	patience := a.patience(now, r)
	return patience * min(max(r.Windows, 1), leastWindows), time.Duration(patience) * r.Time
}

func (a *Alert) enter(s State, now time.Duration) { a.State, a.Since = s, now }
