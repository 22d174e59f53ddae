package evidence

// A recovery finds that a share is below the end of its zone: by a detector that
// weighs all windows, and while an alarm fires, by what came since.
//
// The fix of a culprit is a step, and so was what it fixes. To the detector a step
// looks like overdispersion until its memory has faded: where each window by itself
// was beyond doubt, it was seen to take 163 of them, and with 40 samples a window
// 370. So while an alarm fires, two more rules know nothing of what came before:
// some windows in a row that pass by themselves, and a ledger that assumes an
// overdispersion. After a culprit at 75% and a limit of 20% is fixed to 5%, the
// alarm ends after 27 windows of 20 samples, 13 of 40, 3 of 100 and of 300; fixed to
// 10%, after 47, 23, 6 and 3 (medians; TestAlarmEnds).
type recovery struct {
	CUSUM
	edge float64

	passes int    // windows in a row that passed by themselves, since it fires
	since  ledger // of the windows since it fires

	kept     int // windows since the last alarm ended
	ended    bool
	relapses int
}

const (
	// passesInARow end an alarm. Three that pass at [PassAlpha] each are at least as
	// much proof as the detector asks for.
	passesInARow = 3
	// relapseWithin is how many windows after its end an alarm that fires again shows
	// that it was ended too soon: an hour of minutes. What comes in bursts longer than
	// a window is calm for some windows in a row, and would be ended and fire again for
	// ever. So each time the two rules ask for twice as much.
	relapseWithin = 60
	// maxRelapses bounds how often that is doubled: 24 windows in a row.
	maxRelapses = 3
)

func newRecovery(edge float64, down Grid) recovery {
	return recovery{CUSUM: NewCUSUM(edge, down, lnPass), edge: edge, since: newLedger(edge, down, lnPass)}
}

// add takes a window, and reports whether there is proof.
func (r *recovery) add(k, n float64, firing bool) bool {
	if r.edge == 0 {
		return false // nothing is below no share at all
	}
	proven := r.CUSUM.Add(k, n)
	if k, n = counts(k, n); n == 0 {
		return false
	}
	if !firing {
		r.kept++
		return proven
	}
	if Upper(k, n, 1, PassAlpha) < r.edge {
		r.passes++
	} else {
		r.passes = 0
	}
	calm := r.since.add(k, n, float64(int(earlyPhi)<<r.relapses)) >= lnPass
	if proven || calm || r.passes >= passesInARow<<r.relapses {
		r.kept, r.ended = 0, true
		return true
	}
	return false
}

// begin notes that the alarm fires, perhaps still.
func (r *recovery) begin(firing bool) {
	r.passes = 0
	r.since.clear()
	if firing {
		return
	}
	switch {
	case r.ended && r.kept < relapseWithin:
		r.relapses = min(r.relapses+1, maxRelapses)
	default:
		r.relapses = 0
	}
}
