package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/functions"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// A watched is what is known of one process that is probed, as a guard in it would know it. It lives
// in memory: after a restart of the probe its counters begin at 0 again, as after one of the process.
type watched struct {
	judging  *judging
	since    time.Time
	started  float64                 // of the process, by its own clock; 0 if it does not say
	watches  map[string]*judge.Watch // by kind of profile
	budgets  []*watchedBudget
	counter  *functions.Counter // nil if functions are not counted
	windows  map[string]int64   // by outcome
	good     time.Time
	built    bool // the build is known
	version  string
	revision string
	golang   string
}

// A judging is how targets are judged.
type judging struct {
	set           budget.Set
	rules         []judge.Rule
	byKind        map[string][]judge.Rule
	units         []string
	every, window time.Duration
	functions     int
	module        string
}

// A watchedBudget is what is known about a budget of a process.
type watchedBudget struct {
	budget   budget.Budget
	rule     *judge.Rule
	kind     string // of profile
	at       int    // in its watch
	alert    alert.Alert
	verdicts map[budget.Verdict]int64
	samples  int64
	hits     int64
	last     budget.Result
	measured bool
	offender *budget.Offender // while it fires, of the last window that failed or of the one that it fired in
	counted  *metrics         // the counters when it was last judged by them
}

func (j *judging) watch() *watched {
	w := &watched{judging: j, since: time.Now(), watches: map[string]*judge.Watch{}, windows: map[string]int64{"ok": 0, "busy": 0, "failed": 0}}
	for i := range j.rules {
		b := &watchedBudget{budget: j.set[i], rule: &j.rules[i], kind: kindOfRule(&j.rules[i]), verdicts: map[budget.Verdict]int64{}}
		for _, other := range w.budgets {
			if other.kind == b.kind {
				b.at++
			}
		}
		b.last.Limit, b.last.Unit = b.rule.Limit, b.rule.Dimension.String()
		w.budgets = append(w.budgets, b)
	}
	for kind, rules := range j.byKind {
		w.watches[kind] = judge.NewWatch(rules, j.every)
	}
	if j.functions > 0 {
		w.counter = functions.New(j.functions)
	}
	return w
}

