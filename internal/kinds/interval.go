package kinds

import "time"

// An interval keeps what a kind of profile costs below a share of the time, by
// making every cost wait for the time that pays for it. It is a plain value and
// has no clock.
//
// Its zero value lets the first profile be taken at once: what it will cost is
// not known, only bounded by the caps.
type interval struct {
	paid time.Time // when all costs so far are below the share
}

// wait is how long it is until the next profile may be taken.
func (i interval) wait(now time.Time) time.Duration {
	return max(0, i.paid.Sub(now))
}

// charge adds what a profile cost. Costs add up: one that comes while an earlier
// one is being waited for (an End after its Begin) prolongs the wait.
func (i interval) charge(now time.Time, cost time.Duration, share float64) interval {
	if i.paid.Before(now) {
		i.paid = now
	}
	// A day is longer than any profile can be worth, and keeps a share that is
	// nearly 0 from overflowing.
	wait := min(float64(cost)/share, float64(24*time.Hour))
	i.paid = i.paid.Add(time.Duration(wait))
	return i
}
