package judge

import "github.com/profguard/profguard/internal/evidence"

// steady follows a figure over hours. One window can only tell that it is over its cap.
type steady struct{ figure }

func (s steady) window(m *measurement) Finding {
	if why := m.unmet(s.rule); why != nil {
		return Finding{Reason: why}
	}
	value, known := m.reading(s.Subject)
	switch {
	case !known:
		return Finding{Reason: s.unknown(m, nil)}
	case s.Limit > 0 && value > s.Limit:
		return s.measured(m)
	}
	return Finding{Value: value, Low: value, High: value, Reason: OverHours{}}
}

func (s steady) follow(r *record, m *measurement, f Finding) Finding {
	value, ok := m.reading(s.Subject)
	if !ok || m.unmet(s.rule) != nil {
		return r.with(f)
	}
	if r.steady == nil {
		r.steady = evidence.NewSteady()
	}
	load, _ := m.reading("process")
	if s.Class == Process {
		load = 0 // the figure is the load itself
	}
	r.Proven = r.steady.Add(m.at, value, load)
	r.Evidence = r.steady.Strength()
	if f.Verdict == evidence.Fail { // its cap
		r.Proven, r.Evidence = evidence.Fail, 1
	} else {
		f.Verdict, f.Reason = r.Proven, Learning{r.steady.Learned()}
	}
	return r.with(f)
}
