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
	"github.com/profguard/profguard/internal/process"
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
// http_requests_total"). They are code of the host, so each is called on a goroutine of its
// own, with a time limit.
type workCounters struct {
	counters []*counter
	registry *counter // the last of them
}

// A counter is a Work function, or the registry. While a call hangs, there is no other one.
type counter struct {
	units []string // to read
	label string   // the counter of a unit in messages
	read  func(units []string) []answer
	bound time.Duration
	busy  *atomic.Bool // a call has not returned
	cost  atomic.Int64 // of the calls since spent, in nanoseconds
}

// An answer is a number, or the reason why there is none.
type answer struct {
	n       float64
	why     string // "" if there is a number
	mistake bool   // the budget is wrong: there will never be a number
	near    string // a similar name that exists, for a message
	label   string // of the counter
}

// Readings are the answers of all counters at one moment.
type readings map[string]answer

func newWorkCounters(read map[string]func() float64, r prometheus.Registerer) *workCounters {
	w := new(workCounters)
	for name, f := range read {
		w.counters = append(w.counters, &counter{
			units: []string{name}, bound: callTimeout, busy: new(atomic.Bool),
			label: "Work[%q]",
			read:  func([]string) []answer { return []answer{{n: f()}} },
		})
	}
	w.registry = &counter{
		bound: gatherTimeout, busy: new(atomic.Bool),
		label: "%s of the Prometheus registry",
		read:  newRegistryReader(r, read).read,
	}
	w.counters = append(w.counters, w.registry)
	return w
}

