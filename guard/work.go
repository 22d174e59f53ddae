package guard

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/spelling"
	"github.com/profguard/profguard/internal/unit"
	"github.com/profguard/profguard/internal/work"
)

// callTimeout is how long a Work function may take. It should be an atomic load.
const callTimeout = 100 * time.Millisecond

// gatherTimeout is how long a registry may take, which calls all collectors of the host. To
// gather a series takes some microseconds (go test -run - -bench Registry ./guard).
const gatherTimeout = time.Second

// workCounters reads the counters of the host: its Work functions, and its Prometheus
// registry, which is gathered only while a budget has a unit of it ("per
// http_requests_total").
type workCounters struct {
	sources  []*source
	registry *source // the last of them
}

// A source is a Work function, or the registry. While a call hangs, there is no other one.
type source struct {
	units []string // to read
	read  func(units []string) (readings, error)
	bound time.Duration
	busy  atomic.Bool // a call has not returned
}

// An answer is a number, or the reason why there is none.
type answer struct {
	n   float64
	why string // "" if there is a number
}

// Readings are the answers of all sources at one moment.
type readings map[string]answer

func newWorkCounters(read map[string]func() float64, r prometheus.Registerer) *workCounters {
	w := new(workCounters)
	for name, f := range read {
		w.sources = append(w.sources, &source{
			units: []string{name}, bound: callTimeout,
			read: func([]string) (readings, error) { return readings{name: {n: f()}}, nil },
		})
	}
	g, had := gatherer(r), map[string]bool{}
	w.registry = &source{bound: gatherTimeout, read: func(units []string) (readings, error) { return readRegistry(g, units, had) }}
	w.sources = append(w.sources, w.registry)
	return w
}

// gatherer is the registry of the guard's metrics, or the default one if that cannot be read.
func gatherer(r prometheus.Registerer) prometheus.Gatherer {
	if g, ok := r.(prometheus.Gatherer); ok {
		return g
	}
	return prometheus.DefaultGatherer
}

// now asks all sources at once, so that one that hangs does not make the others late.
func (w *workCounters) now() readings {
	replies := make([]readings, len(w.sources))
	var calls sync.WaitGroup
	for i, c := range w.sources {
		calls.Go(func() { replies[i] = c.ask() })
	}
	calls.Wait()
	r := readings{}
	for _, reply := range replies {
		maps.Copy(r, reply)
	}
	return r
}

// ask calls the source for an answer for each unit.
func (c *source) ask() readings {
	if len(c.units) == 0 {
		return nil
	}
	var list readings
	err := errors.New("an earlier call has not returned")
	if c.busy.CompareAndSwap(false, true) {
		units := c.units // which change while a call hangs
		err = foreign(c.bound, func() (err error) {
			defer c.busy.Store(false)
			list, err = c.read(units)
			return err
		})
	}
	if err == nil {
		return list
	}
	failed := readings{}
	for _, name := range c.units {
		failed[name] = answer{why: fmt.Sprintf("the counter of %s: %v", name, err)}
	}
	return failed
}

// between is the work from one reading to the next, and the reasons why it is not known for
// some units: if a counter has decreased, for example.
func between(before, after readings) (done map[string]float64, why map[string]string) {
	done, why = map[string]float64{}, map[string]string{}
	for name, b := range after {
		a, known := before[name]
		switch grown := b.n - a.n; {
		case b.why != "" || a.why != "":
			why[name] = cmp.Or(b.why, a.why)
		case known && !(grown >= 0 && grown <= math.MaxFloat64): // also without numbers
			why[name] = fmt.Sprintf("the counter of %s went from %.15g to %.15g: that is no growth that can be counted", name, a.n, b.n)
		case known:
			done[name] = grown
		}
	}
	return done, why
}

