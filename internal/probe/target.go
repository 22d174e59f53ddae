package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/internal/functions"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/series"
	"github.com/profguard/profguard/internal/service"
	"github.com/profguard/profguard/internal/unit"
)

// A target is a service, with the probe that runs, if one does.
type target struct {
	root *url.URL
	used time.Time // by prober.mu

	mu     sync.Mutex
	busy   chan struct{} // closed when the running probe is done; nil without one
	ended  time.Time
	answer page   // of the last probe
	wrong  string // what the log has said of it, "" if nothing is wrong
	known  *watched
}

// start returns a channel that is closed when there is an answer. Who asks while a target is
// probed, or soon after, gets the same one: two servers of Prometheus take no two profiles.
func (p *prober) start(server context.Context, t *target, left time.Duration) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy != nil {
		return t.busy
	}
	done := make(chan struct{})
	if t.answer != nil && time.Since(t.ended) < p.judged.Every/2 {
		close(done)
		return done
	}
	t.busy = done
	go p.run(server, t, done, left)
	return done
}

// run probes a target.
func (p *prober) run(server context.Context, t *target, done chan struct{}, left time.Duration) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(server, left)
	defer cancel()
	var answer page
	var reason, text string // of what is wrong
	defer func() {
		if r := recover(); r != nil { // of a profile that a decoder or a judge cannot bear
			p.results.WithLabelValues("panic").Inc()
			reason, text = "panic", fmt.Sprintf("the probe has failed (panic): %v", r)
			answer = (*watched)(nil).page(reason, time.Since(began))
		}
		if answer != nil && server.Err() == nil {
			p.tell(t, reason, text)
		}
		t.mu.Lock()
		t.answer, t.ended, t.busy = answer, time.Now(), nil
		t.mu.Unlock()
		close(done)
	}()
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return
	}
	p.running.Inc()
	defer p.running.Dec()
	a, err := p.ask(ctx, t)
	p.results.WithLabelValues(map[bool]string{true: "ok", false: "failed"}[err == nil]).Inc()
	reason, text = p.wrong(t, a, err)
	answer = t.known.page(reasonOf(err), time.Since(began))
}

// tell says in the log that something begins to be wrong with a target, for another reason than before, or no longer is.
// Only the running probe uses what is noted of it.
func (p *prober) tell(t *target, reason, text string) {
	before := t.wrong
	if t.wrong = reason; reason == before {
		return
	}
	if reason == "" {
		text = "the probe works again"
	}
	p.log.Println(pattern.Clipped(t.root.Host+": "+text, 600))
}

// wrong is what is wrong with a target, in a word and in words; "" for nothing. That its metrics lack something is no
// failure: budgets on functions are judged without it.
func (p *prober) wrong(t *target, a *service.Answer, err error) (reason, text string) {
	if err != nil {
		reason = reasonOf(err)
		return reason, fmt.Sprintf("the probe has failed (%s): %v", reason, err)
	}
	if a.Failed != nil {
		return "metrics", fmt.Sprintf("no metrics, so no figures and no work: %v", a.Failed)
	}
	for _, text := range p.question.Units {
		u, _ := unit.ParseWork(text)
		if _, counted := a.After.Sum(u); !counted {
			return text, fmt.Sprintf("%s has no counter %s: its work counts as none until there is one", a.At.Path, text)
		}
	}
	return "", ""
}

// reasonOf is a word for why a probe has failed, "" if it has not. docs/reference.md has the comments.
func reasonOf(err error) string {
	_, answered := errors.AsType[service.NoProfile](err)
	_, unauthorized := errors.AsType[service.NoCredentials](err)
	network, failed := errors.AsType[net.Error](err)
	switch {
	case err == nil:
		return ""
	case service.IsBusy(err):
		return "busy" // other code profiles the target
	case unauthorized:
		return "authorization" // the file with it cannot be read
	case answered:
		return "answer" // the target answered with another status than 200, or with a page
	case errors.Is(err, context.DeadlineExceeded) || failed && network.Timeout():
		return "late" // the target has not answered in time
	case failed:
		return "unreachable" // there is no connection to the target
	}
	return "profile" // the profile cannot be read, or is of two processes
}

// outcomeOf is the outcome of a window that has ended with an error, or without one.
func outcomeOf(err error) string {
	return cmp.Or(map[string]string{"": "ok", "busy": "busy"}[reasonOf(err)], "failed")
}

