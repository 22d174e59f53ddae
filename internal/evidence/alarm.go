package evidence

// An Alarm is the verdict of a running guard on one share: [Fail] when a
// detector has proof that the share is above its limit, [Pass] when another has
// proof that it is below [Zone] times the limit; the last proof stands. To end a
// Fail, what came since it began may be proof by itself, see recovery. It starts
// [Inconclusive]. Make one with [NewAlarm]; like a [CUSUM] it is a plain
// value.
//
// One that compares with a baseline ([NewGrowthAlarm]) may have to prove more for a
// Pass than that the limit is kept, as the baseline has errors of its own. There,
// proof of the latter takes a Fail back, and what is left is Inconclusive.
type Alarm struct {
	fires      CUSUM
	recovers   recovery
	releases   recovery // to Inconclusive; unused where recovers takes less
	early      ledger   // of the first windows
	earlyProof float64
	shares     shareBet
	above      ledger // of all windows that are above the limit of late, see Join
	certain    bool   // the limit cannot be exceeded
	verdict    Verdict
}

// earlyPhi is the overdispersion that is assumed of a process that is not known
// yet. Estimated from a few windows it is worth so little ([Temper]) that even
// what is beyond doubt would take 18 windows to fire, in a process that was
// broken when it started. Real services were measured at 1.0 to 2.9, and a loop
// locked to a 10 ms tick at 4.
const earlyPhi = 8

// NewAlarm returns the alarm of a share against a limit. It fires at evidence
// lnA, see [LnA], and recovers at ln(1/[PassAlpha]).
func NewAlarm(limit, lnA float64) Alarm {
	return newAlarm(share(limit), edge(share(limit)), lnA, Up(), Down())
}

// NewGrowthAlarm returns an alarm that passes below another share than a limit
// alone has it, if that is less: for growth, [GrowthLimit] and [GrowthEdge].
func NewGrowthAlarm(limit, pass, lnA float64) Alarm {
	limit = share(limit)
	a := newAlarm(limit, min(share(pass), edge(limit)), lnA, UpNear(), DownNear())
	if a.recovers.edge < limit {
		a.releases = newRecovery(limit, DownNear())
	}
	return a
}

func newAlarm(limit, pass, lnA float64, up, down Grid) Alarm {
	return Alarm{
		fires:    NewCUSUM(limit, up, lnA),
		recovers: newRecovery(pass, down),
		early:    newLedger(limit, up, lnA),
		above:    newLedger(limit, up, windowsAtLeast*lnPass),
		shares:   shareBet{limit: limit, threshold: amount(lnA)},
		certain:  pass == 1,
	}
}

// Add takes the k hits in n samples of one window and returns the verdict. When
// both detectors have their proof in the same window, which takes a share
// inside the zone of indifference, it is Fail.
func (a *Alarm) Add(k, n float64) Verdict {
	firing := a.verdict == Fail
	fires, recovers, releases := a.fires.Add(k, n), a.recovers.add(k, n, firing), a.releases.add(k, n, firing)
	fires = a.addEarly(k, n) || fires
	fires = a.shares.add(k, n) || fires
	a.addAbove(k, n)
	switch {
	case a.certain:
		if n > 0 {
			a.verdict = Pass
		}
	case fires:
		a.fire()
		a.early.clear()
		a.shares.clear()
		a.fires.clear()
	case recovers && firing:
		a.verdict = Pass
		a.forget()
	case recovers:
		a.verdict = Pass
	case releases && firing:
		a.verdict = Inconclusive
		a.forget()
	}
	return a.verdict
}

// fire begins a Fail, or notes that it goes on.
func (a *Alarm) fire() {
	firing := a.verdict == Fail
	a.recovers.begin(firing)
	a.releases.begin(firing)
	a.verdict = Fail
}

// forget drops the evidence for what is over by proof. It would fade by and by, in
// hundreds of windows where the step has made the overdispersion large.
func (a *Alarm) forget() {
	a.early.clear()
	a.shares.clear()
	a.above.clear()
	a.fires.clear()
	a.fires.proof, a.earlyProof, a.shares.proof = 0, 0, 0
}

// addAbove keeps what Join asks for. It is forgotten as soon as it comes: evidence
// beyond what is asked for counts no more.
func (a *Alarm) addAbove(k, n float64) {
	if k, n = counts(k, n); n == 0 {
		return
	}
	a.above.add(k, n, earlyPhi)
	for i, sum := range a.above.sums {
		a.above.sums[i] = min(sum, 2*lnPass)
	}
}

// suspicion is the evidence at which a share is taken for above its limit until there
// is more: odds of nearly three to one.
const suspicion = 1

// Join has the alarm fire, on less proof than it fires by itself, where the alert that
// it belongs to fires already for another share: that one is not over as long as this
// one is above the limit. It reports whether it may be, for which still less suffices. A
// step hides from the [CUSUM] for some time; this knows it after two or three
// windows of 200 samples, at twice the limit.
func (a *Alarm) Join() (suspected bool) {
	proof := lnMeanExp(&a.above.sums)
	if a.verdict != Fail && !a.certain && proof >= lnPass {
		a.fire()
	}
	return a.verdict == Fail || !a.certain && proof >= suspicion
}

// addEarly collects the evidence of the windows from which the overdispersion is
// still being learned, and reports whether that alone suffices.
func (a *Alarm) addEarly(k, n float64) bool {
	if a.earlyProof = 0; a.fires.seen.windows >= holdAfter {
		return false
	}
	k, n = counts(k, n)
	if n == 0 {
		return false
	}
	a.earlyProof = a.early.add(k, n, max(earlyPhi, a.fires.Phi()))
	return a.earlyProof >= a.early.threshold && a.early.threshold > 0
}

// Retune sets the evidence that the alarm fires at, and keeps what it has: the
// budgets that it is one of may have become more, or fewer.
func (a *Alarm) Retune(lnA float64) {
	lnA = amount(lnA)
	a.fires.threshold, a.early.threshold, a.shares.threshold = lnA, lnA, lnA
}

// Verdict returns the verdict that stands.
func (a *Alarm) Verdict() Verdict { return a.verdict }

// Evidence returns the evidence for a share above the limit, after the last
// window; at [Alarm.Threshold] it fires.
func (a *Alarm) Evidence() float64 { return max(a.fires.Evidence(), a.earlyProof, a.shares.proof) }

// Threshold returns the evidence at which the alarm fires.
func (a *Alarm) Threshold() float64 { return a.fires.Threshold() }

// Phi returns the overdispersion that the last window was judged with.
func (a *Alarm) Phi() float64 { return a.fires.Phi() }
