// Package pace says when the next window starts: once a period, at a random moment of it;
// at once when the process's CPU jumps; less often, or not for a while, where windows cost
// too much. Time, readings and chance are passed in.
package pace

import (
	"time"

	"github.com/profguard/profguard/internal/process"
)

const (
	// Above slowShare of one core windows are half as frequent; above RestShare there is
	// none for RestFor. Below goodShare they come back, a step a window, so that they do
	// not go to and fro.
	slowShare  = 0.01
	goodShare  = 0.005
	RestShare  = 0.03
	RestFor    = 15 * time.Minute
	maxStretch = 16

	// judgedOver is the least time that a cost is judged over. Two windows say little about a
	// rate: the first, which finds out what is linked, and one that a jump of CPU has started
	// early. It is below the shortest distance between two windows at the defaults, so there
	// each is judged by itself.
	judgedOver = 30 * time.Second
)

// A Pace is that of the windows of one process. It is for one goroutine.
type Pace struct {
	Every  time.Duration  // a window starts so often,
	Window time.Duration  // and takes so long
	Random func() float64 // at least 0 and below 1

	// What windows cost.
	factor       int // they are so many times less frequent; 0 is 1
	until        time.Time
	last         time.Duration // the cost of the last
	cost, period time.Duration // since they were judged

	// CPU of the process.
	usual  float64 // cores
	known  bool    // what is usual
	before process.Snapshot
	jumped time.Time // when a jump last asked for a window
}

// First is how long to wait for the first window. That is short: many processes live for
// minutes only. A fleet that starts at once is still spread over a tenth of the period.
func (p *Pace) First() time.Duration { return min(p.fraction(p.Every-p.Window), p.Every/10) }

func (p *Pace) fraction(d time.Duration) time.Duration {
	return time.Duration(p.Random() * float64(max(d, 0)))
}

// Next is when the window after one that began at a time starts: a period later, give or
// take a quarter of the time between windows. These random steps add up, so that
// neither a fleet nor a cron job of the host stays in step with the windows, and whole
// periods that a suspended machine slept through are not made up for.
func (p *Pace) Next(began, now time.Time) time.Time {
	every := p.Every * time.Duration(p.stretch())
	slack := max(every-p.Window, 0)
	at := began.Add(every - slack/4 + p.fraction(slack/2))
	if at.Before(now) {
		return now
	}
	return at
}

func (p *Pace) stretch() int { return max(p.factor, 1) }

// Costly reports whether windows cost too much for one to follow after half a window.
func (p *Pace) Costly() bool {
	return p.stretch() > 1 || float64(p.last) > slowShare*float64(p.Window*3/2)
}

// Rests returns until when there are no windows, and reports whether that is later than now.
func (p *Pace) Rests(now time.Time) (until time.Time, rests bool) {
	return p.until, now.Before(p.until)
}

// Spent takes what a window cost and how long it was since the last. It returns the share
// of one core that windows took lately, and makes them rarer or more frequent by it.
func (p *Pace) Spent(cost, period time.Duration, now time.Time) (share float64) {
	p.last = cost
	if period <= 0 {
		return 0
	}
	p.cost += cost
	p.period += period
	share = float64(p.cost) / float64(p.period)
	if p.period < judgedOver && p.cost <= time.Duration(RestShare*float64(judgedOver)) {
		return share // too early to tell
	}
	p.cost, p.period = 0, 0
	if share > RestShare {
		p.until = now.Add(RestFor)
	}
	if share > slowShare {
		p.factor = min(2*p.stretch(), maxStretch)
	} else if share < goodShare {
		p.factor /= 2
	}
	return share
}

const (
	// Tick is how often the process's CPU is looked at: one read of 4 us.
	Tick = time.Second
	// A second counts as a jump when it used jumpFactor times the usual, and
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

// Jumped takes one look at the CPU and reports whether it has jumped, so that a window
// shows it while it lasts. It does so for at most one jump a period: a load that jumps all
// the time does not become a process that is profiled all the time.
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
	if !jumped || !p.jumped.IsZero() && now.At.Sub(p.jumped) < p.Every {
		return false
	}
	p.jumped = now.At
	return true
}
