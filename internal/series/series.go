// Package series has the metrics of Prometheus that are the same for a process with a guard in it and for one that is
// probed. docs/reference.md lists them, with their help texts.
package series

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/functions"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/unit"
)

var (
	state       = NewGauge("budget_state", "State of the budget: -2 no data, -1 undecided, 0 ok, 1 pending, 2 firing.", "budget")
	value       = NewGauge("budget_value", "Measured value of the last window.", "budget", "unit")
	low         = NewGauge("budget_low", "Lower bound of the value.", "budget", "unit")
	high        = NewGauge("budget_high", "Upper bound of the value.", "budget", "unit")
	limit       = NewGauge("budget_limit", "Limit of the budget.", "budget", "unit")
	offender    = NewGauge("budget_offender_info", "1 while the budget fires. Its labels have the function that the last event named, the nearest call in your module (blame), and the function of your module that contains nearly all of it (owner, empty where callers differ). If the budget is on a label, value has the offending value, and function costs most of it.", "budget", "value", "function", "file", "blame_function", "blame_file", "owner_function", "owner_file")
	ineffective = NewGauge("budget_ineffective", "1 while the budget may never fail: no linked function matches it, its profile is missing, or it had nothing to judge in 60 windows.", "budget")
	verdicts    = NewCounter("verdicts_total", "Windows by verdict.", "budget", "verdict")
	samples     = NewCounter("samples_total", "Samples behind the budget's verdicts. Where additive is true, hits divided by samples is the share, over any time and any number of processes.", "budget", "additive")
	hits        = NewCounter("hits_total", "Samples charged to the budget. Where additive is not true, they do not add up to a share of a fleet.", "budget", "additive")
	function    = NewCounter("function_hits_total", "Samples charged to the function in all counted windows.", "function")
	counted     = NewCounter("function_samples_total", "Samples of all counted windows.")
	rest        = NewGauge("function_rest_ratio", "Largest share of the last samples that a function without its own series can have.")
	seconds     = NewCounter("window_seconds_total", "Length of all counted windows.")
	work        = NewCounter("window_work_total", "Work done in all counted windows.", "unit")
	windows     = NewCounter("windows_total", "Windows by outcome: ok, or why they were lost.", "outcome")
	good        = NewGauge("last_window_timestamp_seconds", "End of the last good window, as Unix time.")
	build       = NewGauge("build_info", "1 for the running build. Without version control its revision is a hash of the binary.", "version", "revision", "goversion")

	// Descs describe the metrics of a [Process].
	Descs = []*prometheus.Desc{
		state.Desc, value.Desc, low.Desc, high.Desc, limit.Desc, offender.Desc, ineffective.Desc, verdicts.Desc, samples.Desc, hits.Desc,
		function.Desc, counted.Desc, rest.Desc, seconds.Desc, work.Desc, windows.Desc, good.Desc, build.Desc,
	}
)

// A Metric is the description of an exported metric, and its type.
type Metric struct {
	Desc *prometheus.Desc
	kind prometheus.ValueType
}

// NewGauge describes a gauge.
func NewGauge(name, help string, labels ...string) Metric {
	return Metric{prometheus.NewDesc("profguard_"+name, help, labels, nil), prometheus.GaugeValue}
}

// NewCounter describes a counter.
func NewCounter(name, help string, labels ...string) Metric {
	return Metric{prometheus.NewDesc("profguard_"+name, help, labels, nil), prometheus.CounterValue}
}

// Of is a sample of the metric.
func (m Metric) Of(v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(m.Desc, m.kind, v, labels...)
}

// Label makes the value of a label of a name.
func Label(name string) string { return pattern.Clipped(name, 200) }

// Number is 1 for true and 0 for false.
func Number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// Max limits the budgets that have series of their own. A hundred budgets have twelve hundred series, about as many
// as a Prometheus expects of one process.
const Max = 100

// A Process is what is known of a process.
type Process struct {
	Budgets               []loop.Current // of these the first [Max]
	Windows               map[string]int
	Good                  time.Time         // the end of the last good window
	Functions             *functions.Totals // nil: none were counted
	Version, Revision, Go string            // all empty: not known
}

