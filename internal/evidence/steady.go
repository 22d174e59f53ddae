package evidence

import (
	"math"
	"time"
)

const (
	// SteadyFloor is the time of which a floor is the minimum: long enough for several
	// garbage collections and for the end of any burst.
	SteadyFloor = 30 * time.Minute

	// steadyBaseline is how many floors are learned from: 48 hours, so that
	// both sides of a daily swing are in it twice.
	steadyBaseline = 96

	// steadyRise is the rise, in baseline medians, under which growth does not matter.
	steadyRise = 0.1

	// At most a tenth of the baseline's floors are above the line by more than the allowance,
	// so a tenth is the limit on their share afterwards.
	steadyLimit = 0.1

	// ln 144000: one false alarm in 3000 days of 48 floors.
	steadyLnA = 11.877568578558138

	// After an alarm, twelve floors (six hours) in a row under the line end it:
	// while half of the floors are above it, that has a chance of 2e-4.
	steadyRecovery = 12
)

// A Steady judges whether a figure (goroutines, heap, rss) grows slowly over hours. It takes
// the minimum of every half hour, the floor. During 48 hours it learns how floors depend on
// the load and how much they vary. After that it collects evidence that more floors are
// above this than chance allows.
//
// It is [Inconclusive] while it learns, then [Pass], and [Fail] from an alarm on until the
// floors are back to normal for six hours. A leak from the start is learned as normal. Make
// one with [NewSteady]; it has two kilobytes.
type Steady struct {
	slot      int64   // which half hour the open floor is of
	floor     float64 // its minimum so far
	load      float64 // and the sum of its load
	count     float64
	floors    []float64 // of the baseline, with their loads; sorted in the end
	loads     []float64
	perLoad   float64 // the fitted line: floor = base + perLoad * load
	base      float64
	allowance float64 // how far above the line a normal floor may be
	phi       float64

	ledger  ledger
	proof   float64
	under   int // floors in a row under the line
	verdict Verdict
}

// NewSteady returns the test of a figure.
func NewSteady() *Steady { return &Steady{ledger: newLedger(steadyLimit, upSteep, steadyLnA)} }

// Add takes the figure at a time since the start, with the load at that time in
// any unit (requests, cores; always 0 if unknown), and returns the verdict.
// Times must not go back. A half hour without a figure is left out.
func (s *Steady) Add(at time.Duration, value, load float64) Verdict {
	value, load = finite(value), finite(load)
	slot := int64(at / SteadyFloor)
	if s.count > 0 && slot > s.slot {
		s.close(s.floor, s.load/s.count)
		s.count = 0
	}
	if s.count == 0 {
		s.slot, s.floor, s.load = slot, value, 0
	}
	s.floor = min(s.floor, value)
	s.load += load
	s.count++
	return s.verdict
}

// Strength is the evidence for growth after the last full half hour, as a part of what
// makes the verdict Fail.
func (s *Steady) Strength() float64 { return s.proof / s.ledger.threshold }

// Learned returns how much of the baseline is in, from 0 to 1.
func (s *Steady) Learned() float64 { return float64(len(s.floors)) / steadyBaseline }

// close takes the floor of a full half hour, with its mean load.
func (s *Steady) close(floor, load float64) {
	if s.verdict == Inconclusive {
		s.floors, s.loads = append(s.floors, floor), append(s.loads, load)
		if len(s.floors) == steadyBaseline {
			s.fit()
			s.verdict = Pass
		}
		return
	}
	above := 0.0
	s.under++
	if floor > s.base+s.perLoad*load+s.allowance {
		above, s.under = 1, 0
	}
	s.proof = max(0, s.ledger.add(above, 1, s.phi))
	switch {
	case s.proof >= s.ledger.threshold:
		s.verdict = Fail
		s.ledger.clear()
	case s.verdict == Fail && s.under >= steadyRecovery:
		s.verdict = Pass
	}
}

// fit learns the line, the allowance and the overdispersion from the baseline.
func (s *Steady) fit() {
	const n = steadyBaseline
	var meanFloor, meanLoad float64
	for i := range n {
		meanFloor += s.floors[i] / n
		meanLoad += s.loads[i] / n
	}
	var cross, squares float64
	for i := range n {
		d := s.loads[i] - meanLoad
		cross += d * (s.floors[i] - meanFloor)
		squares += d * d
	}
	if squares > 0 {
		s.perLoad = cross / squares
	}
	s.base = meanFloor - s.perLoad*meanLoad

	var residuals [n]float64
	var strays spread
	for i := range n {
		residuals[i] = s.floors[i] - s.base - s.perLoad*s.loads[i]
		strays.add(residuals[i], 1)
	}
	s.phi = 1
	// Where all floors are equal, or follow the load exactly, rounding leaves residuals that are
	// alike and would be taken for correlation.
	if rounding := 1e-12 * meanFloor; strays.squares(0) > n*rounding*rounding {
		s.phi = inflation(strays.rho(0))
	}
	s.allowance = quantile(residuals[:], 0.9) + steadyRise*math.Abs(quantile(s.floors, 0.5))
}
