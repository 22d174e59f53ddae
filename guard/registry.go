package guard

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/spelling"
	"github.com/profguard/profguard/internal/unit"
)

// A budget "per http_requests_total" divides by a counter that the service has in its
// Prometheus registry. The registry is gathered at both ends of a window, and only
// while some budget has such a unit.

// registryOf is the registry that units of work are read from: the one that the guard's
// metrics go to, or the default one where that cannot be read.
func registryOf(r prometheus.Registerer) prometheus.Gatherer {
	if g, ok := r.(prometheus.Gatherer); ok {
		return g
	}
	return prometheus.DefaultGatherer
}

// registryUnits are the units of work of budgets that Work does not count.
func registryUnits(set budget.Set, work map[string]func() float64) []string {
	units := map[string]bool{}
	for _, b := range set {
		if _, counted := work[b.Per]; b.Per != "" && !counted {
			units[b.Per] = true
		}
	}
	return slices.Sorted(maps.Keys(units))
}

// readRegistry returns what the registry has counted of each unit, or one answer that
// says why that is not known. A counter without series has counted nothing yet, unless it
// had series before: seen has those that had.
func readRegistry(g prometheus.Gatherer, units []string, seen map[string]bool) []answer {
	families, err := g.Gather()
	if err != nil {
		// What there is nevertheless may lack series, and would count too little.
		return []answer{{why: fmt.Sprintf("could not be read in full: %v", err)}}
	}
	list := make([]answer, len(units))
	for i, text := range units {
		u, _ := unit.ParseWork(text) // the budget is valid
		at := slices.IndexFunc(families, func(f *dto.MetricFamily) bool { return counts(f, u.Name) })
		switch {
		case at >= 0:
			list[i], seen[text] = sum(families[at], u), true
		case seen[text]:
			list[i].why = "is not in the registry any more"
		}
	}
	return list
}

// counts reports whether a unit is a family's name. A histogram and a summary count
// under their own name and under that of their series.
func counts(f *dto.MetricFamily, name string) bool {
	if t := f.GetType(); t == dto.MetricType_HISTOGRAM || t == dto.MetricType_SUMMARY {
		if f.GetName() == strings.TrimSuffix(name, "_count") {
			return true
		}
	}
	return f.GetName() == name
}

// sum adds up the series of a family that have the labels of a unit.
func sum(f *dto.MetricFamily, u unit.Work) answer {
	var a answer
	for _, m := range f.GetMetric() {
		if !hasLabels(m, u.Labels) {
			continue
		}
		switch f.GetType() {
		case dto.MetricType_COUNTER:
			a.n += m.GetCounter().GetValue()
		case dto.MetricType_HISTOGRAM:
			// A native histogram may count in fractions.
			a.n += cmp.Or(m.GetHistogram().GetSampleCountFloat(), float64(m.GetHistogram().GetSampleCount()))
		case dto.MetricType_SUMMARY:
			a.n += float64(m.GetSummary().GetSampleCount())
		default:
			return answer{why: fmt.Sprintf("is a %s and no counter, histogram or summary", strings.ToLower(f.GetType().String()))}
		}
	}
	return a
}

func hasLabels(m *dto.Metric, labels map[string]string) bool {
	found := 0
	for _, l := range m.GetLabel() {
		if want, ok := labels[l.GetName()]; ok && want == l.GetValue() {
			found++
		}
	}
	return found == len(labels)
}

// registryPatience is how long a registry may take to say what it has, when budgets are
// set. It calls the collectors of the host, which may hang.
const registryPatience = 5 * time.Second

// checkUnits reports the units of work that nobody counts, with the name near each.
func checkUnits(set budget.Set, work map[string]func() float64, r prometheus.Registerer, wrong func(format string, args ...any)) {
	units := registryUnits(set, work)
	if len(units) == 0 {
		return
	}
	type names struct {
		all map[string]string // what is wrong with a name, "" if nothing is
		err error             // why there may be more
	}
	reply := make(chan names, 1)
	go func() {
		var n names
		if err := call(func() { n.all, n.err = registryNames(registryOf(r)) }); err != nil {
			n.err = err
		}
		reply <- n
	}()
	timer := time.NewTimer(registryPatience)
	defer timer.Stop()
	n := names{err: fmt.Errorf("the Prometheus registry has not answered within %v", registryPatience)}
	select {
	case n = <-reply:
	case <-timer.C:
	}
	for _, text := range units {
		u, ok := unit.ParseWork(text)
		if !ok {
			continue // the budget is wrong, and its own error says so
		}
		why, known := n.all[u.Name]
		switch {
		case !known && n.err != nil:
			wrong("Budgets: %q is counted by no Work, and the Prometheus registry cannot be read in full: %w", text, n.err)
		case !known:
			wrong("Budgets: nobody counts %q: expected Work[%q], or a counter of that name in the Prometheus registry before Start%s",
				text, text, nearUnit(u.Name, slices.Concat(slices.Collect(maps.Keys(work)), slices.Collect(maps.Keys(n.all)))))
		case why != "":
			wrong("Budgets: %q of the Prometheus registry %s", text, why)
		}
	}
}

// registryNames are the names of a registry's counters, histograms and summaries, and
// those of other metrics with what is wrong with them as a unit of work. A vector without
// series is not gathered; its description has its name. With an error there may be more.
func registryNames(g prometheus.Gatherer) (map[string]string, error) {
	names := map[string]string{}
	if c, ok := g.(prometheus.Collector); ok {
		descs := make(chan *prometheus.Desc)
		go func() {
			defer close(descs)
			_ = call(func() { c.Describe(descs) })
		}()
		for d := range descs {
			// A Desc has no other way to tell its name, which is in quotes.
			if parts := strings.SplitN(d.String(), `"`, 3); len(parts) == 3 {
				names[parts[1]] = ""
			}
		}
	}
	families, err := g.Gather()
	for _, f := range families {
		names[f.GetName()] = sum(f, unit.Work{}).why
		if t := f.GetType(); t == dto.MetricType_HISTOGRAM || t == dto.MetricType_SUMMARY {
			names[f.GetName()+"_count"] = ""
		}
	}
	return names, err
}

// nearUnit names the unit that is most like one, or holds it, "" without any.
func nearUnit(name string, names []string) string {
	best, least := "", max(2, len(name)/3)+1
	for _, n := range names {
		d := spelling.Distance(name, n)
		if strings.Contains(n, name) {
			d = min(d, 2)
		}
		if d < least || d == least && n < best {
			best, least = n, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}
