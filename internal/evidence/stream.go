package evidence

import "math"

// A Stream is the evidence about one share over the windows of a running process: one
// ledger for a share above the limit, another for a share below the end of the zone. It
// proves what no single window proves. Make one with [NewStream].
type Stream struct {
	above, below ledger
	spread       pairs
	limit, pass  float64 // a share that is proven to be below pass passes
	trial        float64 // the exposure of one
	verdict      Verdict
	hidden       bool // of a Fail: there were unknown hits since
}

const (
	// assumedPhi is the least overdispersion for the proof of an excess, until it was
	// estimated from enoughPairs windows. Real services were measured at 1.0 to 2.9, and a
	// loop locked to a 10 ms tick at 4.
	assumedPhi  = 8
	enoughPairs = 30

	// Variances are averaged over 240 windows, four hours at a window a minute: enough to know
	// them well, and short enough to follow a deployment.
	spreadDecay = 1 - 1.0/240

	// closePhi is the additional overdispersion of windows that follow each other within
	// a period: some of their bursts are the same.
	closePhi = 2

	// No window adds more than a fifth of the threshold to a ledger, so that one unusual
	// window does not reach it. (A window that fails by itself needs no ledger.)
	windowsAtLeast = 5
)

// NewStream returns the evidence about a limit. [Stream.Strength] reaches 1 at evidence lnA, see [LnA].
func NewStream(l Limit, lnA float64) *Stream {
	s := &Stream{}
	s.limit, s.trial = l.shares()
	s.pass = Edge(s.limit)
	s.above = newLedger(s.limit, up, lnA)
	s.await(Inconclusive)
	return s
}

// await sets the verdict, with a new ledger for the next Pass, or for the end of a Fail.
func (s *Stream) await(v Verdict) {
	s.verdict, s.hidden, s.below = v, false, newLedger(s.pass, down, lnPass)
}

// Add takes the k hits of one window, in n samples or over an exposure of n. There may be so many
// more that are unknown, in stacks that were cut off: a Pass has to be true with them. A Fail is
// proven by the other hits, and ends by them. closely says that the window followed the one before
// within a period. A window without samples says nothing. Add reports whether the windows since the
// last such proof prove a Pass.
func (s *Stream) Add(k, unknown, n float64, closely bool) (passes bool) {
	if s.verdict == Fail {
		s.hidden, unknown = s.hidden || unknown > 0, 0
	}
	trials := amount(n / s.trial)
	most, _ := counts(k+unknown, trials)
	if k, n = counts(k, trials); n == 0 {
		return false
	}
	if s.pass == 1 { // the limit cannot be exceeded
		s.verdict = Pass
		return true
	}
	phi := s.spread.phi()
	if closely {
		phi *= closePhi
	}
	below := temper(max(s.below.add(max(k, most), n, phi), 0), s.spread.count-1)
	if s.spread.count < enoughPairs { // a wrong Pass costs less than a wrong alarm
		phi = max(phi, assumedPhi)
	}
	s.above.add(k, n, phi)
	s.above.bound()
	s.spread.add(k, n, closely)
	switch {
	case s.Strength() >= 1, k > n*s.limit && Fixed(k, n, s.limit).Verdict == Fail:
		if s.verdict != Fail {
			s.await(Fail)
		}
		s.below.clear() // the evidence for a lower share is of an earlier time
	case below < lnPass:
	case s.verdict == Fail:
		passes = !s.hidden
		if s.Forget(); passes {
			s.verdict = Pass
		}
	default:
		passes, s.verdict = true, Pass
		s.below.clear() // the next proof is of other windows
	}
	return passes
}

// Assume sets a [Pass] that was proven elsewhere. The next proof takes windows of its own.
func (s *Stream) Assume() { s.verdict = Pass }

// Verdict is the last proof, by one window or by all together: [Fail] above the limit,
// [Pass] below [Zone] times the limit.
func (s *Stream) Verdict() Verdict { return s.verdict }

// Strength is the evidence for an excess after the last window, as a part of the
// threshold: 1 and more is proof.
func (s *Stream) Strength() float64 {
	return amount(lnMeanExp(&s.above.sums) / s.above.threshold)
}

// Forget drops the evidence for an excess that is over. It would fade by itself, in
// hundreds of windows where the overdispersion is large.
func (s *Stream) Forget() {
	s.above.clear()
	if s.verdict == Fail {
		s.await(Inconclusive)
	}
}

// Retune sets the evidence that is proof, for another number of budgets, and keeps the
// evidence that was collected.
func (s *Stream) Retune(lnA float64) { s.above.threshold = amount(lnA) }

// A ledger is evidence over windows, per odds ratio, cut off at zero.
type ledger struct {
	weights   weights
	threshold float64
	sums      grid
}

func newLedger(limit float64, odds grid, threshold float64) ledger {
	return ledger{weights: against(limit, odds), threshold: amount(threshold)}
}

// add enters a window, and returns the evidence of the mixture.
func (l *ledger) add(k, n, phi float64) float64 {
	for i := range l.sums {
		gain := (k*l.weights.hit[i] - n*l.weights.cost[i]) / phi
		l.sums[i] = max(l.sums[i], 0) + min(gain, l.threshold/windowsAtLeast)
	}
	return lnMeanExp(&l.sums)
}

// bound limits each sum to what is proof by itself, so that it falls soon after an excess is
// over. A mixture loses at most ln 4 against its best odds ratio.
func (l *ledger) bound() {
	for i, sum := range l.sums {
		l.sums[i] = min(sum, l.threshold+math.Log(odds)+1)
	}
}

func (l *ledger) clear() { l.sums = grid{} }

// pairs estimate the overdispersion from the differences of neighbouring windows. A step,
// which is to be detected, changes only one pair, and a daily swing none.
type pairs struct {
	k, n              float64 // of the last window
	squares, expected float64 // of the differences, and if samples were independent
	count             float64
}

func (p *pairs) add(k, n float64, closely bool) {
	if p.n > 0 && !closely {
		q := (p.k + k + 0.5) / (p.n + n + 1)
		d := k/n - p.k/p.n
		p.squares = spreadDecay*p.squares + d*d*n*p.n/(n+p.n)
		p.expected = spreadDecay*p.expected + q*(1-q)
		p.count = spreadDecay*p.count + 1
	}
	p.k, p.n = k, n
}

func (p *pairs) phi() float64 { return factor(p.squares / p.expected) }

// LnA returns the threshold of a detector that looks at a number of windows, for a number of
// budgets with a number of [Tests] each. The chance of a false alarm among all of them is at
// most eps. A month of minutes, 20 budgets, 50 tests and an eps of 0.1 make 19.9.
func LnA(windows, budgets, tests, eps float64) float64 {
	return math.Log(factor(windows)*factor(budgets)*factor(tests)) + surprise(eps)
}

// Tests returns the number of independent tests in a "no function" budget. distinct is the
// average number of distinct functions in a sample: 1 for flat shares, and about 10, as
// measured, for cumulative ones. At most distinct/limit functions can have a share at the
// limit. To count all functions of the program would make the tests weaker than needed.
func Tests(distinct, limit float64) float64 {
	if limit = share(limit); limit == 0 {
		limit = 1
	}
	return factor(factor(distinct) / limit)
}
