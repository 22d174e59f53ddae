package guard

import (
	"context"
	"time"

	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiles"
)

// A climb is the way up to more goroutines than a profile is taken of. A budget such as
// "goroutines below 50000" fires when it is too late to see whose they are, so a
// profile is kept that was taken before: one in a climb, when at least half as many
// are there as are allowed. Most of those are what the others will be.
type climb struct {
	seen breakdown // what it showed, until the next climb begins
}

// climbing looks whether goroutines are on the way up, and takes the profile. It is
// called every second and after each window, and costs nothing unless there is a
// budget on goroutines.
func (l *looper) climbing(ctx context.Context, now process.Snapshot) {
	seen, most := &l.breakdowns.climb.seen, int64(l.breakdowns.taker.MostGoroutines())
	switch n := now.Goroutines; {
	case n < most/4: // not half of what it takes: the next that many are another climb
		*seen = breakdown{}
	case !seen.at.IsZero() || n < most/2 || n > most || !l.budgets("goroutines"):
	default:
		l.breakdowns.cost += onThread(func() {
			if c := l.look(ctx, profiles.Goroutine, now.At); c.err == nil {
				c.value = float64(n)
				*seen = c
			}
		})
	}
}

// budgets reports whether there is a budget on a figure.
func (l *looper) budgets(figure string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.panel.entries {
		if e.budget.Subject == figure && kindOf(e.budget) == kindFigures {
			return true
		}
	}
	return false
}

// spent is what was taken between windows, since it was last asked.
func (of *breakdowns) spent() (cost time.Duration) {
	cost, of.cost = of.cost, 0
	return cost
}
