package evidence

import "math"

// AbsentAlpha is the error of the bound that [Absent] passes on: the customary
// 95%, since a pass here is a statement about a small share, not about none.
const AbsentAlpha = 0.05

// AbsentShare is the default for the largest share that [Absent] lets hide. It
// takes 299 samples.
const AbsentShare = 0.01

// Absent judges that something does not occur at all. One hit is proof of the
// contrary. Without hits, High is the share that could hide in n samples, with
// error [AbsentAlpha], and it passes when that is at most hide (0 means
// [AbsentShare]).
func Absent(k, n, phi, hide float64) Finding {
	k, n = counts(k, n)
	phi, hide = factor(phi), share(hide)
	if hide == 0 {
		hide = AbsentShare
	}
	f := Finding{Low: Lower(k, n, phi, FailAlpha), High: Upper(k, n, phi, AbsentAlpha)}
	needed := AbsentNeeded(hide, phi, AbsentAlpha)
	switch {
	case k > 0:
		f.Verdict, f.Value = Fail, k/n
	case n >= needed:
		f.Verdict = Pass
	default:
		f.Needed = needed
	}
	return f
}

// AbsentNeeded returns how many samples without a hit show, with error alpha,
// that the share is at most hide.
func AbsentNeeded(hide, phi, alpha float64) float64 {
	hide = share(hide)
	if hide == 1 {
		return 1
	}
	if hide == 0 {
		return most
	}
	return ceil(factor(phi)*surprise(alpha)/-math.Log1p(-hide), 0)
}
