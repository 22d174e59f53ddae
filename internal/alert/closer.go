package alert

import "time"

// Closer allows windows that follow each other closely, ten minutes of them in any
// hour at the most. The zero value allows all of that at once.
type Closer struct {
	spent time.Duration
	at    time.Duration
}

// closeTime is what may be spent at once, and again every hour.
const closeTime = 5 * time.Minute

// Allows reports whether there is time for a close window that takes so long, at a
// time since any fixed instant, and spends it.
func (c *Closer) Allows(now, takes time.Duration) bool {
	c.spent = max(c.spent-time.Duration((now-c.at).Hours()*float64(closeTime)), 0)
	c.at = now
	if c.spent+takes > closeTime {
		return false
	}
	c.spent += takes
	return true
}
