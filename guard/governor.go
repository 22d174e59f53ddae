package guard

import "time"

const (
	// Above slowShare of one core the guard halves its cadence; above restShare it
	// rests for a quarter of an hour. Below goodShare it comes back, a step a
	// window, so it does not swing.
	slowShare  = 0.01
	restShare  = 0.03
	goodShare  = 0.005
	restFor    = 15 * time.Minute
	maxStretch = 16

	// sampleCost is what one CPU sample costs the process: the signal, the
	// unwinding, the write to the profile's buffer. Measured at 2.1 to 3.5 us.
	sampleCost = 3500 * time.Nanosecond
)

// A governor keeps the guard's own cost within what it promised.
type governor struct {
	factor int // the cadence is stretched by this; 0 is 1
	until  time.Time
}

func (g *governor) stretch() int { return max(g.factor, 1) }

func (g *governor) paused(now time.Time) (until time.Time, paused bool) {
	return g.until, now.Before(g.until)
}

// spent takes what a period cost and how long it was. It reports whether the
// guard is to rest now.
func (g *governor) spent(cost, period time.Duration, now time.Time) (share float64, rest bool) {
	if period <= 0 {
		return 0, false
	}
	share = float64(cost) / float64(period)
	switch {
	case share > restShare:
		g.until = now.Add(restFor)
		g.factor = min(2*g.stretch(), maxStretch)
		return share, true
	case share > slowShare:
		g.factor = min(2*g.stretch(), maxStretch)
	case share < goodShare && g.factor > 1:
		g.factor /= 2
	}
	return share, false
}