// Collect calls add with the samples of all metrics.
func (p *Process) Collect(add func(prometheus.Metric)) {
	seen := map[string]bool{}
	for i := range p.Budgets[:min(len(p.Budgets), Max)] {
		b := &p.Budgets[i]
		// Two series of one name would cost the host its whole scrape.
		name := Label(b.Name)
		for n := 2; seen[name]; n++ {
			name = fmt.Sprintf("%s (%d)", Label(b.Name), n)
		}
		seen[name] = true
		collect(b, name, add)
	}
	if t := p.Functions; t != nil {
		collectFunctions(t, add)
	}
	for outcome, n := range p.Windows {
		add(windows.Of(float64(n), outcome))
	}
	if !p.Good.IsZero() {
		add(good.Of(float64(p.Good.UnixMilli()) / 1000))
	}
	if p.Version+p.Revision+p.Go != "" {
		add(build.Of(1, Label(p.Version), Label(p.Revision), Label(p.Go)))
	}
}

// Additive says what a fleet is judged by: "true" for the hits and samples of the rule, which may be added up over
// windows and processes, and compared with the limit, "function" for those of package functions, and "false" for neither.
//
// Those of a rule about each function are of the worst of each window, and a sum of maxima is no share. The limit of
// growth, and of an amount, is none of a share. Profiles of a state show the same samples again.
func Additive(r *judge.Rule) string {
	limitsShare := r.Test != judge.Grows && r.Dimension == unit.Share
	switch {
	case r.Class == judge.Pattern && limitsShare && kinds.Of(r.Kind).Taken != kinds.State:
		return "true"
	case r.Class == judge.EachFunction && limitsShare && r.Kind == kinds.CPU && !r.Flat && !r.Literal &&
		len(r.Except)+len(r.Routes) == 0 && r.In == "" && len(r.Where) == 0 && r.When.Figure == "":
		return "function"
	}
	return "false"
}

// collect calls add with the samples of a budget.
func collect(b *loop.Current, name string, add func(prometheus.Metric)) {
	r, additive := &b.Last, Additive(&b.Rule)
	add(state.Of(float64(b.State-alert.OK), name))
	if b.Measured {
		add(value.Of(r.Value, name, r.Unit))
		add(low.Of(r.Low, name, r.Unit))
		add(high.Of(r.High, name, r.Unit))
	}
	if r.Limit > 0 {
		add(limit.Of(r.Limit, name, r.Unit))
	}
	if o := b.Offender; o != nil {
		function, value := Code(r.Budget, o)
		labels := []string{name, Label(value)}
		for _, f := range [...]judge.Frame{judge.Frame(function), judge.Frame(o.Blame), judge.Frame(o.Owner)} {
			labels = append(labels, Label(f.Function), Label(f.Place()))
		}
		add(offender.Of(1, labels...))
	}
	add(ineffective.Of(Number(b.Ineffective), name))
	for v, n := range b.Verdicts {
		verdict := budget.Verdict(v)
		m := verdicts.Of(float64(n), name, verdict.String())
		if verdict == budget.Fail && b.Dump != "" {
			// From the count of failing windows to the profile of one. An exemplar holds 128
			// characters, an id and this label have at most 107.
			m = prometheus.MustNewMetricWithExemplars(m, prometheus.Exemplar{Value: 1, Labels: prometheus.Labels{"dump": b.Dump}, Timestamp: b.Dumped})
		}
		add(m)
	}
	add(samples.Of(float64(b.Samples), name, additive))
	add(hits.Of(float64(b.Hits), name, additive))
}

func collectFunctions(t *functions.Totals, add func(prometheus.Metric)) {
	add(counted.Of(float64(t.Samples)))
	add(seconds.Of(t.Seconds))
	add(rest.Of(t.Rest))
	for _, h := range t.Hits {
		add(function.Of(float64(h.Count), h.Function))
	}
	works := map[string]float64{} // names that are clipped may be equal
	for unit, n := range t.Work {
		works[Label(unit)] += n
	}
	for unit, n := range works {
		add(work.Of(n, unit))
	}
}

// Code returns the function of an offender: the offender itself or, if that is the value of a label, the
// function that costs most of it. Then it returns the value, too.
func Code(b budget.Budget, o *budget.Offender) (function budget.Frame, value string) {
	if b.Label() != "" {
		return o.Within, o.Function
	}
	return o.Frame, ""
}
