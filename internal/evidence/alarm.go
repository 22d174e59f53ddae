package evidence

// An Alarm is the verdict of a running guard on one share: [Fail] when a
// detector has proof that the share is above its limit, [Pass] when another has
// proof that it is below [Zone] times the limit; the last proof stands. It
// starts [Inconclusive]. Make one with [NewAlarm]; like a [CUSUM] it is a plain
// value.
type Alarm struct {
	fires, recovers CUSUM
	certain         bool // the limit cannot be exceeded
	verdict         Verdict
}

// NewAlarm returns the alarm of a share against a limit. It fires at evidence
// lnA, see [LnA], and recovers at ln(1/[PassAlpha]).
func NewAlarm(limit, lnA float64) Alarm {
	limit = share(limit)
	return Alarm{
		fires:    NewCUSUM(limit, Up(), lnA),
		recovers: NewCUSUM(edge(limit), Down(), lnPass),
		certain:  limit == 1,
	}
}

// Add takes the k hits in n samples of one window and returns the verdict. When
// both detectors have their proof in the same window, which takes a share
// inside the zone of indifference, it is Fail.
func (a *Alarm) Add(k, n float64) Verdict {
	fires, recovers := a.fires.Add(k, n), a.recovers.Add(k, n)
	switch {
	case a.certain:
		if n > 0 {
			a.verdict = Pass
		}
	case fires:
		a.verdict = Fail
	case recovers:
		a.verdict = Pass
	}
	return a.verdict
}

// Verdict returns the verdict that stands.
func (a *Alarm) Verdict() Verdict { return a.verdict }

// Evidence returns the evidence for a share above the limit, after the last
// window; at [Alarm.Threshold] it fires.
func (a *Alarm) Evidence() float64 { return a.fires.Evidence() }

// Threshold returns the evidence at which the alarm fires.
func (a *Alarm) Threshold() float64 { return a.fires.Threshold() }

// Phi returns the overdispersion that the last window was judged with.
func (a *Alarm) Phi() float64 { return a.fires.Phi() }
