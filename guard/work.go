package guard

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/spelling"
	"github.com/profguard/profguard/internal/unit"
)

// callTimeout is how long the counters of the host may take. They are meant to be
// atomic loads.
const callTimeout = 100 * time.Millisecond

// gatherTimeout is the same for a registry, which calls all collectors of the host. To
// gather a series takes some microseconds (go test -run - -bench Registry ./guard).
const gatherTimeout = time.Second

// workCounters reads what the host counts: its Work functions, and its Prometheus
// registry, which is gathered only while some budget has a unit of it ("per
// http_requests_total"). They are somebody else's code, so each is called on a goroutine of
// its own, with a bound.
type workCounters struct {
	counters []*counter
	registry *counter // the last of them
}

// A counter is one of them. One that hangs is not called again before it has
// returned.
type counter struct {
	units []string // what it is asked for
	label string   // what messages call the counter of a unit
	read  func(units []string) []answer
	bound time.Duration
	busy  atomic.Bool  // a call has not returned
	cost  atomic.Int64 // of its calls since spent, in nanoseconds: how long they took
}

// An answer is a number, or why there is none.
type answer struct {
	n     float64
	why   string // "" if there is one
	label string // of the counter
}

// Readings are what all counters said at one moment.
type readings map[string]answer

func newWorkCounters(read map[string]func() float64, r prometheus.Registerer) *workCounters {
	w := new(workCounters)
	for name, f := range read {
		w.counters = append(w.counters, &counter{
			units: []string{name}, bound: callTimeout,
			label: "Work[%q]",
			read:  func([]string) []answer { return []answer{{n: f()}} },
		})
	}
	seen := map[string]bool{} // by one call at a time
	w.registry = &counter{
		bound: gatherTimeout,
		label: "%s of the Prometheus registry",
		read:  func(units []string) []answer { return readRegistry(registryOf(r), units, seen) },
	}
	w.counters = append(w.counters, w.registry)
	return w
}

// now reads the counters, all at once.
func (w *workCounters) now() readings {
	began := time.Now()
	replies := make([]<-chan []answer, len(w.counters))
	for i, c := range w.counters {
		replies[i] = c.ask()
	}
	r := readings{}
	for i, c := range w.counters {
		answers := []answer{{why: fmt.Sprintf("did not return within %v", c.bound)}} // for all units
		if replies[i] != nil {
			select {
			case answers = <-replies[i]:
			case <-time.After(c.bound - time.Since(began)):
				select {
				case answers = <-replies[i]: // while others were waited for
				default:
				}
			}
		}
		for i, name := range c.units {
			a := answers[min(i, len(answers)-1)]
			if a.why == "" && (math.IsNaN(a.n) || math.IsInf(a.n, 0)) {
				a = answer{why: fmt.Sprintf("returned %v", a.n)}
			}
			a.label = fmt.Sprintf(c.label, name)
			r[name] = a
		}
	}
	return r
}

// spent returns what reading has cost since it was last asked: how long the calls took,
// which is the most that they can have used on the goroutine that makes them.
func (w *workCounters) spent() time.Duration {
	var sum int64
	for _, c := range w.counters {
		sum += c.cost.Swap(0)
	}
	return time.Duration(sum)
}

// ask calls the counter for one answer for each unit, or one for all. The channel is nil
// if an earlier call still hangs, and where there is nothing to ask for.
func (c *counter) ask() <-chan []answer {
	if len(c.units) == 0 || !c.busy.CompareAndSwap(false, true) {
		return nil
	}
	reply := make(chan []answer, 1)
	go c.answer(c.units, reply)
	return reply
}

func (c *counter) answer(units []string, reply chan<- []answer) {
	a := []answer{{why: "ended its goroutine"}}
	began := time.Now()
	defer func() { // also when it did
		c.cost.Add(int64(time.Since(began)))
		c.busy.Store(false)
		reply <- a
	}()
	var read []answer
	if err := call(func() { read = c.read(units) }); err != nil {
		a = []answer{{why: "failed with a " + err.Error()}}
		return
	}
	a = read
}

