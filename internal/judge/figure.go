package judge

import (
	"time"

	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/evidence"
)

// figure judges a figure of the process that is measured in full. The share of garbage collection
// and the size of the heap are judged by samples where the figure is not known, and a profile shows
// them.
type figure struct{ *rule }

func (f figure) needs() Needs { return Needs{Periodic: true} }

func (f figure) alert(period, window time.Duration) alert.Rule {
	return f.alertOf(period, window, true)
}

// isSampled reports whether a profile stands for the figure.
func (f figure) isSampled(m *measurement) bool {
	_, given := m.facts.Figures[FigureOf(f.Subject)]
	return !given && (f.isGC() && m.facts.NoFigures["gc"] == "" || f.Subject == "heap" && f.query >= 0)
}

func (f figure) window(m *measurement) Finding {
	why := m.unmet(f.rule)
	switch {
	case why != nil:
		return Finding{Reason: why}
	case f.isSampled(m):
		return sampled(f).window(m)
	}
	return f.measured(m)
}

// measured is the finding on the figure itself. If it is over the limit, a profile of it shows who is
// to blame.
func (f figure) measured(m *measurement) Finding {
	value, known := m.reading(f.Subject)
	if !known {
		return Finding{Reason: f.unknown(m, f.lacks)}
	}
	found := findingOf(evidence.Counted(value, f.Limit), Counted{})
	if found.Verdict == evidence.Fail && f.query >= 0 {
		found.Offenders = m.charges(f.rule).offenders()
	}
	return found
}

// unknown is the reason why the figure has no value. lacks is the reason why no profile shows it.
func (f figure) unknown(m *measurement, lacks Reason) Reason {
	name := FigureOf(f.Subject)
	if why := m.facts.NoFigures[name]; why != "" || lacks == nil {
		return FigureUnknown{name, why}
	}
	return lacks
}

func (f figure) follow(r *record, m *measurement, found Finding) Finding {
	if f.isGC() && f.isSampled(m) {
		return sampled(f).follow(r, m, found)
	}
	return r.proven(found)
}
