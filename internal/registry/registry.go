// Package registry reads counters of work from the registry of Prometheus in which the guard's metrics are.
package registry

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/foreign"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/unit"
)

// gatherer is the registry, or the default one if that cannot be read.
func gatherer(r prometheus.Registerer) prometheus.Gatherer {
	if g, ok := r.(prometheus.Gatherer); ok {
		return g
	}
	return prometheus.DefaultGatherer
}

// A Reader reads a registry again and again.
type Reader struct {
	from prometheus.Gatherer
	had  map[string]bool // the names of the metrics that have had series
}

// NewReader returns a reader of a registry, or of the default one if that cannot be read.
func NewReader(r prometheus.Registerer) *Reader { return &Reader{gatherer(r), map[string]bool{}} }

// Read returns the count of each unit, or an error if the registry can't be read. A
// vector has no series before its first increment, so a metric that never had one counts 0.
// The count of a metric that had series and has none now is unknown, because it may come back
// with another value.
func (r *Reader) Read(units []string) (loop.Answers, error) {
	families, err := r.from.Gather()
	if err != nil {
		// The families may lack series, so that the sum would be too small.
		return nil, fmt.Errorf("the Prometheus registry could not be read in full: %w", err)
	}
	list := loop.Answers{}
	for _, text := range units {
		u, ok := unit.ParseWork(text)
		switch f := family(families, u.Name); {
		case !ok: // the budget's own error says so
		case f != nil:
			list[text], r.had[u.Name] = count(f, u), true
		case r.had[u.Name]:
			list[text] = loop.Answer{Why: fmt.Sprintf("the metric %s no longer has series", u.Name)}
		case u.By != "":
			list[text] = loop.Answer{By: map[string]float64{}}
		default:
			list[text] = loop.Answer{}
		}
	}
	return list, nil
}

// count adds up the series of a family that have the labels of a unit, or those of each value of a label.
func count(f *dto.MetricFamily, u unit.Work) loop.Answer {
	switch t := f.GetType(); {
	case t != dto.MetricType_COUNTER && t != dto.MetricType_HISTOGRAM && t != dto.MetricType_SUMMARY:
		return loop.Answer{Why: fmt.Sprintf("%s is a %s, not a counter, histogram or summary", f.GetName(), strings.ToLower(t.String()))}
	case u.By != "":
		return byLabel(f, u)
	}
	return sum(f, u)
}

// sum adds up the series that have the labels of a unit. A label that no series has is a mistake.
func sum(f *dto.MetricFamily, u unit.Work) (a loop.Answer) {
	known := len(f.GetMetric()) == 0
	for _, m := range f.GetMetric() {
		has, equal := hasLabels(m, u.Labels)
		if known = known || has; equal {
			a.N += countOf(m)
		}
	}
	if !known {
		a.Why = "no series of " + u.Name + " has these labels; the first has:"
		for _, l := range f.GetMetric()[0].GetLabel() {
			a.Why += " " + l.GetName()
		}
	}
	return a
}

// countOf is the count of a series.
func countOf(m *dto.Metric) float64 {
	switch h := m.GetHistogram(); {
	case h != nil:
		return cmp.Or(h.GetSampleCountFloat(), float64(h.GetSampleCount())) // a native one may count in fractions
	case m.GetSummary() != nil:
		return float64(m.GetSummary().GetSampleCount())
	}
	return m.GetCounter().GetValue()
}

// byLabel adds up the series of each value of a label, of those with the largest counts: a client may choose values.
func byLabel(f *dto.MetricFamily, u unit.Work) loop.Answer {
	sums := map[string]float64{}
	for _, m := range f.GetMetric() {
		if _, equal := hasLabels(m, u.Labels); equal {
			if value, has := labelOf(m, u.By); has {
				sums[value] += countOf(m)
			}
		}
	}
	if len(sums) == 0 {
		return loop.Answer{Why: "no series of " + u.Name + " has the label " + u.By + ": say which one has the values, as in \"per " + u.Name + " by handler\""}
	}
	return loop.Answer{By: charge.Largest(sums)}
}

// labelOf is the value of a label of a series.
func labelOf(m *dto.Metric, name string) (value string, has bool) {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue(), true
		}
	}
	return "", false
}

// hasLabels reports whether a series has all labels, and with the same values.
func hasLabels(m *dto.Metric, labels map[string]string) (has, equal bool) {
	found, same := 0, 0
	for _, l := range m.GetLabel() {
		if want, ok := labels[l.GetName()]; ok {
			if found++; want == l.GetValue() {
				same++
			}
		}
	}
	return found == len(labels), same == len(labels)
}

// family is the family with a name, or nil. A histogram or a summary is found by its own name
// and by that of its _count series.
func family(families []*dto.MetricFamily, name string) *dto.MetricFamily {
	for _, f := range families {
		t := f.GetType()
		if f.GetName() == name || (t == dto.MetricType_HISTOGRAM || t == dto.MetricType_SUMMARY) && f.GetName()+"_count" == name {
			return f
		}
	}
	return nil
}

// Uncounted are those units that nobody counts, each with the reason. A metric that is registered may get its first
// series later.
func Uncounted(r prometheus.Registerer, units []string) (why map[string]string, err error) {
	g := gatherer(r)
	empty := described(g)
	families, err := g.Gather()
	if err != nil {
		return nil, err
	}
	for _, f := range families {
		delete(empty, f.GetName())
	}
	why = map[string]string{}
	for _, text := range units {
		u, ok := unit.ParseWork(text)
		because := "it does not exist"
		if f := family(families, u.Name); f != nil {
			of := unit.Work{Name: u.Name}
			if len(f.GetMetric()) > 0 {
				of.By = u.By
			}
			because = count(f, of).Why
		} else if empty[u.Name] || empty[strings.TrimSuffix(u.Name, "_count")] {
			because = ""
		}
		if ok && because != "" {
			why[text] = because
		}
	}
	return why, nil
}

// described are the metrics of a registry, also vectors that have no series yet, of which it is
// not known whether they count.
func described(g prometheus.Gatherer) map[string]bool {
	names := map[string]bool{}
	c, ok := g.(prometheus.Collector)
	if !ok {
		return names
	}
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs) // also if Describe ends the goroutine
		_ = foreign.Call(func() error { c.Describe(descs); return nil })
	}()
	for d := range descs {
		if d != nil {
			var name string
			_, _ = fmt.Sscanf(d.String(), "Desc{fqName: %q", &name) // it shows its name only in this text
			names[name] = true
		}
	}
	return names
}
