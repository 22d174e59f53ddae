package pace

import "time"

// An Allowance is the time for windows that follow each other closely: at most ten minutes in
// any hour. The zero value is ready to use.
type Allowance struct {
	spent time.Duration
	at    time.Duration
}

// closeTime is the time that may be spent at once, and again in each hour.
const closeTime = 5 * time.Minute

// Take spends the time that a close window takes, and reports whether there was enough left.
// now is the time since any fixed instant.
func (a *Allowance) Take(now, takes time.Duration) bool {
	a.spent = max(a.spent-time.Duration((now-a.at).Hours()*float64(closeTime)), 0)
	a.at = now
	if a.spent+takes > closeTime {
		return false
	}
	a.spent += takes
	return true
}
