package alert

import (
	"fmt"
	"math"
	"time"

	"github.com/profguard/profguard/internal/evidence"
)

const (
	// An alert without a `for` fires when an excess has lasted for lastingPeriods, so that a
	// shorter burst is no alarm. It ends after lastingPeriods that pass. Both take at least
	// leastWindows. An end by windows that pass is in NeededToEnd; all ways to end are in ends.
	lastingPeriods = 3
	leastWindows   = 3

	// mostWindows is the most windows that an alert waits for within three periods. At the
	// defaults, extra windows make a dozen of them. With only three, bursts of some seconds
	// would look like a lasting excess.
	mostWindows = 8

	// unjudgedPeriods end an alert if good windows have nothing to judge: no sample within
	// the budget's "in" and "where", or no work. That is an hour at the defaults, longer than
	// usual pauses of the traffic. IdlePeriods are enough if the budget has a condition that
	// does not hold. After the same time there is no data, also where windows were lost.
	IdlePeriods     = 5
	unjudgedPeriods = 60

	// A proof that the budget is kept counts for keptPeriods. That is six hours at the
	// defaults, after which docs/alerts.yml tells of a budget that is not decided.
	keptPeriods = 360

	// A budget that fails and passes in turn takes longer to end, and to fire by its rows. Otherwise
	// the alert of an excess that comes back every five minutes would end and fire for ever.
	// unsettled counts rows of failing windows that did not fire, and alerts that ended,
	// which count as four. Counts fade within some three hours.
	unsettledPeriods = 180
	unsettledByRow   = 1
	unsettledByAlert = 4
	unsettledFrom    = 5 // from so many on it takes twice as long, from twice as many four times
	mostFactor       = 8

	// rising is the part of the evidence of a proof from which a budget is pending: 5 of 20
	// nats, which are a hundred to one.
	rising = 0.25
)

// State is what is known of a budget. The zero value is [NoData].
type State int

// The states of a budget. The last two are of its alert, the others say what is known beside it.
const (
	NoData    State = iota // nothing was judged for a long time, or ever
	Undecided              // nothing is proven
	OK                     // it is proven that the budget is kept
	Pending                // the budget fails, but not yet long enough
	Firing                 // the budget is broken
)

var stateNames = [...]string{"no data", "undecided", "ok", "pending", "firing"}

// String returns the state in lower case.
func (s State) String() string {
	if s < 0 || int(s) >= len(stateNames) {
		return fmt.Sprintf("State(%d)", int(s))
	}
	return stateNames[s]
}

// Event is a transition that is reported: the begin and the end of an alert that fires.
type Event int

// The events. Those from Passed on end an alert, and say why.
const (
	None     Event = iota
	Fired          // worth an alarm
	Passed         // enough periods passed, see NeededToEnd
	Proven         // all windows since it fired prove together that the excess is over
	Unproven       // an excess is no longer proven, and nothing disproves it: a baseline is small, or stacks were cut off
	Unjudged       // the budget's condition has not held for five periods, or there was nothing to judge for sixty
)

// Ends reports whether the event is the end of an alert.
func (e Event) Ends() bool { return e >= Passed }

// Rule is how long the windows of a budget have to fail until its alert fires, and to
// pass until it ends. The zero value takes one window.
type Rule struct {
	Period  time.Duration // between windows
	Windows int           // in a row that must fail until an alert fires; see NeededToEnd for its end
	Time    time.Duration // from the start of the first to the end of the last
	Strict  bool          // the user has set a `for`: the evidence of all windows fires nothing, but may end the alert
	AtOnce  bool          // one failing window is proof
	Counted bool          // windows are counted and not sampled: proof by all of them ends nothing
	Each    bool          // the limit is for each function: the largest has no mean over windows
	Share   bool          // the value is a share of the samples
	Streams bool          // windows are added up: their proof of an excess may end without one that there is none
}