// between is the work done from one reading to the next, and why there is none of
// some: of a counter that went back what it counted meanwhile is unknown.
func between(before, after readings) (done map[string]float64, why map[string]string) {
	done, why = map[string]float64{}, map[string]string{}
	for name, b := range after {
		a, known := before[name]
		switch {
		case b.why != "":
			why[name] = fmt.Sprintf("%s %s", b.label, b.why)
		case a.why != "":
			why[name] = fmt.Sprintf("%s %s", a.label, a.why)
		case known && (b.n < a.n || math.IsInf(b.n-a.n, 0)):
			why[name] = fmt.Sprintf("%s went from %.15g to %.15g: that is no growth that can be counted", b.label, a.n, b.n)
		case known:
			done[name] = b.n - a.n
		}
	}
	return done, why
}

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
	has := contents{families: families}
	list := make([]answer, len(units))
	for i, text := range units {
		u, _ := unit.ParseWork(text) // the budget is valid
		switch f := has.family(u.Name); {
		case f != nil:
			list[i], seen[text] = sum(f, u), true
		case seen[text]:
			list[i].why = "is not in the registry any more"
		}
	}
	return list
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

// unlabelled says which label of a unit no series of a family has, "" for none, and where
// there are no series yet.
func unlabelled(f *dto.MetricFamily, u unit.Work) (why string) {
	has := map[string]bool{}
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			has[l.GetName()] = true
		}
	}
	for _, label := range slices.Sorted(maps.Keys(u.Labels)) {
		if len(f.GetMetric()) > 0 && !has[label] {
			return fmt.Sprintf("has no label %s; its labels: %s", label, cmp.Or(strings.Join(slices.Sorted(maps.Keys(has)), ", "), "none"))
		}
	}
	return ""
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

// A contents is what a registry has: metrics with series, and the names of others. With an
// error there may be more.
type contents struct {
	families  []*dto.MetricFamily
	described []string
	err       error
}

// checkUnits reports the units of work that nobody counts, with the name near each.
func checkUnits(set budget.Set, work map[string]func() float64, r prometheus.Registerer, wrong func(format string, args ...any)) {
	units := registryUnits(set, work)
	if len(units) == 0 {
		return
	}
	reply := make(chan contents, 1)
	go func() {
		var has contents
		if err := call(func() { has = contentsOf(registryOf(r)) }); err != nil {
			has.err = err
		}
		reply <- has
	}()
	has := contents{err: fmt.Errorf("the Prometheus registry has not answered within %v", registryPatience)}
	select {
	case has = <-reply:
	case <-time.After(registryPatience):
	}
	for _, text := range units {
		u, ok := unit.ParseWork(text)
		if !ok {
			continue // the budget is wrong, and its own error says so
		}
		switch f := has.family(u.Name); {
		case f != nil:
			if why := cmp.Or(sum(f, u).why, unlabelled(f, u)); why != "" {
				wrong("Budgets: %q of the Prometheus registry %s", text, why)
			}
		case has.err != nil:
			wrong("Budgets: %q is counted by no Work, and the Prometheus registry cannot be read in full: %w", text, has.err)
		case !slices.Contains(has.described, u.Name):
			wrong("Budgets: nobody counts %q: expected Work[%q], or a counter of that name in the Prometheus registry before Start%s",
				text, text, nearUnit(u.Name, slices.AppendSeq(has.names(), maps.Keys(work))))
		}
	}
}

// contentsOf reads a registry. A vector without series is not gathered; its description
// has its name.
func contentsOf(g prometheus.Gatherer) (has contents) {
	if c, ok := g.(prometheus.Collector); ok {
		descs := make(chan *prometheus.Desc)
		go func() {
			defer close(descs)
			_ = call(func() { c.Describe(descs) })
		}()
		for d := range descs {
			// A Desc has no other way to tell its name, which is in quotes.
			if parts := strings.SplitN(d.String(), `"`, 3); len(parts) == 3 {
				has.described = append(has.described, parts[1])
			}
		}
	}
	has.families, has.err = g.Gather()
	return has
}

// family is the one that counts a name, nil for none. A histogram and a summary count under
// their own name and under that of their series.
func (c contents) family(name string) *dto.MetricFamily {
	for _, f := range c.families {
		t := f.GetType()
		if f.GetName() == name || (t == dto.MetricType_HISTOGRAM || t == dto.MetricType_SUMMARY) && f.GetName()+"_count" == name {
			return f
		}
	}
	return nil
}

// names are all that the registry is known to count.
func (c contents) names() []string {
	names := slices.Clone(c.described)
	for _, f := range c.families {
		if sum(f, unit.Work{}).why == "" {
			names = append(names, f.GetName())
		}
	}
	return names
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
