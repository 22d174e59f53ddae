// Package pace says when the next window starts: once a period, at a random moment of it;
// at once when the process's CPU jumps; less often, or not for a while, where windows cost
// too much. Time, readings and chance are passed in.
package pace

import (
	"time"

	"github.com/profguard/profguard/internal/process"
)

const (
	// Windows may use mostShare of one core, and the next one waits while they have used more.
	// Above PauseShare there are none for PauseFor.
	mostShare  = 0.01
	PauseShare = 0.03
	PauseFor   = 15 * time.Minute

	// judgedOver is the least time over which costs are judged: what windows may use in it,
	// they may use at once. The first window costs more than others, because it reads what is
	// linked, and windows after a jump of CPU and extra windows have short periods.
	judgedOver = 30 * time.Second
)

// A Pace decides when the windows of one process start. It is for one goroutine.
type Pace struct {
	Every  time.Duration  // a window starts so often,
	Window time.Duration  // and takes so long
	Random func() float64 // at least 0 and below 1

	last    time.Duration // the cost of the last window
	excess  time.Duration // what windows have used above mostShare
	until   time.Time     // the end of a pause
	extra   time.Duration // the time of extra windows that counted at the time counted
	counted time.Time

	// CPU of the process.
	usual  float64 // cores
	known  bool    // what is usual
	before process.Snapshot
	jumped time.Time // when a jump last asked for a window
}

// First is how long to wait for the first window. That is short: many processes live for
// minutes only. A fleet that starts at once is still spread over a tenth of the period.
func (p *Pace) First() time.Duration { return p.fraction(min(p.Every-p.Window, p.Every/10)) }

func (p *Pace) fraction(d time.Duration) time.Duration {
	return time.Duration(p.Random() * float64(max(d, 0)))
}

// Next is the start of the window after one that began at a time: a period later, or longer if
// that one cost too much, give or take a quarter of the time between windows. These random
// steps add up, so that the windows of a fleet, or a cron job of the host, do not stay in step
// with them. Periods that a suspended machine has missed are not made up for.
func (p *Pace) Next(began, now time.Time) time.Time {
	every := max(p.Every, min(time.Duration(float64(p.excess)/mostShare)-judgedOver, PauseFor))
	slack := max(every-p.Window, 0)
	at := began.Add(every - slack/4 + p.fraction(slack/2))
	if at.Before(now) {
		return now
	}
	return at
}

// costly reports whether windows cost too much to let them follow each other closely.
func (p *Pace) costly() bool { return float64(p.last) > mostShare*float64(p.Window*3/2) }

// Paused returns until when there are no windows, and reports whether that is later than now.
func (p *Pace) Paused(now time.Time) (until time.Time, paused bool) {
	return p.until, now.Before(p.until)
}

// Spent takes the cost of a window and the time since the window before. It returns the share
// of one core that the window used, and makes the next windows less frequent by it.
func (p *Pace) Spent(cost, period time.Duration, now time.Time) (share float64) {
	p.last, p.excess = cost, max(p.excess-time.Duration(mostShare*float64(period)), 0)+cost
	if float64(cost) > PauseShare*float64(max(period, judgedOver)) {
		p.until = now.Add(PauseFor)
	}
	return float64(cost) / float64(max(period, 1))
}

const (
	// Tick is how often the process's CPU is looked at: one reading of 20 us.
	Tick = time.Second
	// A second counts as a jump when it used jumpFactor times the usual CPU and at least
	// jumpCores more. A collection in a small process stays below a quarter of a core.
	jumpFactor = 2
	jumpCores  = 0.25
	// jumpMemory is the weight of the past: the usual is about the last twenty
	// seconds.
	jumpMemory = 0.95
)

// Restart begins to look for jumps anew after a window, whose profile shows what happened
// in it.
func (p *Pace) Restart(now process.Snapshot) { p.before = now }

// Jumped looks at the CPU once and reports whether it has jumped, so that a window can show
// the jump while it lasts. It reports at most one jump a period, so that a process whose
// load jumps all the time is not profiled all the time, and none while windows cost too much.
func (p *Pace) Jumped(now process.Snapshot) bool {
	f := process.Between(p.before, now)
	p.before = now
	if f.Elapsed <= 0 {
		return false
	}
	if !p.known {
		p.usual, p.known = f.Cores, true
	}
	jumped := f.Cores > jumpFactor*p.usual && f.Cores > p.usual+jumpCores
	p.usual = jumpMemory*p.usual + (1-jumpMemory)*f.Cores
	if !jumped || p.costly() || now.At.Before(p.until) || now.At.Sub(p.jumped) < p.Every {
		return false
	}
	p.jumped = now.At
	return true
}

// closeTime is the time of windows that follow each other closely, which may be spent at once,
// and again in each hour.
const closeTime = 5 * time.Minute

// Extra reports whether a window may follow the last one after half its length: for at most ten
// minutes in any hour, and not if windows cost too much.
func (p *Pace) Extra(now time.Time) bool {
	p.extra = max(p.extra-time.Duration(now.Sub(p.counted).Hours()*float64(closeTime)), 0)
	p.counted = now
	takes := p.Window * 3 / 2
	if p.costly() || p.extra+takes > closeTime {
		return false
	}
	p.extra += takes
	return true
}