// inputs are the profiles to ask a target for.
func (j *judging) inputs(from string) []*input {
	list := inputsFor(j.rules, from)
	if j.functions > 0 && of(list, kinds.CPU) == nil {
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

// settled is how old a process is when its functions are counted: see guard.Config.Functions.
const settled = time.Minute

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
	now := time.Now()
	cpu := of(list, kinds.CPU)
	outcome := "ok"
	if cpu != nil {
		outcome = outcomeOf(cpu.err)
	}
	w.windows[outcome]++
	if outcome == "ok" {
		w.good = now
	}
	w.learn(cpu, a)
	findings, lost := map[string][]judge.Finding{}, map[string]bool{}
	for kind, rules := range w.judging.byKind {
		t, facts, err := &decode.Table{Symbols: new(decode.Symbols)}, list[0].facts, error(nil)
		if in := of(list, kind); in != nil {
			t, facts, err = in.table, in.facts, in.err
		}
		if err == nil {
			findings[kind], err = w.judge(ctx, kind, t, now.Sub(w.since), facts)
		}
		if err != nil {
			findings[kind], lost[kind] = judge.Unjudged(len(rules), err), true
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, b := range w.budgets {
		b.add(w, &findings[b.kind][b.at], lost[b.kind], cpu, a, now)
	}
	if w.counter == nil || outcome != "ok" {
		return nil
	}
	if w.started > 0 && a.failed == nil && a.before.at.Sub(time.Unix(0, int64(w.started*1e9))) < settled {
		return nil
	}
	window := functions.Window{Table: cpu.table, Module: w.judging.module, Work: cpu.facts.Work, NoWork: map[string]string{}}
	for _, text := range w.judging.units {
		if _, known := window.Work[text]; known {
			continue
		}
		if u, _ := unit.ParseWork(text); a.failed == nil && !a.after.has(u) {
			window.Work[text] = 0 // a series begins with its first event
		} else {
			window.NoWork[text] = "the counter of " + text + " is not known"
		}
	}
	defer w.counter.Rest()
	return w.counter.Add(ctx, window)
}

// judge judges a profile. A watch keeps the one that it has judged last, so a new watch does it,
// with the evidence of the old one.
func (w *watched) judge(ctx context.Context, kind string, t *decode.Table, at time.Duration, facts judge.Facts) ([]judge.Finding, error) {
	rules := w.judging.byKind[kind]
	next := judge.NewWatch(rules, w.judging.every)
	for i := range rules {
		next.Inherit(i, w.watches[kind], i)
	}
	defer func() {
		for i := range rules {
			w.watches[kind].Inherit(i, next, i)
		}
	}()
	return next.Table(ctx, t, at, facts)
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
	w.built = w.version+w.revision+w.golang != ""
}

// add adds a finding on a window to a budget.
func (b *watchedBudget) add(w *watched, f *judge.Finding, lost bool, cpu *input, a *answer, now time.Time) {
	if b.rule.Needs().Counters && a.failed == nil {
		if b.counted == nil {
			b.counted = a.before
		}
		if used, known := usedBetween(b.counted, a.after, b.rule); known {
			counted, ok, again := b.rule.Count(*f, used, figuresOf(cpu), w.judging.every)
			if ok {
				f, lost = &counted, false
			}
			if !again {
				b.counted = a.after
			}
		}
	}
	r := b.budget.Result(*f)
	b.verdicts[r.Verdict]++
	b.samples, b.hits = b.samples+r.Samples, b.hits+r.Hits
	b.last, b.measured = r, f.HasValue()
	if _, unknown := f.Reason.(judge.WorkUnknown); lost || unknown && !b.measured {
		return
	}
	at := now.Sub(w.since)
	step := alert.Finding{
		Start: at - w.judging.window, End: at,
		Window: evidence.Verdict(r.Verdict), Proven: f.Proven, Evidence: f.Evidence, Kept: f.Kept,
		Idle: r.Idle, Measured: b.measured, Value: r.Value, Limit: r.Limit, Samples: r.Samples, Hidden: f.Cut > 0,
	}
	if r.Verdict == budget.Pass && !step.Above() {
		step.Kept = step.End
	}
	if _, learning := f.Reason.(judge.Learning); learning && r.Verdict == budget.Inconclusive {
		step.Window = evidence.Pass // it is within its limit; growth is not judged while it learns
	}
	var event alert.Event
	if b.alert, event = b.alert.Next(step, b.rule.Alert(w.judging.every, w.judging.window)); event.Ends() {
		w.watches[b.kind].Ended(b.at)
	}
	switch {
	case b.alert.State != alert.Firing:
		b.offender = nil
	case len(r.Offenders) > 0 && (event == alert.Fired || r.Verdict == budget.Fail):
		b.offender = &r.Offenders[0]
	}
}

// figuresOf are the figures of the process, as far as they are known.
func figuresOf(cpu *input) map[string]float64 {
	if cpu == nil {
		return nil
	}
	return cpu.facts.Figures
}

// usedBetween is what a process has used between two readings of its metrics. known is false if they lack
// what the rule is about.
func usedBetween(from, to *metrics, rule *judge.Rule) (u judge.Usage, known bool) {
	a := &answer{before: from, after: to}
	cpu, hasCPU := a.grown(cpuTotal)
	bytes, hasBytes := a.grown(bytesTotal)
	objects, hasObjects := a.grown(objectsTotal)
	u = judge.Usage{Elapsed: to.at.Sub(from.at), CPU: time.Duration(cpu * float64(time.Second)), Bytes: bytes, Objects: objects}
	if n, counted := a.grown(rule.Per); counted {
		u.Work = map[string]float64{rule.Per: n}
	}
	if rule.Kind == kinds.Allocs {
		return u, hasBytes && hasObjects
	}
	return u, hasCPU
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

// state is that of the budget's alert, as a guard exports it.
func (b *watchedBudget) state(w *watched) float64 {
	state, _ := b.alert.At(time.Since(w.since), b.rule.Alert(w.judging.every, w.judging.window))
	return float64(state - alert.OK)
}

func (b *watchedBudget) name() string { return cmp.Or(b.budget.Name, fmt.Sprint(b.budget)) }
