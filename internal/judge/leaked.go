package judge

import (
	"time"

	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/kinds"
)

// leaked counts the goroutines that are blocked for ever. One is proof.
type leaked struct{ *rule }

func (l leaked) needs() Needs { return Needs{Profile: kinds.GoroutineLeak, Periodic: true} }

func (l leaked) alert(period, window time.Duration) alert.Rule {
	a := l.alertOf(period, window, false)
	a.AtOnce, a.Each = !a.Strict, true
	return a
}

func (l leaked) window(m *measurement) Finding {
	if why := m.unjudged(l.rule); why != nil {
		return Finding{Reason: why}
	}
	c := m.charges(l.rule)
	f := findingOf(evidence.Counted(float64(c.sums.Total), 0), Leaked{})
	f.Samples, f.Hits, f.Offenders = c.samples(), c.sums.Total, c.offenders()
	return f
}
