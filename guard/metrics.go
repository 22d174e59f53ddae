package guard

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/foreign"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/process"
)

// maxSeries limits the budgets that have series of their own; the others are only in Status
// and on the page. A hundred budgets have twelve hundred series, about as many as a
// Prometheus expects of one process.
const maxSeries = 100

var (
	metricState    = newGauge("budget_state", "State of the budget: -2 no data, -1 undecided, 0 ok (proven to be kept), 1 pending, 2 firing.", "budget")
	metricValue    = newGauge("budget_value", "What the last window measured, in the unit of the limit (ratio, cores, s waited per second, seconds, bytes, count).", "budget", "unit")
	metricLow      = newGauge("budget_low", "Lower bound of the value.", "budget", "unit")
	metricHigh     = newGauge("budget_high", "Upper bound of the value.", "budget", "unit")
	metricLimit    = newGauge("budget_limit", "The declared limit.", "budget", "unit")
	metricOffender = newGauge("budget_offender_info", "1 while the budget fires: the function that its last event named, and the nearest call in the own module, each with its file and line.", "budget", "function", "file", "blame_function", "blame_file")
	metricVacuous  = newGauge("budget_vacuous", "1 while the budget may never fail: no function that is linked matches it, its profile is missing, or there was nothing for it to judge in 60 windows.", "budget")
	metricVerdicts = newCounter("verdicts_total", "Windows by verdict.", "budget", "verdict")
	metricSamples  = newCounter("samples_total", "Samples that the budget's verdicts rest on. Where additive is true, hits divided by samples is the share, over any time and any number of processes.", "budget", "additive")
	metricHits     = newCounter("hits_total", "Samples charged to the budget. Where additive is not true they are no share of a fleet: of the worst function of each window, or to compare with a baseline or an amount.", "budget", "additive")
	metricFunction = newCounter("function_hits_total", "Samples charged to the function, in all windows that are counted.", "function")
	metricCounted  = newCounter("function_samples_total", "Samples of all windows that are counted.")
	metricRest     = newGauge("function_rest_ratio", "The largest share of the last samples that a function without a series of its own can have had.")
	metricSeconds  = newCounter("window_seconds_total", "How long all windows that are counted were.")
	metricWork     = newCounter("window_work_total", "Work done in all windows that are counted.", "unit")
	metricWindows  = newCounter("windows_total", "Windows by outcome: ok, or what they were lost to.", "outcome")
	metricGood     = newGauge("last_window_timestamp_seconds", "When the last good window ended.")
	metricBuild    = newGauge("build_info", "1; which build of the program runs, with the revision of its version control (a hash of the binary where there is none) and the version of Go.", "version", "revision", "goversion")
	metricGrowth   = newGauge("release_growth", "Growth of CPU per unit of work against the build before, as a part (0.03 is 3% more), once it is known.", "unit", "before")
	metricGrowLow  = newGauge("release_growth_low", "Lower bound of it.", "unit", "before")
	metricGrowHigh = newGauge("release_growth_high", "Upper bound of it.", "unit", "before")
	metricPaused   = newGauge("paused", "1 while the guard is paused because it cost too much.")
	metricCPU      = newCounter("cpu_seconds_total", "CPU that the guard has cost, profiling included.")
	metricDumps    = newCounter("dumps_total", "Dumps by result: saved, dropped, too_soon, or why they failed.", "result")
	metricExports  = newCounter("exports_total", "Profiles for Config.Export by result: sent; failed or hung attempts; refused for good; dropped because the queue was full, sending is off, or the guard was stopped (left).", "result")
	metricDropped  = newCounter("events_dropped_total", "Events that a sink did not take.", "sink")
	metricPanics   = newCounter("panics_total", "Panics recovered, by part of the guard.", "part")
)

// A metric is the description of an exported metric, and its type.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

var descs []*prometheus.Desc // of all metrics, for Describe

func newGauge(name, help string, labels ...string) metric {
	descs = append(descs, prometheus.NewDesc("profguard_"+name, help, labels, nil))
	return metric{descs[len(descs)-1], prometheus.GaugeValue}
}

func newCounter(name, help string, labels ...string) metric {
	return metric{newGauge(name, help, labels...).desc, prometheus.CounterValue}
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
	// The registry may wrap this collector, and then a panic would end the process.
	if err := foreign.Recovered(func() error { g.collect(ch); return nil }); err != nil {
		g.notePanic("metrics")
	}
}