// registryUnits are the units of work of budgets that have no Work function.
func registryUnits(set budget.Set, read map[string]func() float64) []string {
	units := map[string]bool{}
	for _, b := range set {
		if _, counted := read[b.Per]; b.Per != "" && !counted {
			units[b.Per] = true
		}
	}
	return slices.Sorted(maps.Keys(units))
}

// readRegistry returns the count of each unit, or an error if the registry can't be read. A
// vector has no series before its first increment, so a metric that never had one counts 0.
// The count of a metric that had series and has none now is unknown, because it may come back
// with another value. had are the names of the metrics that have had series.
func readRegistry(g prometheus.Gatherer, units []string, had map[string]bool) (readings, error) {
	families, err := g.Gather()
	if err != nil {
		// The families may lack series, so that the sum would be too small.
		return nil, fmt.Errorf("the Prometheus registry could not be read in full: %w", err)
	}
	r := readings{}
	for _, text := range units {
		u, ok := unit.ParseWork(text)
		switch f := family(families, u.Name); {
		case !ok: // the budget's own error says so
		case f != nil:
			r[text], had[u.Name] = sum(f, u), true
		case had[u.Name]:
			r[text] = answer{why: fmt.Sprintf("the metric %s no longer has series", u.Name)}
		default:
			r[text] = answer{}
		}
	}
	return r, nil
}

// sum adds up the series of a family that have the labels of a unit. A label that no series has
// is a mistake.
func sum(f *dto.MetricFamily, u unit.Work) answer {
	var a answer
	known := len(f.GetMetric()) == 0
	for _, m := range f.GetMetric() {
		has, equal := hasLabels(m, u.Labels)
		if known = known || has; !equal {
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
			return answer{why: fmt.Sprintf("%s is a %s, not a counter, histogram or summary", u.Name, strings.ToLower(f.GetType().String()))}
		}
	}
	if !known {
		a.why = "no series of " + u.Name + " has these labels; the first has:"
		for _, l := range f.GetMetric()[0].GetLabel() {
			a.why += " " + l.GetName()
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
func (c *Config) checkUnits(asking *atomic.Bool, wrong func(format string, args ...any)) {
	units := registryUnits(c.Budgets, c.Work)
	if len(units) == 0 || !asking.CompareAndSwap(false, true) {
		return
	}
	var families []*dto.MetricFamily
	var empty map[string]bool
	err := foreign(gatherTimeout, func() (err error) {
		defer asking.Store(false)
		g := gatherer(c.Registerer)
		empty = described(g)
		families, err = g.Gather()
		return err
	})
	if err != nil {
		return
	}
	for _, f := range families {
		delete(empty, f.GetName())
	}
	counting := slices.Concat(slices.Collect(maps.Keys(c.Work)), slices.Collect(maps.Keys(empty)))
	for _, f := range families {
		if sum(f, unit.Work{}).why == "" {
			counting = append(counting, f.GetName())
		}
	}
	slices.Sort(counting)
	for _, text := range units {
		u, ok := unit.ParseWork(text)
		why := "it does not exist"
		if f := family(families, u.Name); f != nil {
			why = sum(f, unit.Work{Name: u.Name}).why
		} else if empty[u.Name] || empty[strings.TrimSuffix(u.Name, "_count")] {
			why = ""
		}
		if !ok || why == "" {
			continue
		}
		advice := ""
		near := spelling.Nearest(u.Name, max(2, len(u.Name)/3), counting)
		if i := slices.IndexFunc(counting, func(n string) bool { return strings.Contains(n, u.Name) }); near == "" && i >= 0 {
			near = counting[i]
		}
		switch {
		case near != "":
			advice = "; did you mean " + near + "?"
		case u.Name == work.Call:
			advice = "; calls are counted by Check, in a test"
		}
		wrong("Budgets: nobody counts %q: %s: expected Work[%[1]q], or a counter of that name in the Prometheus registry before Start%[3]s", text, why, advice)
	}
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
		_ = call(func() { c.Describe(descs) })
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
