package evidence

import "math"

const (
	// The reference share forgets 5% per window: it averages over some 20
	// windows, and follows the daily swing of a service.
	shareDecay = 0.95

	// Variances are averaged over 240 windows (four hours of minutes): enough
	// pieces that [Temper] costs little, short enough to follow a deployment.
	spreadDecay = 1 - 1.0/240

	// After 30 windows the overdispersion is known well enough to be held,
	// while evidence is pending (above 2, a likelihood ratio of 7), at what it
	// was before: otherwise the step that is to be detected raises it, and
	// hides itself.
	holdAfter, holdAbove = 30, 2

	// No window counts for more than a fifth of the threshold, so that one
	// freak window cannot fire. A true violation takes two windows longer.
	windowsAtLeast = 5
)

// A CUSUM collects evidence about a share over windows, forgetting whatever
// spoke against it (a cumulative sum that is cut off at zero), and alarms when
// there is enough. It estimates the overdispersion from the same windows. Make
// one with [NewCUSUM]; it is a value of some 300 bytes, and a copy of it is an
// independent detector.
type CUSUM struct {
	ledger

	proof, phi float64 // of the last window

	refK, refN float64 // decayed hits and samples: the reference share
	prev       float64 // the last residual
	seen, held moments
}

// moments are decayed sums over windows.
type moments struct {
	squares  float64 // of residuals
	expected float64 // of squares, if samples were independent
	cross    float64 // products of neighbouring residuals
	windows  float64
}

func (m *moments) add(o moments) {
	m.squares += o.squares
	m.expected += o.expected
	m.cross += o.cross
	m.windows += o.windows
}

func (m *moments) decay() {
	m.squares *= spreadDecay
	m.expected *= spreadDecay
	m.cross *= spreadDecay
	m.windows *= spreadDecay
}

// A ledger is evidence over windows, per odds ratio, cut off at zero.
type ledger struct {
	bet       bet
	threshold float64
	sums      Grid
}

func newLedger(limit float64, grid Grid, threshold float64) ledger {
	return ledger{bet: against(limit, grid), threshold: amount(threshold)}
}

// add enters a window, and returns the evidence of the mixture.
func (l *ledger) add(k, n, phi float64) float64 {
	for i := range l.sums {
		gain := (k*l.bet.hit[i] - n*l.bet.cost[i]) / phi
		l.sums[i] = max(l.sums[i], 0) + min(gain, l.threshold/windowsAtLeast)
	}
	return lnMeanExp(&l.sums)
}

func (l *ledger) clear() { l.sums = Grid{} }

// NewCUSUM returns a detector of a share above the limit ([Up]) or below it
// ([Down]) that alarms at the given evidence ([LnA] for a guard). At a threshold of 0 it
// never does.
func NewCUSUM(limit float64, grid Grid, threshold float64) CUSUM {
	return CUSUM{ledger: newLedger(limit, grid, threshold), phi: 1}
}

// Add takes the k hits in n samples of one window and reports whether the
// evidence reached the threshold; it then starts afresh. A window without
// samples says nothing.
func (d *CUSUM) Add(k, n float64) (alarm bool) {
	k, n = counts(k, n)
	if n == 0 {
		return false
	}
	d.phi = d.overdispersion()
	e := d.ledger.add(k, n, d.phi)
	d.proof = Temper(max(e, 0), d.seen.windows-1)
	d.observe(k, n, e)
	if d.proof < d.threshold || d.proof == 0 {
		return false
	}
	d.clear()
	d.seen.add(d.held)
	d.held = moments{}
	return true
}

// overdispersion is what the windows so far say, 1 while there are too few.
func (d *CUSUM) overdispersion() float64 {
	if d.seen.windows < 2 || d.seen.expected <= 0 {
		return 1
	}
	phi := d.seen.squares / d.seen.expected
	if d.seen.squares > 0 {
		phi *= inflation(d.seen.cross / d.seen.squares)
	}
	return factor(phi)
}

// observe adds a window's residual, about the share of the windows before it,
// to the moments; while evidence e is pending it only holds it.
func (d *CUSUM) observe(k, n, e float64) {
	first := d.refN == 0
	var now moments
	if first {
		d.prev = 0
	} else {
		q := (d.refK + 0.5) / (d.refN + 1)
		res := k - q*n
		now = moments{
			squares:  res * res,
			expected: n * q * (1 - q) * (1 + n/(d.refN+1)), // the reference is uncertain, too
			cross:    res * d.prev,
			windows:  1,
		}
		d.prev = res
	}
	d.refK = shareDecay*d.refK + k
	d.refN = shareDecay*d.refN + n
	switch {
	case first:
	case d.seen.windows >= holdAfter && e > holdAbove:
		d.held.add(now)
	default:
		d.seen.add(d.held)
		d.held = moments{}
		d.seen.decay()
		d.seen.add(now)
	}
}

// Evidence returns the evidence after the last window, up to [CUSUM.Threshold].
// Just after an alarm it is what raised the alarm.
func (d *CUSUM) Evidence() float64 { return d.proof }

// Threshold returns the evidence that alarms.
func (d *CUSUM) Threshold() float64 { return d.threshold }

// Phi returns the overdispersion that the last window was judged with.
func (d *CUSUM) Phi() float64 { return max(1, d.phi) }

// LnA returns the threshold of a detector that looks at so many windows, for so
// many budgets with so many [Tests] each, and raises one false alarm among all
// of them with a chance of at most eps. A month of minutes, 20 budgets, 50 tests
// and eps 0.01 make 22.2.
func LnA(windows, budgets, tests, eps float64) float64 {
	return math.Log(factor(windows)) + math.Log(factor(budgets)) +
		math.Log(factor(tests)) + surprise(eps)
}

// Tests returns how many independent tests a "no function" budget amounts to:
// with so many distinct functions in a sample on the average (1 for flat shares,
// about 10 were measured for cumulative ones), at most distinct/limit functions can
// have a share at the limit. Counting all functions that exist would waste power.
func Tests(distinct, limit float64) float64 {
	limit = share(limit)
	if limit == 0 {
		return factor(distinct)
	}
	return factor(factor(distinct) / limit)
}