// A collector is the value that is registered in the place of a Guard. The linker keeps all
// methods of a type that is converted to an interface, and of the types of its fields. For
// a Guard that would be almost everything.
type collector struct {
	collect func(ch chan<- prometheus.Metric)
}

func (*collector) Describe(ch chan<- *prometheus.Desc)   { (*Guard)(nil).Describe(ch) }
func (c *collector) Collect(ch chan<- prometheus.Metric) { c.collect(ch) }

func (g *Guard) collect(ch chan<- prometheus.Metric) {
	s := g.Status()
	add := func(m metric, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, v, labels...)
	}
	seen := map[string]bool{}
	for i := range s.Budgets[:min(len(s.Budgets), maxSeries)] {
		b := &s.Budgets[i]
		// Two series of one name would cost the host its whole scrape.
		name, r := label(b.Name), &b.Result
		for n := 2; seen[name]; n++ {
			name = fmt.Sprintf("%s (%d)", label(b.Name), n)
		}
		seen[name] = true
		add(metricState, b.State.gauge(), name)
		if b.measured {
			add(metricValue, r.Value, name, r.Unit)
			add(metricLow, r.Low, name, r.Unit)
			add(metricHigh, r.High, name, r.Unit)
		}
		if r.Limit > 0 {
			add(metricLimit, r.Limit, name, r.Unit)
		}
		if o := b.Offender; o != nil {
			file, blamed := (*judge.Frame)(&o.Frame).Place(), (*judge.Frame)(&o.Blame).Place()
			add(metricOffender, 1, name, label(o.Function), label(file), label(o.Blame.Function), label(blamed))
		}
		add(metricVacuous, number01(b.Warning != ""), name)
		for v := budget.Inconclusive; v <= budget.Fail; v++ {
			m := prometheus.MustNewConstMetric(metricVerdicts.desc, prometheus.CounterValue, float64(b.Verdicts[v.String()]), name, v.String())
			if v == budget.Fail && b.Dump != "" {
				// From the count of failing windows to the profile of one. An exemplar holds 128
				// characters, an id and this label have at most 107.
				m = prometheus.MustNewMetricWithExemplars(m, prometheus.Exemplar{Value: 1, Labels: prometheus.Labels{"dump": b.Dump}, Timestamp: b.Dumped})
			}
			ch <- m
		}
		add(metricSamples, float64(b.Samples), name, b.additive)
		add(metricHits, float64(b.Hits), name, b.additive)
	}
	if t := g.counts.Load(); t != nil {
		add(metricCounted, float64(t.Samples))
		add(metricSeconds, t.Seconds)
		add(metricRest, t.Rest)
		for _, h := range t.Hits {
			add(metricFunction, float64(h.Count), h.Function)
		}
		works := map[string]float64{}
		for unit, n := range t.Work {
			works[label(unit)] += n
		}
		for unit, n := range works {
			add(metricWork, n, unit)
		}
	}
	if !s.Good.IsZero() {
		add(metricGood, float64(s.Good.UnixMilli())/1000)
	}
	if b := s.Build; b != (Build{}) {
		add(metricBuild, 1, label(b.Version), label(b.revision()), label(b.Go))
	}
	if r := s.Release; r != nil && r.Known {
		before := label(cmp.Or(r.Before.Version, r.Before.Revision))
		add(metricGrowth, r.Growth, label(r.Unit), before)
		add(metricGrowLow, r.Low, label(r.Unit), before)
		add(metricGrowHigh, r.High, label(r.Unit), before)
	}
	add(metricPaused, number01(s.State == Paused))
	add(metricCPU, s.CPU.Seconds())
	for outcome, n := range s.Windows {
		add(metricWindows, float64(n), outcome)
	}
	for m, counts := range map[metric]map[string]int64{metricDumps: s.Dumps, metricExports: s.Exports, metricDropped: s.Dropped, metricPanics: s.Panics} {
		for label, n := range counts {
			add(m, float64(n), label)
		}
	}
}

// revision tells the build from others. Builds with changes that are not committed, or without version
// control, are told by their binaries.
func (b Build) revision() string {
	switch dirty := strings.HasSuffix(b.Revision, modified); {
	case b.Revision == "":
		return process.ThisBuild().Binary
	case dirty:
		return b.Revision + "-" + process.ThisBuild().Binary[:8]
	}
	return b.Revision
}

// number01 is 1 for true and 0 for false.
func number01(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// label makes the value of a label of a name.
func label(name string) string { return pattern.Clipped(name, 200) }
