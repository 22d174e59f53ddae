package guard

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/profguard/profguard/internal/foreign"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/spelling"
	"github.com/profguard/profguard/internal/unit"
	"github.com/profguard/profguard/internal/work"
)

// gatherer is the registry of the guard's metrics, or the default one if that cannot be read.
func gatherer(r prometheus.Registerer) prometheus.Gatherer {
	if g, ok := r.(prometheus.Gatherer); ok {
		return g
	}
	return prometheus.DefaultGatherer
}

// registryReader reads the registry of the guard's metrics for the loop.
func registryReader(r prometheus.Registerer) func(units []string) (loop.Readings, error) {
	g, had := gatherer(r), map[string]bool{}
	return func(units []string) (loop.Readings, error) { return readRegistry(g, units, had) }
}

// readRegistry returns the count of each unit, or an error if the registry can't be read. A
// vector has no series before its first increment, so a metric that never had one counts 0.
// The count of a metric that had series and has none now is unknown, because it may come back
// with another value. had are the names of the metrics that have had series.
func readRegistry(g prometheus.Gatherer, units []string, had map[string]bool) (loop.Readings, error) {
	families, err := g.Gather()
	if err != nil {
		// The families may lack series, so that the sum would be too small.
		return nil, fmt.Errorf("the Prometheus registry could not be read in full: %w", err)
	}
	r := loop.Readings{}
	for _, text := range units {
		u, ok := unit.ParseWork(text)
		switch f := family(families, u.Name); {
		case !ok: // the budget's own error says so
		case f != nil:
			r[text], had[u.Name] = sum(f, u), true
		case had[u.Name]:
			r[text] = loop.Answer{Why: fmt.Sprintf("the metric %s no longer has series", u.Name)}
		default:
			r[text] = loop.Answer{}
		}
	}
	return r, nil
}

// sum adds up the series of a family that have the labels of a unit. A label that no series has
// is a mistake.
func sum(f *dto.MetricFamily, u unit.Work) loop.Answer {
	var a loop.Answer
	known := len(f.GetMetric()) == 0
	for _, m := range f.GetMetric() {
		has, equal := hasLabels(m, u.Labels)
		if known = known || has; !equal {
			continue
		}
		switch f.GetType() {
		case dto.MetricType_COUNTER:
			a.N += m.GetCounter().GetValue()
		case dto.MetricType_HISTOGRAM:
			// A native histogram may count in fractions.
			a.N += cmp.Or(m.GetHistogram().GetSampleCountFloat(), float64(m.GetHistogram().GetSampleCount()))
		case dto.MetricType_SUMMARY:
			a.N += float64(m.GetSummary().GetSampleCount())
		default:
			return loop.Answer{Why: fmt.Sprintf("%s is a %s, not a counter, histogram or summary", u.Name, strings.ToLower(f.GetType().String()))}
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

// checkUnits reports the units of work that nobody counts. A registry that cannot be read now
// is no mistake: the loop reports it. asking is set while the registry is read, which may hang.
func (c *Config) checkUnits(asking *atomic.Bool, m *mistakes) {
	units := loop.RegistryUnits(c.Budgets, c.Work)
	if len(units) == 0 || !asking.CompareAndSwap(false, true) {
		return
	}
	var families []*dto.MetricFamily
	var empty map[string]bool
	err := foreign.Within(loop.GatherTimeout, func() (err error) {
		defer asking.Store(false)
		g := gatherer(c.Registerer)
		empty = described(g)
		families, err = g.Gather()
		return err
	})
	if err != nil {
		return
	}
	counting := slices.Collect(maps.Keys(c.Work))
	for _, f := range families {
		delete(empty, f.GetName())
		if sum(f, unit.Work{}).Why == "" {
			counting = append(counting, f.GetName())
		}
	}
	counting = slices.AppendSeq(counting, maps.Keys(empty))
	slices.Sort(counting)
	for _, text := range units {
		u, ok := unit.ParseWork(text)
		why := "it does not exist"
		if f := family(families, u.Name); f != nil {
			why = sum(f, unit.Work{Name: u.Name}).Why
		} else if empty[u.Name] || empty[strings.TrimSuffix(u.Name, "_count")] {
			why = ""
		}
		m.when(ok && why != "", "Budgets: nobody counts %q: %s: expected Work[%[1]q], or a counter of that name in the Prometheus registry before Start%[3]s",
			text, why, meant(u.Name, counting))
	}
}

// meant is advice about a unit that nobody counts, by those that are counted.
func meant(name string, counting []string) string {
	near := spelling.Nearest(name, max(2, len(name)/3), counting)
	if i := slices.IndexFunc(counting, func(n string) bool { return strings.Contains(n, name) }); near == "" && i >= 0 {
		near = counting[i]
	}
	switch {
	case near != "":
		return "; did you mean " + near + "?"
	case name == work.Call:
		return "; calls are counted by Check, in a test"
	}
	return ""
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