// now reads the counters, all at once.
func (w *workCounters) now() readings {
	replies := make([]<-chan []answer, len(w.counters))
	for i, c := range w.counters {
		replies[i] = c.ask()
	}
	r := readings{}
	for i, c := range w.counters {
		answers := <-replies[i]
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

// spent returns the cost of reading since the last call. It is estimated by the duration of the
// calls, of which no more counts than the CPU that the process used meanwhile: a call that
// waits for a lock costs nothing.
func (w *workCounters) spent() time.Duration {
	var sum int64
	for _, c := range w.counters {
		sum += c.cost.Swap(0)
	}
	return time.Duration(sum)
}

// ask calls the counter for one answer for each unit, or one for all. The answer comes within
// the time limit, and at once if an earlier call still hangs.
func (c *counter) ask() <-chan []answer {
	reply := make(chan []answer, 2) // the first one counts: that of the counter, or that it is late
	late := func() { reply <- []answer{{why: fmt.Sprintf("did not return within %v", c.bound)}} }
	switch {
	case len(c.units) == 0:
		reply <- nil
	case !c.busy.CompareAndSwap(false, true):
		late()
	default:
		timer := time.AfterFunc(c.bound, late)
		go func() {
			defer timer.Stop()
			c.answer(c.units, reply)
		}()
	}
	return reply
}

func (c *counter) answer(units []string, reply chan<- []answer) {
	a := []answer{{why: "ended its goroutine"}}
	began, used := time.Now(), process.ProcessCPU()
	defer func() { // also when read ends the goroutine
		c.cost.Add(int64(min(time.Since(began), c.bound, process.ProcessCPU()-used)))
		c.busy.Store(false)
		reply <- a
	}()
	if err := call(func() { a = c.read(units) }); err != nil {
		a = []answer{{why: "failed with a " + err.Error()}}
	}
}

// between is the work from one reading to the next, and the reasons why it is not known for
// some units: if a counter has decreased, for example.
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

// registryUnits are the units of work of budgets that have no Work function.
func registryUnits(set budget.Set, work map[string]func() float64) []string {
	units := map[string]bool{}
	for _, b := range set {
		if _, counted := work[b.Per]; b.Per != "" && !counted {
			units[b.Per] = true
		}
	}
	return slices.Sorted(maps.Keys(units))
}

// A registryReader reads units of work from a registry.
type registryReader struct {
	g     prometheus.Gatherer
	work  map[string]func() float64 // the Work functions
	empty map[string]bool           // by metric: it is a vector that has had no series yet
}

// newRegistryReader reads the registry of the guard's metrics, or the default one if that
// cannot be read.
func newRegistryReader(r prometheus.Registerer, work map[string]func() float64) *registryReader {
	g, ok := r.(prometheus.Gatherer)
	if !ok {
		g = prometheus.DefaultGatherer
	}
	return &registryReader{g: g, work: work, empty: map[string]bool{}}
}

// read returns the count of each unit, or one answer for all if the registry can't be read. A
// vector that never had a series has a count of 0. A metric that had series and has none now
// has no count, because its count does not begin at 0 when it comes back.
func (x *registryReader) read(units []string) []answer {
	families, err := x.g.Gather()
	if err != nil {
		// The families may lack series, so that the sum would be too small.
		return []answer{{why: fmt.Sprintf("could not be read in full: %v", err)}}
	}
	var described map[string]bool
	list := make([]answer, len(units))
	for i, text := range units {
		u, ok := unit.ParseWork(text)
		if !ok { // the budget is wrong, and its own error says so
			continue
		}
		if f := family(families, u.Name); f != nil {
			list[i], x.empty[u.Name] = sum(f, u), false
			continue
		}
		empty, known := x.empty[u.Name]
		if !known { // only once for each name, because all metrics are described
			if described == nil {
				described = describedBy(x.g, families)
			}
			empty = described[u.Name]
			x.empty[u.Name] = empty
		}
		if empty {
			continue
		}
		list[i] = answer{why: "does not exist", mistake: true}
		if !known {
			list[i].near = nearName(u.Name, slices.AppendSeq(slices.Collect(maps.Keys(x.work)), maps.Keys(described)))
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
			return answer{why: fmt.Sprintf("is a %s and no counter, histogram or summary", strings.ToLower(f.GetType().String())), mistake: true}
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

// checkUnits reports the units of work without a counter. A registry that cannot be read now
// is no mistake; the loop reports it. busy is set while the registry is read, and one that is
// busy is not read.
func checkUnits(set budget.Set, read map[string]func() float64, r prometheus.Registerer, busy *atomic.Bool, wrong func(format string, args ...any)) {
	registry := newWorkCounters(read, r).registry
	registry.units, registry.busy = registryUnits(set, read), busy
	found := (&workCounters{counters: []*counter{registry}}).now()
	for _, name := range registry.units {
		if a := found[name]; a.mistake {
			near := a.near
			if near == "" && name == work.Call {
				near = "; calls are counted by Check, in a test"
			}
			wrong("Budgets: nobody counts %q: it %s: expected Work[%[1]q], or a counter of that name in the Prometheus registry before Start%[3]s",
				name, a.why, near)
		}
	}
}

// nearName is a hint at the name that is most similar to a name, or contains it.
func nearName(name string, names []string) string {
	best, least := "", max(2, len(name)/3)+1
	slices.Sort(names)
	for _, n := range names {
		d := spelling.Distance(name, n)
		if strings.Contains(n, name) {
			d = min(d, 2)
		}
		if d < least {
			best, least = n, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// describedBy are the names of a registry's metrics, also of vectors without series, which are
// not gathered, but without metrics that were gathered and are no counters.
func describedBy(g prometheus.Gatherer, gathered []*dto.MetricFamily) map[string]bool {
	names := map[string]bool{}
	c, ok := g.(prometheus.Collector)
	if !ok {
		return names
	}
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		_ = call(func() { c.Describe(descs) })
	}()
	for d := range descs { // a Desc shows its name only in this text
		_, rest, _ := strings.Cut(d.String(), `fqName: "`)
		name, _, _ := strings.Cut(rest, `"`)
		names[name] = true
	}
	for _, f := range gathered {
		if sum(f, unit.Work{}).mistake {
			delete(names, f.GetName())
		}
	}
	return names
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
