package guard

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/internal/foreign"
	"github.com/profguard/profguard/internal/reference"
	"github.com/profguard/profguard/internal/series"
)

// maxFunctions limits the series of functions, of which a fleet has one for each process.
const maxFunctions = 1000

// The metrics of a guard beside those of package series.
var (
	metricGrowth   = newGauge("release_growth", "Change of CPU per unit of work against the build before: 0.03 is 3% more. Missing until it is known.", "unit", "before")
	metricGrowLow  = newGauge("release_growth_low", "Lower bound of the growth.", "unit", "before")
	metricGrowHigh = newGauge("release_growth_high", "Upper bound of the growth.", "unit", "before")
	metricPaused   = newGauge("paused", "1 while the guard is paused because it cost too much.")
	metricCPU      = newCounter("cpu_seconds_total", "CPU time that the guard has used, including profiling.")
	metricDumps    = newCounter("dumps_total", "Dumps by result.", "result")
	metricUsable   = newGauge("dump_dir_usable", "1 if the last attempt to use Config.DumpDir succeeded, 0 if not. The event profguard.guard.degraded says why.")
	metricLost     = newCounter("dump_dir_lost_total", "How often others removed or replaced the guard's folder in Config.DumpDir. The guard makes it again.")
	metricExports  = newCounter("exports_total", "Profiles for Config.Export by result. Failed and hung attempts count, too.", "result")
	metricDropped  = newCounter("events_dropped_total", "Events that were dropped, by sink.", "sink")
	metricPanics   = newCounter("panics_total", "Recovered panics, by part of the guard.", "part")
)

var descs = slices.Clone(series.Descs) // of all metrics, for Describe

func newGauge(name, help string, labels ...string) series.Metric {
	m := series.NewGauge(name, help, labels...)
	descs = append(descs, m.Desc)
	return m
}

func newCounter(name, help string, labels ...string) series.Metric {
	m := series.NewCounter(name, help, labels...)
	descs = append(descs, m.Desc)
	return m
}

// A collector is registered in the place of a Guard. The linker keeps all methods of a type that is
// converted to an interface, and of the types of its fields. For a Guard that would be almost
// everything.
type collector struct {
	collect func(ch chan<- prometheus.Metric)
}

func (g *Guard) collector() *collector { return &collector{g.collect} }

// Describe implements [prometheus.Collector].
func (*collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range descs {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(ch chan<- prometheus.Metric) { c.collect(ch) }

// collect sends the metrics of the latest status, and never waits for the guard.
func (g *Guard) collect(ch chan<- prometheus.Metric) {
	// The registry may wrap this collector, and then a panic would end the process.
	if err := foreign.Recovered(func() error { g.send(ch); return nil }); err != nil {
		g.notePanic("metrics")
	}
}

func (g *Guard) send(ch chan<- prometheus.Metric) {
	s, p := g.Status(), g.series()
	p.Collect(func(m prometheus.Metric) { ch <- m })
	add := func(m series.Metric, v float64, labels ...string) { ch <- m.Of(v, labels...) }
	if r := s.Release; r != nil && r.Known {
		before := series.Label(cmp.Or(r.Before.Version, r.Before.Revision))
		add(metricGrowth, r.Growth, series.Label(r.Unit), before)
		add(metricGrowLow, r.Low, series.Label(r.Unit), before)
		add(metricGrowHigh, r.High, series.Label(r.Unit), before)
	}
	if g.cfg.DumpDir != "" {
		usable, lost := g.dumpDir()
		add(metricUsable, series.Number(usable))
		add(metricLost, float64(lost))
	}
	add(metricPaused, series.Number(s.State == ActivityPaused))
	add(metricCPU, s.CPU.Seconds())
	for m, counts := range map[series.Metric]map[string]int64{metricDumps: s.Dumps, metricExports: s.Exports, metricDropped: s.Dropped, metricPanics: s.Panics} {
		for label, n := range counts {
			add(m, float64(n), label)
		}
	}
}

// series is what a guard exports as the probe does.
func (g *Guard) series() series.Process {
	if g.cancel == nil { // it was not started
		return series.Process{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	p := series.Process{Windows: maps.Clone(g.status.Windows), Good: g.status.Good, Functions: g.counts}
	if g.build != (Build{}) {
		p.Version, p.Revision, p.Go = g.build.Version, g.build.revision(), g.build.Go
	}
	for _, e := range g.budgets.entries {
		p.Budgets = append(p.Budgets, e.current(g.started))
	}
	return p
}

// dumpDir reports whether dumps can be kept, and how often their folder was lost.
func (g *Guard) dumpDir() (usable bool, lost int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dumps.Load() != nil && g.faults.by["dumps"] == "", g.lost
}

// revision tells the build from others. Builds with changes that are not committed, or without version
// control, are told by their binaries.
func (b Build) revision() string {
	switch dirty := strings.HasSuffix(b.Revision, modified); {
	case b.Revision == "":
		return reference.ThisBuild().Binary
	case dirty:
		return b.Revision + "-" + reference.ThisBuild().Binary[:8]
	}
	return b.Revision
}
