package main

import (
	"cmp"
	"context"
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/internal/functions"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/series"
	"github.com/profguard/profguard/internal/unit"
)

// A watched is what is known of one process that is probed. It is judged by what judges the process of a guard. It
// lives in memory: after a restart of the probe its counters begin at 0 again, as after one of the process.
type watched struct {
	*loop.Remote
	units     []string
	started   float64        // of the process, by its own clock; 0 if it does not say
	windows   map[string]int // by outcome
	good      time.Time
	functions *functions.Totals

	version, revision, golang string // of its build, "" for not known
}

// watch is a process of which nothing is known.
func (p *prober) watch() (*watched, error) {
	r, err := loop.NewRemote(p.judged)
	return &watched{Remote: r, units: p.units, windows: map[string]int{"ok": 0, "busy": 0, "failed": 0}}, err
}

// inputs are the profiles to ask a target for.
func (p *prober) inputs(from string) []*input {
	list := inputsFor(p.rules, from)
	if p.judged.Functions > 0 && of(list, kinds.CPU) == nil {
		list = append(list, &input{from: from, kind: kinds.CPU})
	}
	return list
}

// of is the input of a kind, or nil.
func of(list []*input, kind string) *input {
	for _, in := range list {
		if in.kind == kind {
			return in
		}
	}
	return nil
}

// outcomeOf is the outcome of a window that has ended with an error, or without one.
func outcomeOf(err error) string {
	switch {
	case err == nil:
		return "ok"
	case isBusy(err):
		return "busy"
	}
	return "failed"
}

// add adds a window: what a service has answered.
func (w *watched) add(ctx context.Context, list []*input, a *answer) error {
	cpu, outcome := of(list, kinds.CPU), "ok"
	if cpu != nil {
		outcome = outcomeOf(cpu.err)
	}
	w.windows[outcome]++
	if outcome == "ok" {
		w.good = time.Now()
	}
	w.learn(cpu, a)
	counted, err := w.Judge(ctx, w.window(list, a))
	w.functions = cmp.Or(counted, w.functions)
	return err
}

// window is an answer as it is judged.
func (w *watched) window(list []*input, a *answer) *loop.RemoteWindow {
	of := &loop.RemoteWindow{Facts: list[0].facts, Settled: true}
	for _, in := range list {
		facts := in.facts
		facts.Work, facts.NoWork = maps.Clone(facts.Work), map[string]string{}
		for _, text := range w.units {
			if _, known := facts.Work[text]; known || facts.WorkBy[text] != nil {
				continue
			}
			if u, _ := unit.ParseWork(text); a.failed == nil && !a.after.has(u) {
				facts.Work[text] = 0 // a series begins with its first event
			} else {
				facts.NoWork[text] = "the counter of " + text + " is not known"
			}
		}
		of.Profiles = append(of.Profiles, loop.Profile{Kind: in.kind, Table: in.table, Facts: facts, Err: in.err})
	}
	if a.failed == nil {
		of.From, of.To = a.before.counters(w.units), a.after.counters(w.units)
		of.Settled = w.started == 0 || a.before.at.Sub(time.Unix(0, int64(w.started*1e9))) >= loop.Settled
	}
	return of
}

// counters are what a process has used and done, as far as its metrics say.
func (m *metrics) counters(units []string) *loop.Reading {
	cpu, hasCPU := m.value(cpuTotal)
	bytes, hasBytes := m.value(bytesTotal)
	objects, hasObjects := m.value(objectsTotal)
	c := &loop.Reading{
		Snapshot: process.Snapshot{At: m.at, CPU: time.Duration(cpu * float64(time.Second)), Allocated: int64(bytes), Allocations: int64(objects)},
		Work:     loop.Answers{}, NoCPU: !hasCPU, NoAlloc: !hasBytes || !hasObjects,
	}
	for _, text := range units {
		u, _ := unit.ParseWork(text)
		if u.By != "" {
			continue
		}
		n, _ := m.sum(u) // a series begins with its first event
		c.Work[text] = loop.Answer{N: n}
	}
	return c
}

// learn notes which build the process is of. Without the profile, which has the revision, that is the one
// which is known, if one is: half of the labels would be a build that nobody runs.
func (w *watched) learn(cpu *input, a *answer) {
	if a.failed == nil {
		w.started, _ = a.after.value(startTime)
	}
	if cpu != nil && cpu.table == nil {
		return
	}
	if a.failed == nil {
		w.version, w.golang = a.after.label(buildInfo, "version"), a.after.label(goInfo, "version")
		w.revision = a.after.label(buildInfo, "checksum")
	}
	if cpu != nil {
		w.revision = cmp.Or(cpu.table.Build(), w.revision)
	}
}

// restarted reports whether the process is another one than before: by when it has started, and by its build,
// as some do not say when. What two builds did would be counted as one's.
func (w *watched) restarted(cpu *input, a *answer) bool {
	if cpu != nil && cpu.table != nil && w.revision != "" {
		if now := cpu.table.Build(); now != "" && now != w.revision {
			return true
		}
	}
	if a.failed != nil || w.started == 0 {
		return false
	}
	started, known := a.after.value(startTime)
	return known && started != w.started
}

// The series of a probe beside those of a guard.
var (
	probeSuccess  = series.NewGauge("probe_success", "1 if the target has answered with a profile, 0 if not.")
	probeFailure  = series.NewGauge("probe_failure_info", "1 if the probe has failed, with the reason in a word. The log of the probe has the details.", "reason")
	probeDuration = series.NewGauge("probe_duration_seconds", "How long the probe took.")
)

// A page is the metrics of one answer.
type page []prometheus.Metric

// Describe makes a page a collector whose metrics are not known beforehand.
func (p page) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (p page) Collect(ch chan<- prometheus.Metric) {
	for _, m := range p {
		ch <- m
	}
}

// page are the series of a target, with how the probe went: failed is the reason, or "". Nothing may be known of it.
func (w *watched) page(failed string, took time.Duration) (p page) {
	add := func(m prometheus.Metric) { p = append(p, m) }
	if w != nil {
		of := series.Process{Budgets: w.Now(), Windows: w.windows, Good: w.good, Functions: w.functions, Version: w.version, Revision: w.revision, Go: w.golang}
		of.Collect(add)
	}
	if failed != "" {
		add(probeFailure.Of(1, failed))
	}
	add(probeSuccess.Of(series.Number(failed == "")))
	add(probeDuration.Of(took.Seconds()))
	return p
}