// ask asks a target and judges its answer. Only the running probe uses what is known of a target.
func (p *prober) ask(ctx context.Context, t *target) (*service.Answer, error) {
	a, err := p.answer(ctx, t.root)
	if t.known == nil || err == nil && t.known.restarted(a) {
		r, err := loop.NewRemote(p.judged)
		if err != nil {
			return a, err
		}
		t.known = &watched{Remote: r, units: p.question.Units, windows: map[string]int{"ok": 0, "busy": 0, "failed": 0}}
	}
	if err != nil {
		t.known.windows[outcomeOf(err)]++
		return a, err
	}
	return a, cmp.Or(t.known.add(ctx, a), a.Profiles[0].Err)
}

// answer is what a service answers. Metrics of two processes are no answer.
func (p *prober) answer(ctx context.Context, root *url.URL) (*service.Answer, error) {
	credentials, err := service.ReadCredentials(p.cfg.Authorization)
	if err != nil {
		return nil, err
	}
	c := service.Client{Credentials: credentials, Metrics: p.cfg.Metrics, Stays: true}
	a, err := c.Ask(ctx, root, &p.question)
	if err == nil && a.Failed != nil && a.After != nil {
		err = a.Failed
	}
	return a, err
}

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

// add adds a window: what a service has answered.
func (w *watched) add(ctx context.Context, a *service.Answer) error {
	cpu := a.Of(kinds.CPU)
	outcome := outcomeOf(cpu.Err)
	w.windows[outcome]++
	if outcome == "ok" {
		w.good = time.Now()
	}
	w.learn(a, cpu)
	counted, err := w.Judge(ctx, w.window(a))
	w.functions = cmp.Or(counted, w.functions)
	return err
}

// window is an answer as it is judged.
func (w *watched) window(a *service.Answer) *loop.RemoteWindow {
	of := &loop.RemoteWindow{Facts: a.Profiles[0].Facts, Settled: true}
	for _, p := range a.Profiles {
		facts := p.Facts
		facts.Work, facts.NoWork = maps.Clone(facts.Work), map[string]string{}
		for _, text := range w.units {
			if _, known := facts.Work[text]; known || facts.WorkBy[text] != nil {
				continue
			}
			if u, _ := unit.ParseWork(text); a.Failed == nil && !a.After.Has(u) {
				facts.Work[text] = 0 // a series begins with its first event
			} else {
				facts.NoWork[text] = "the counter of " + text + " is not known"
			}
		}
		of.Profiles = append(of.Profiles, loop.Profile{Kind: p.Kind, Table: p.Table, Facts: facts, Err: p.Err})
	}
	if a.Failed == nil {
		of.From, of.To = reading(a.Before, w.units), reading(a.After, w.units)
		of.Settled = w.started == 0 || a.Before.At.Sub(time.Unix(0, int64(w.started*1e9))) >= loop.Settled
	}
	return of
}

// reading is what a process has used and done, as far as its metrics say.
func reading(m *service.Metrics, units []string) *loop.Reading {
	cpu, hasCPU := m.CPU()
	bytes, objects, hasAlloc := m.Allocated()
	c := &loop.Reading{
		Snapshot: process.Snapshot{At: m.At, CPU: time.Duration(cpu * float64(time.Second)), Allocated: int64(bytes), Allocations: int64(objects)},
		Work:     loop.Answers{}, NoCPU: !hasCPU, NoAlloc: !hasAlloc,
	}
	for _, text := range units {
		if u, _ := unit.ParseWork(text); u.By == "" {
			n, _ := m.Sum(u) // a series begins with its first event
			c.Work[text] = loop.Answer{N: n}
		}
	}
	return c
}

// learn notes which build the process is of. Without the profile, which has the revision, that is the one
// which is known, if one is: half of the labels would be a build that nobody runs.
func (w *watched) learn(a *service.Answer, cpu service.Profile) {
	if a.Failed == nil {
		w.started, _ = a.After.Started()
	}
	if cpu.Err != nil {
		return
	}
	if a.Failed == nil {
		w.version, w.revision, w.golang = a.After.Build()
	}
	if cpu.Table != nil {
		w.revision = cmp.Or(cpu.Table.Build(), w.revision)
	}
}

// restarted reports whether the process is another one than before: by when it has started, and by its build,
// as some do not say when. What two builds did would be counted as one's.
func (w *watched) restarted(a *service.Answer) bool {
	if cpu := a.Of(kinds.CPU); cpu.Table != nil && w.revision != "" {
		if now := cpu.Table.Build(); now != "" && now != w.revision {
			return true
		}
	}
	if a.Failed != nil || w.started == 0 {
		return false
	}
	started, known := a.After.Started()
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
