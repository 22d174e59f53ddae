package guard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/unit"
)

// takeWindow takes and judges one window of all kinds of profile that the budgets need. While
// other code has the CPU profiler, it takes only the other kinds.
func (l *looper) takeWindow(ctx context.Context, early bool) {
	l.own = threadClock{}
	l.own.start()
	defer l.own.stop() // also after a panic
	l.store, l.furtherFiles = l.dumps.Load(), nil
	clear(l.breakdowns)
	clear(l.kinds.taken)
	p := l.inForce()
	if l.judged != p {
		p.adopt()
		l.judged = p
		l.kinds.taker.Close() // a difference must not begin before its budget
		l.lookForVacuous(ctx, p)
	}
	l.work.registry.units = registryUnits(p.set, l.cfg.Work)
	m := &observation{before: l.read()}
	l.heap.begin(&m.before.Snapshot)
	ready := l.seams.snap()
	l.heap.add(&m.before.Snapshot, &ready)
	start := time.Now()
	cpu := p.groups[0].kind == kinds.CPU // or no budget needs its profile
	tried, w := !cpu || !start.Before(l.free), profiler.Window{Start: start}
	if tried && cpu {
		l.own.stop()
		w, _ = l.seams.capture(ctx, l.cfg.Window) // the error is in the outcome
		l.own.start()
	}
	if w.Outcome == profiler.Canceled {
		return
	}
	if w.Elapsed == 0 {
		w.Elapsed = time.Since(start)
	}
	l.heap.addProfile(w.Slices)
	m.cpu, m.now = &w, l.read()
	used, since := process.Between(m.before.Snapshot, m.now.Snapshot), process.Between(l.last, m.now.Snapshot)
	profiling := profilingCost(&w, &used)
	if used.Elapsed < l.cfg.Window/2 {
		// The profiler was in use, so the window is too short for the figures. Those since
		// the last window are taken instead.
		used = since
	}
	m.table = w.Table(&l.decoder)
	if w.Outcome != profiler.OK {
		w.Source = decode.Source{} // a dump of it would look like evidence
	}
	l.publish(&w, m.table.Count(), tried, early, &used, &since, &m.now.Snapshot) // with the guard's own samples
	m.facts = judge.Facts{
		Live: true, Module: l.module, Modules: process.Modules(), NotLinked: p.notLinked, Baseline: l.baseline, BaselineWork: l.cfg.BaselineWork, Elapsed: used.Elapsed,
		Figures: map[string]float64{
			"cores": used.Cores, "goroutines": float64(m.now.Goroutines), "heap": float64(m.now.Heap), "rss": float64(m.now.RSS),
		},
	}
	gc := since
	if !l.lastPeriod.At.IsZero() {
		gc = process.Between(l.lastPeriod, m.now.Snapshot)
	}
	gcOf(&gc, m.table, &m.facts)
	m.facts.Work, m.facts.NoWork = between(m.before.work, m.now.work)
	l.uncounted(m.facts.NoWork)
	m.period, m.regular = l.period(m.before.At, &m.now.Snapshot)
	m.tried = tried
	var results []*judgement
	for _, g := range p.groups {
		results = append(results, l.judge(ctx, g, m)...)
	}
	l.apply(ctx, results, &w)
	if tried {
		l.backoff = w.Backoff(l.backoff)
		l.free = time.Now().Add(l.backoff)
	}
	l.own.stop()
	l.account(l.own.spent+profiling+m.before.cost+m.now.cost, &m.now.Snapshot)
	l.last = m.now.Snapshot
	l.heap.rested = l.seams.snap()
	l.heap.add(&l.last, &l.heap.rested)
}

// read reads all counters.
func (l *looper) read() *totals {
	c := &totals{Snapshot: l.seams.snap(), own: l.heap.own}
	began, used := time.Now(), process.ProcessCPU()
	c.work = l.work.now()
	elsewhere := min(process.Between(l.last, c.Snapshot).Cores, float64(runtime.GOMAXPROCS(0)-1))
	c.cost = readingCost(time.Since(began), process.ProcessCPU()-used, elsewhere)
	return c
}

// An observation is the profile and the facts of one window.
type observation struct {
	cpu         *profiler.Window
	tried       bool          // or the profiler was left to other code
	table       *decode.Table // of the CPU profile
	facts       judge.Facts
	before, now *totals
	period      time.Time // the start of the period that the window completes
	regular     bool      // the window completes a period
}

