package main

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/pattern"
)

// The series of a target are those of a guard in it, by the same names: docs/exports.md has them.
// A test compares the two.

// A kind of metric, with its help and labels.
type exported struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func gauge(name, help string, labels ...string) exported {
	return exported{prometheus.NewDesc("profguard_"+name, help, labels, nil), prometheus.GaugeValue}
}

func counter(name, help string, labels ...string) exported {
	return exported{prometheus.NewDesc("profguard_"+name, help, labels, nil), prometheus.CounterValue}
}

var (
	budgetState     = gauge("budget_state", "State of the budget: -2 no data, -1 undecided, 0 ok (proven to be kept), 1 pending, 2 firing.", "budget")
	budgetValue     = gauge("budget_value", "What the last window measured, in the unit of the limit (ratio, cores, s waited per second, seconds, bytes, count).", "budget", "unit")
	budgetLow       = gauge("budget_low", "Lower bound of the value.", "budget", "unit")
	budgetHigh      = gauge("budget_high", "Upper bound of the value.", "budget", "unit")
	budgetLimit     = gauge("budget_limit", "The declared limit.", "budget", "unit")
	budgetOffender  = gauge("budget_offender_info", "1 while the budget fires: the function that its last event named, and the nearest call in the own module, each with its file and line.", "budget", "function", "file", "blame_function", "blame_file")
	verdicts        = counter("verdicts_total", "Windows by verdict.", "budget", "verdict")
	samplesTotal    = counter("samples_total", "Samples that the budget's verdicts rest on. Where additive is true, hits divided by samples is the share, over any time and any number of processes.", "budget", "additive")
	hitsTotal       = counter("hits_total", "Samples charged to the budget. Where additive is not true they are no share of a fleet: of the worst function of each window, or to compare with a baseline or an amount.", "budget", "additive")
	windowsTotal    = counter("windows_total", "Windows by outcome: ok, or what they were lost to.", "outcome")
	lastWindow      = gauge("last_window_timestamp_seconds", "When the last good window ended.")
	build           = gauge("build_info", "1; which build of the program runs, with the revision of its version control (a hash of the binary where there is none) and the version of Go.", "version", "revision", "goversion")
	functionHits    = counter("function_hits_total", "Samples charged to the function, in all windows that are counted.", "function")
	functionSamples = counter("function_samples_total", "Samples of all windows that are counted.")
	functionRest    = gauge("function_rest_ratio", "The largest share of the last samples that a function without a series of its own can have had.")
	windowSeconds   = counter("window_seconds_total", "How long all windows that are counted were.")
	windowWork      = counter("window_work_total", "Work done in all windows that are counted.", "unit")
	probeSuccess    = gauge("probe_success", "1 if the target has answered with a profile, else 0.")
	probeFailure    = gauge("probe_failure_info", "1 if the probe has failed, with a word for the reason; the log of the probe has the text.", "reason")
	probeDuration   = gauge("probe_duration_seconds", "How long the probe took.")
)

// A page is the metrics of one answer.
type page []prometheus.Metric

func (p *page) add(m exported, v float64, labels ...string) {
	for i, text := range labels {
		labels[i] = pattern.Clipped(text, 200)
	}
	*p = append(*p, prometheus.MustNewConstMetric(m.desc, m.kind, v, labels...))
}

// Describe makes a page a collector whose metrics are not known beforehand.
func (p page) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (p page) Collect(ch chan<- prometheus.Metric) {
	for _, m := range p {
		ch <- m
	}
}

// page are the series of a target.
func (w *watched) page() (p page) {
	seen := map[string]bool{}
	for _, b := range w.budgets {
		name, r := b.name(), &b.last
		for n := 2; seen[pattern.Clipped(name, 200)]; n++ {
			name = fmt.Sprintf("%s (%d)", pattern.Clipped(b.name(), 190), n)
		}
		seen[pattern.Clipped(name, 200)] = true
		p.add(budgetState, b.state(w), name)
		if b.measured {
			p.add(budgetValue, r.Value, name, r.Unit)
			p.add(budgetLow, r.Low, name, r.Unit)
			p.add(budgetHigh, r.High, name, r.Unit)
		}
		if r.Limit > 0 {
			p.add(budgetLimit, r.Limit, name, r.Unit)
		}
		if o := b.offender; o != nil {
			p.add(budgetOffender, 1, name, o.Function, (*judge.Frame)(&o.Frame).Place(), o.Blame.Function, (*judge.Frame)(&o.Blame).Place())
		}
		for v := budget.Inconclusive; v <= budget.Fail; v++ {
			p.add(verdicts, float64(b.verdicts[v]), name, v.String())
		}
		p.add(samplesTotal, float64(b.samples), name, b.rule.Additive())
		p.add(hitsTotal, float64(b.hits), name, b.rule.Additive())
	}
	for outcome, n := range w.windows {
		p.add(windowsTotal, float64(n), outcome)
	}
	if !w.good.IsZero() {
		p.add(lastWindow, float64(w.good.UnixMilli())/1000)
	}
	if w.built {
		p.add(build, 1, w.version, w.revision, w.golang)
	}
	if w.counter == nil {
		return p
	}
	t := w.counter.Totals()
	p.add(functionSamples, float64(t.Samples))
	p.add(windowSeconds, t.Seconds)
	p.add(functionRest, t.Rest)
	for _, h := range t.Hits {
		p.add(functionHits, float64(h.Count), h.Function)
	}
	works := map[string]float64{} // names that are clipped may be equal
	for unit, n := range t.Work {
		works[pattern.Clipped(unit, 200)] += n
	}
	for unit, n := range works {
		p.add(windowWork, n, unit)
	}
	return p
}

// probed is the page with how the probe went: failed is the reason, or "".
func (p page) probed(failed string, took time.Duration) page {
	success := 1.0
	p = append(page{}, p...)
	if failed != "" {
		success = 0
		p.add(probeFailure, 1, failed)
	}
	p.add(probeSuccess, success)
	p.add(probeDuration, took.Seconds())
	return p
}
