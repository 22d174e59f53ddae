package guard

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/profiler"
)

// maxSeries bounds the budgets that have series of their own; the others are in
// Status and on the page only. A hundred budgets are twelve hundred
// series, about what a Prometheus expects of one process.
const maxSeries = 100

var (
	descState    = desc("budget_state", "State of the budget: 0 inactive, 1 pending, 2 firing, 3 resolved.", "budget")
	descValue    = desc("budget_value", "What the last window measured, in the unit of the limit (ratio, cores, seconds, bytes, count).", "budget", "unit")
	descLow      = desc("budget_low", "Lower bound of the value.", "budget", "unit")
	descHigh     = desc("budget_high", "Upper bound of the value.", "budget", "unit")
	descLimit    = desc("budget_limit", "The declared limit.", "budget", "unit")
	descDecided  = desc("budget_decided", "1 once the windows together have said that the budget is kept or broken, whatever each by itself can say.", "budget")
	descOffender = desc("budget_offender_info", "1 while the budget fires: the function that its last event named, and the nearest call in the own module, each with its file and line.", "budget", "function", "file", "blame_function", "blame_file")
	descVacuous  = desc("budget_vacuous", "1 while the budget tells nothing: no function that is linked matches it, or no sample was ever within it.", "budget")
	descVerdicts = desc("verdicts_total", "Windows by verdict.", "budget", "verdict")
	descSamples  = desc("samples_total", "Samples that the budget's verdicts rest on. Hits divided by samples is the share, over any time and any number of processes.", "budget")
	descHits     = desc("hits_total", "Samples charged to the budget.", "budget")
	descWindows  = desc("windows_total", "Windows by outcome: ok, or what they were lost to.", "outcome")
	descGood     = desc("last_window_timestamp_seconds", "When the last good window ended.")
	descPaused   = desc("paused", "1 while the guard rests because it cost too much.")
	descCPU      = desc("cpu_seconds_total", "CPU that the guard has cost, profiling included.")
	descDumps    = desc("dumps_total", "Dumps by result: saved, dropped, or why they failed.", "result")
	descDropped  = desc("events_dropped_total", "Events lost because a sink had no time for them.", "sink")
	descPanics   = desc("panics_total", "Panics recovered, by part of the guard.", "part")
)

// descs are all of them.
var descs []*prometheus.Desc

func desc(name, help string, labels ...string) *prometheus.Desc {
	descs = append(descs, prometheus.NewDesc("profguard_"+name, help, labels, nil))
	return descs[len(descs)-1]
}

// Describe implements [prometheus.Collector].
func (g *Guard) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range descs {
		ch <- d
	}
}

// Collect implements [prometheus.Collector]. It reads the latest status and
// never waits for the guard.
func (g *Guard) Collect(ch chan<- prometheus.Metric) {
	if g == nil {
		return
	}
	// The registry may wrap this collector, and a panic in one that is wrapped
	// ends the process.
	if err := recovered(func() { g.collect(ch) }); err != nil {
		g.notePanic("metrics")
	}
}

// A collector is what a registry gets of a guard. Of a value that becomes an interface,
// the linker keeps the methods of its type and of the types of all its fields, and of a
// Guard that would be almost everything.
type collector struct {
	collect func(ch chan<- prometheus.Metric)
}

func (*collector) Describe(ch chan<- *prometheus.Desc)   { (*Guard)(nil).Describe(ch) }
func (c *collector) Collect(ch chan<- prometheus.Metric) { c.collect(ch) }

func (g *Guard) collect(ch chan<- prometheus.Metric) {
	s := g.Status()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	seen := map[string]bool{}
	for _, b := range s.Budgets[:min(len(s.Budgets), maxSeries)] {
		// Two series of one name would cost the host its whole scrape.
		name, unit := clean(b.Name), b.Result.Unit
		for n := 2; seen[name]; n++ {
			name = fmt.Sprintf("%s (%d)", clean(b.Name), n)
		}
		seen[name] = true
		gauge(descState, float64(stateNumber(b.State)), name)
		if measured(b.Result) {
			gauge(descValue, b.Result.Share, name, unit)
			gauge(descLow, b.Result.Low, name, unit)
			gauge(descHigh, b.Result.High, name, unit)
		}
		if b.Result.Limit > 0 {
			gauge(descLimit, b.Result.Limit, name, unit)
		}
		gauge(descDecided, number01(b.Proven != budget.Inconclusive), name)
		if o := b.Offender; o != nil {
			gauge(descOffender, 1, name, clean(o.Function), clean(place(o.Frame)), clean(o.Blame.Function), clean(place(o.Blame)))
		}
		gauge(descVacuous, number01(b.Warning != ""), name)
		for _, v := range []budget.Verdict{budget.Pass, budget.Fail, budget.Inconclusive} {
			m := prometheus.MustNewConstMetric(descVerdicts, prometheus.CounterValue, float64(b.Verdicts[v.String()]), name, v.String())
			if v == budget.Fail && b.Dump != "" {
				m = withExemplar(m, b)
			}
			ch <- m
		}
		counter(descSamples, float64(b.Samples), name)
		counter(descHits, float64(b.Hits), name)
	}
	g.beginAtZero(s)
	for _, outcome := range slices.Sorted(maps.Keys(s.Windows)) {
		counter(descWindows, float64(s.Windows[outcome]), outcome)
	}
	if !s.Good.IsZero() {
		gauge(descGood, float64(s.Good.UnixMilli())/1000)
	}
	gauge(descPaused, number01(s.State == statePaused))
	counter(descCPU, s.CPU.Seconds())
	byLabel := func(d *prometheus.Desc, counts map[string]int64) {
		for _, label := range slices.Sorted(maps.Keys(counts)) {
			counter(d, float64(counts[label]), label)
		}
	}
	byLabel(descDumps, s.Dumps)
	byLabel(descDropped, s.Dropped)
	byLabel(descPanics, s.Panics)
}

// beginAtZero adds to the status, which is a copy, what has not happened yet: of a
// counter that begins with one, Prometheus does not see the increase.
func (g *Guard) beginAtZero(s Status) {
	if s.Windows == nil {
		return // it was never started
	}
	for _, o := range profiler.Outcomes() {
		s.Windows[label(o.String())] += 0
	}
	if g.cfg.DumpDir == "" {
		return
	}
	for _, result := range append(dumps.Reasons(), "saved", tooSoon) {
		s.Dumps[result] += 0
	}
}

// number01 is a gauge's way to say yes or no.
func number01(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// measured reports whether a result has a value: a window that was lost, or too
// idle to judge, has none, and zero would be wrong.
func measured(r budget.Result) bool {
	return r.Verdict != budget.Inconclusive || r.Samples > 0 || r.Share != 0
}

// withExemplar points from a count of failing windows to the profile of one.
func withExemplar(m prometheus.Metric, b BudgetStatus) prometheus.Metric {
	e, err := prometheus.NewMetricWithExemplars(m, prometheus.Exemplar{
		Value:     1,
		Labels:    prometheus.Labels{"dump": b.Dump}, // an exemplar holds 128 characters, an id and this label have 107 at the most
		Timestamp: b.Dumped,
	})
	if err != nil {
		return m
	}
	return e
}

// clean makes a label of a name: valid UTF-8, bounded.
func clean(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	return strings.ToValidUTF8(name[:min(len(name), 200)], "") // not the half of a character
}

func stateNumber(state string) int {
	return slices.Index([]string{"inactive", "pending", "firing", "resolved"}, state)
}