// judge compares one kind of profile with its budgets.
func (l *looper) judge(ctx context.Context, g *group, m *observation) (results []*judgement) {
	t, facts, p := m.table, m.facts, m.cpu.Source
	since := m.now.At.Sub(l.started)
	if g.kind != kinds.CPU && g.kind != "" && !m.regular && !slices.ContainsFunc(g.entries, func(e *entry) bool { return !e.needs.Periodic }) {
		return nil // all of them wait for the end of their period
	}
	if m.now.At.Before(l.kinds.due[g.kind]) {
		return nil
	}
	leaks := g.kind == kinds.GoroutineLeak
	var err error
	switch {
	case g.kind == "":
		t = &decode.Table{Symbols: new(decode.Symbols)}
	case g.kind != kinds.CPU:
		if leaks { // the collection is not the guard's own work
			l.own.stop()
		}
		p, err = l.kinds.take(g.kind, m.now.work, &facts)
		if leaks {
			l.own.start()
		}
		if err == nil {
			facts.Periods = facts.Elapsed.Seconds() / l.cfg.Every.Seconds()
			t, err = l.table(g.kind, p)
		}
	case !m.tried:
		err = errors.New("the CPU profiler is left to other code for some minutes")
	case m.cpu.Outcome != profiler.OK:
		err = fmt.Errorf("the window was lost (%s): %s", m.cpu.Outcome, m.cpu.Reason)
	default:
		facts.Kind, facts.Elapsed = kinds.CPU, m.cpu.Elapsed
	}
	var findings []judge.Finding
	if err == nil {
		findings, err = g.watch.Table(ctx, t, since, facts)
	}
	if ctx.Err() != nil {
		return nil // the guard is stopping
	}
	if err != nil {
		findings = judge.Unjudged(len(g.entries), err)
	}
	parts := map[unit.Dimension][]judge.Offender{}
	for i, e := range g.entries {
		j := &judgement{entry: e, finding: &findings[i], start: m.before.At, end: m.now.At, lost: err != nil, worked: e.works(m.now.work), profile: p}
		if idle, ok := e.rule.When.UnmetBy(m.facts.Figures).(judge.Idle); ok && j.lost {
			// Its condition needs no profile. The evidence stays as it is.
			j.finding.Reason, j.finding.Proven, j.finding.Evidence, j.lost = idle, evidence.Verdict(e.Proven), e.Evidence, false
		}
		if g.kind == kinds.CPU && !m.tried && !e.needs.Counters && j.lost {
			continue
		}
		if e.needs.Periodic && !m.regular {
			continue // the period is not complete
		}
		if e.needs.Counters {
			f, from, counted := e.count(*j.finding, m.facts.Figures, m.before, m.now, l.cfg.Every)
			j.finding, j.start = &f, from
			j.lost = j.lost && !counted // counters need no profile
			// The window itself may have been within the limit, and has no offenders then.
			if f.Verdict == evidence.Fail && len(f.Offenders) == 0 && err == nil {
				of := e.rule.Dimension
				if _, done := parts[of]; !done {
					parts[of], _ = largestParts(ctx, t, g.kind, l.module, of)
				}
				f.Offenders = parts[of]
			}
		} else if e.rule.Subject == "gc" { // other values are those at the window's end
			j.start = m.period
		}
		j.result = e.Budget.Result(*j.finding)
		results = append(results, j)
	}
	return results
}

// apply updates the alerts by the results, offers profiles to the dumps, and then sends
// events to the sinks. All kinds of profile have been judged before, so that a slow disk
// delays events, but no measurement.
func (l *looper) apply(ctx context.Context, results []*judgement, w *profiler.Window) {
	var offered []*dump
	added := 0
	defer func() { // also after a panic, and when the guard stops: an alert never fires without an event
		saving, cancel := context.WithTimeout(ctx, dumpWait)
		defer cancel()
		for _, d := range offered { // no event names a file that does not exist
			await(saving, d.ended)
		}
		for _, j := range results[:added] {
			l.announce(j)
		}
	}()
	for _, j := range results {
		found := l.explain(ctx, j)
		if ctx.Err() != nil {
			return
		}
		inForce := l.add(j)
		added++
		if inForce && len(offered) < dumpsAWindow && (j.result.Verdict == budget.Fail || j.event == alert.Fired) {
			if d := l.dump(j, found, w); d != nil {
				offered = append(offered, d)
			}
		}
		if j.event.Ends() {
			j.entry.watch.Ended(j.entry.at)
		}
	}
}

// publish updates the status by the window of CPU, if one was tried, and by the figures of the
// process. It emits events when windows begin to be lost, and when they are good again. The
// share of garbage collection is that since the last window; it stays until a collection ends.
func (l *looper) publish(w *profiler.Window, samples int64, tried, early bool, used, since *process.Figures, now *process.Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.status.Window
	if tried {
		good, was := w.Outcome == profiler.OK, s.Outcome == "" || s.Outcome == profiler.OK.String()
		l.status.Windows[w.Outcome.String()]++
		*s = WindowStatus{Start: w.Start, Elapsed: w.Elapsed, Outcome: w.Outcome.String(), Reason: w.Reason, Early: early, Samples: samples, GC: s.GC}
		if good {
			l.status.Good = w.Start.Add(w.Elapsed)
		}
		if !good && was {
			l.emit(Event{Name: EventLost, Message: fmt.Sprintf("a window was lost (%s): %s", w.Outcome, w.Reason)})
		} else if good && !was {
			l.emit(Event{Name: EventRegained, Message: "windows are good again"})
		}
	}
	s.Cores, s.RSS, s.Heap, s.Goroutines = used.Cores, now.RSS, now.Heap, now.Goroutines
	if since.GCKnown {
		s.GC = since.GC
	}
}

// uncounted notes which units of work are not known, and why.
func (l *looper) uncounted(why map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.faults.by, func(part, _ string) bool { return strings.HasPrefix(part, "work ") })
	for _, name := range slices.Sorted(maps.Keys(why)) {
		l.degraded("work "+name, "", "budgets per "+name+" cannot be judged: "+why[name])
	}
}