// Lasting is the rule of a budget without a `for`: three periods.
func Lasting(period, window time.Duration) Rule {
	fit := int(lastingPeriods * period / max(window*3/2, 1)) // with a pause of half a window
	return Rule{Period: period, Windows: min(max(fit, leastWindows), mostWindows), Time: lastingPeriods * period}
}

// Fed is a rule without a `for` where other code takes the windows, one after the other: so many as
// three periods have, and at least leastWindows. A burst that breaks the budget in each of them has
// broken it over the whole time. Their ends, at which they are judged, are not exact.
func (r Rule) Fed(window time.Duration) Rule {
	if !r.Strict && !r.Counted && r.Windows > 0 && window > 0 {
		r.Windows = min(r.Windows, max(int(lastingPeriods*r.Period/window), leastWindows))
		r.Time -= min(window, r.Period) / 4
	}
	return r
}

// Counted is the rule of a budget on a value that is counted in full, once a period: three
// periods.
func Counted(period time.Duration) Rule {
	return Rule{Period: period, Windows: leastWindows, Time: apart(leastWindows, period), Counted: true}
}

// For is the rule of a budget with a `for`, in windows or in time.
func For(windows int, d, period time.Duration) Rule {
	return Rule{Period: period, Windows: max(windows, 1), Time: max(d, apart(windows, period)), Strict: true}
}

// apart is the least time of so many windows: they may follow each other within a period, so for
// each but the first three quarters of a period have to pass.
func apart(windows int, period time.Duration) time.Duration {
	return time.Duration(windows-1) * period * 3 / 4
}

// A Proof is what all windows say together.
type Proof struct {
	// Proven is the last proof, by one window or by all together. If the baseline is too small to prove a pass,
	// it changes from Fail to Inconclusive when the growth is over.
	Proven   evidence.Verdict
	Evidence float64       // for an excess: 1 is proof
	Kept     time.Duration // when it was last proven that the budget is kept; 0 for never
}

// Finding is the result of a budget in one window, and in all windows up to it.
type Finding struct {
	Start, End time.Duration    // of the window, since any fixed instant
	Window     evidence.Verdict // of this window by itself
	Proof
	Idle     bool    // the budget's condition did not hold
	Measured bool    // there was something to judge
	Value    float64 // the measured value
	Limit    float64 // 0 for none
	Samples  int64
	Hidden   bool // hits may be in stacks that were cut off
}

// Above reports whether the value is over the limit, whatever the verdict, because a window can
// pass at up to 1.25 times the limit. "leaked" has no limit: there, a window that passes is not
// above.
func (f Finding) Above() bool {
	return f.Value > f.Limit && (f.Limit > 0 || f.Window != evidence.Pass)
}

// A Run is a row of windows of one kind, up to the last.
type Run struct {
	Windows int
	start   time.Duration
}

func (r Run) add(f Finding) Run {
	if r.Windows == 0 {
		r.start = f.Start
	}
	r.Windows++
	return r
}

func (r Run) lasts(windows int, d, end time.Duration) bool {
	return r.Windows >= windows && end-r.start >= d
}

// A Recovery adds up windows that had something to judge.
type Recovery struct {
	Windows int
	Samples int64
	Worst   float64 // the largest value of a window
	sum     float64 // of the values, weighed by samples
	hidden  bool    // there may be hits in stacks that were cut off
}

func (r *Recovery) add(f Finding) {
	r.Windows++
	r.hidden = r.hidden || f.Hidden
	r.Samples += f.Samples
	r.Worst = max(r.Worst, f.Value)
	r.sum += f.Value * float64(f.Samples)
}

// Mean is the value of all these windows together.
func (r Recovery) Mean() float64 {
	if r.Samples == 0 {
		return r.Worst
	}
	return r.sum / float64(r.Samples)
}

// Alert is the alert of one budget between two windows, and what is known of the budget. The zero
// value is that before the first window. It holds no pointers and may be compared and copied.
type Alert struct {
	State    State
	Since    time.Duration // when State was entered
	Recovery Recovery      // since the last window that failed, or since it fired
	Passes   Run           // of windows that passed; inconclusive ones within the limit do not interrupt it
	Unjudged Run           // of windows with nothing to judge
	Idle     Run           // of those in which the condition did not hold

	fails     Run           // inconclusive windows above the limit do not interrupt it
	within    Run           // measured windows in a row that were within the limit
	calm      Recovery      // the same windows
	failed    time.Duration // the end of the last window that failed
	measured  time.Duration // the end of the last window with something to judge; 0 for none
	kept      time.Duration // when it was last proven that the budget is kept; 0 if that no longer counts
	shown     bool          // all windows together have proved an excess
	unsettled float64       // the count at the time counted
	counted   time.Duration
}

// Next returns the alert after a window, and the event. It depends only on its arguments.
// It must not be called for a window that was lost, unless the condition is known not to hold.
func (a Alert) Next(f Finding, r Rule) (Alert, Event) {
	a.count(f, r)
	stopped, fails := a.stopped(f.End, r), f.Window == evidence.Fail || !r.Strict && f.Evidence >= rising
	switch {
	case a.State == Firing:
		if why := a.ends(f, r); why != None {
			a.unsettle(unsettledByAlert, f.End, r)
			a.shown, a.fails = false, Run{}
			a.enter(a.known(f.End, r), f.End)
			return a, why
		}
	case a.fires(f, r):
		a.Recovery, a.kept = Recovery{}, 0
		a.enter(Firing, f.End)
		return a, Fired
	case !stopped && fails:
		a.enter(Pending, f.End)
	case a.State != Pending, stopped, f.Window == evidence.Pass, a.fails.Windows == 0 && (r.Strict || f.Evidence == 0 && a.within.Windows >= leastWindows):
		a.fails = Run{}
		a.enter(a.known(f.End, r), f.End)
	}
	return a, None
}

// known is what is known while the budget is neither pending nor firing.
func (a *Alert) known(now time.Duration, r Rule) State {
	switch {
	case a.blind(now, r):
		return NoData
	case a.kept > 0 && now-a.kept < keptPeriods*max(r.Period, 1):
		return OK
	}
	return Undecided
}

// blind reports whether nothing was judged for so long that nothing is known.
func (a *Alert) blind(now time.Duration, r Rule) bool {
	return a.measured == 0 || now-a.measured >= unjudgedPeriods*max(r.Period, 1) || a.stopped(now, r)
}

// At is the state at a time after the last window, and since when it is that. While windows are
// lost, an alert that fires goes on, and of any other budget nothing is known after a while.
func (a Alert) At(now time.Duration, r Rule) (State, time.Duration) {
	if a.State != Firing && a.State != NoData && a.blind(now, r) {
		return NoData, a.measured + unjudgedPeriods*r.Period
	}
	return a.State, a.Since
}

// count adds a window to the rows of windows.
func (a *Alert) count(f Finding, r Rule) {
	a.shown = a.shown || f.Proven == evidence.Fail
	if f.Measured {
		a.measured = f.End
		a.Recovery.add(f)
	}
	above := f.Above()
	if f.Window == evidence.Fail || above && f.Kept == 0 {
		a.kept = 0
	} else {
		a.kept = max(a.kept, f.Kept)
	}
	if f.Window == evidence.Fail || above {
		a.within, a.calm = Run{}, Recovery{}
	} else if f.Measured {
		a.within = a.within.add(f)
		a.calm.add(f)
	}
	switch {
	case f.Window == evidence.Fail:
		a.fails, a.failed, a.Recovery = a.fails.add(f), f.End, Recovery{}
	case f.Window == evidence.Pass || f.Measured && !above && (!r.Strict || a.within.Windows >= leastWindows):
		if a.fails.Windows > 0 && a.State != Firing {
			a.unsettle(unsettledByRow, f.End, r)
		}
		a.fails = Run{}
	}
	switch {
	case f.Window == evidence.Fail || above:
		a.Passes = Run{}
	case f.Window == evidence.Pass:
		a.Passes = a.Passes.add(f)
	}
	if a.Idle = a.Idle.add(f); !f.Idle {
		a.Idle = Run{}
	}
	if a.Unjudged = a.Unjudged.add(f); f.Measured {
		a.Unjudged = Run{}
	}
}

func (a *Alert) unsettle(by float64, now time.Duration, r Rule) {
	a.unsettled, a.counted = a.faded(now, r)+by, now
}

func (a *Alert) faded(now time.Duration, r Rule) float64 {
	return a.unsettled * math.Exp(-float64(now-a.counted)/float64(unsettledPeriods*max(r.Period, 1)))
}

// factor is the factor on the usual time to fire and to end.
func (a *Alert) factor(now time.Duration, r Rule) int {
	p := 1
	for u := a.faded(now, r); p < mostFactor && u >= unsettledFrom; u /= 2 {
		p *= 2
	}
	return p
}

// fires reports whether an alert begins.
func (a *Alert) fires(f Finding, r Rule) bool {
	factor := a.factor(f.End, r)
	if r.Strict {
		factor = 1
	}
	if f.Window == evidence.Fail && (r.AtOnce || a.fails.lasts(factor*r.Windows, time.Duration(factor)*r.Time, f.End)) {
		return true
	}
	// The evidence may be enough before the excess has lasted for three periods, and may stay
	// after the excess is over. So it takes a window above the limit.
	over := f.Window == evidence.Fail || f.Window != evidence.Pass && f.Above()
	return !r.Strict && a.State == Pending && f.Evidence >= 1 && over && f.End-a.Since >= lastingPeriods*r.Period
}

// ends returns the event that ends the alert, or None.
func (a *Alert) ends(f Finding, r Rule) Event {
	windows, d := a.NeededToEnd(f.End, r)
	if a.Passes.lasts(windows, d, f.End) {
		return Passed
	}
	if why := a.over(f, r); why != None && f.Window != evidence.Fail && (a.factor(f.End, r) == 1 || f.End-max(a.failed, a.Since) >= d) {
		return why
	}
	if a.stopped(f.End, r) {
		return Unjudged
	}
	return None
}

// over returns the event if all windows since the last one that failed prove together that
// the alert is over, or None.
func (a *Alert) over(f Finding, r Rule) Event {
	switch {
	case r.Counted:
		return None
	case r.Share && !a.calm.hidden && a.within.lasts(max(r.Windows, leastWindows), r.Time, f.End) &&
		evidence.Fixed(a.calm.sum, float64(a.calm.Samples), f.Limit).Verdict == evidence.Pass: // as one window
		a.kept = f.End
		return Proven
	case r.Streams && a.shown && f.Measured && f.Proven == evidence.Inconclusive:
		return Unproven
	case f.Proven == evidence.Pass && (r.Each || f.Limit == 0 || a.Recovery.Mean() <= f.Limit):
		// The proof is that the value is below the end of the zone above the limit. So the
		// mean has to be within the limit, too.
		return Proven
	}
	return None
}

// Hurries reports whether further windows soon help to decide: whether it fires, or whether it is
// over after the last window was within the limit.
func (a *Alert) Hurries() bool {
	return a.State == Pending || a.State == Firing && a.within.Windows > 0
}

// stopped reports whether there was nothing to judge for so long that the alert is over.
func (a *Alert) stopped(now time.Duration, r Rule) bool {
	return a.Idle.lasts(IdlePeriods, IdlePeriods*r.Period*3/4, now) || a.Unjudged.lasts(unjudgedPeriods, unjudgedPeriods*r.Period*3/4, now)
}

// NeededToEnd is how many windows in a row have to pass until the alert ends, and for how long.
func (a *Alert) NeededToEnd(now time.Duration, r Rule) (windows int, d time.Duration) {
	factor := a.factor(now, r)
	return factor * min(max(r.Windows, 1), leastWindows), time.Duration(factor) * r.Time
}

func (a *Alert) enter(s State, now time.Duration) {
	if a.State != s {
		a.State, a.Since = s, now
	}
}
