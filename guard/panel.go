package guard

import (
	"maps"
	"slices"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/dump"
	"github.com/profguard/profguard/internal/evidence"
)

// A panel is the budgets in force: how each stands, and a watch for those of
// each kind of profile.
type panel struct {
	entries []*entry
	groups  []*group
	// notLinked are the patterns that match nothing in the binary, once known.
	notLinked []string
	looked    bool // notLinked has been worked out
}

// entry is one budget's standing. It outlives a change of the others.
type entry struct {
	name     string
	budget   budget.Budget
	alert    alert.Alert
	since    time.Time
	result   budget.Result
	alarm    budget.Verdict // what all windows before the last said together
	verdicts map[string]int64
	samples  int64
	hits     int64
	warning  string
	missed   missed
	history  []Measurement
	culprit  culprit // of a figure, when it was last looked for
	quiet    quiet
	relapses int // see restless
	unjudged int // windows in a row, up to the last, that had nothing to judge

	dumps    []keptDump           // that are still there, the oldest first
	offered  time.Time            // when the last dump was offered to the store
	offers   map[dump.ID][]string // dumps on their way, and whom they show
	shown    map[string]time.Time // by offender: when a dump that shows it was offered
	violated string               // names the current violation for the store
	told     bool                 // that it fires, and not that it is over
	removed  bool                 // by SetBudgets: a window under way says nothing of it any more
}

// A keptDump is a dump that the store has not evicted. A budget has as many as
// Config.Keep allows.
type keptDump struct {
	id    dump.ID
	at    time.Time
	shows []string // offenders
}

// lastDump is the last one that is still there, or nil.
func (e *entry) lastDump() *keptDump {
	if len(e.dumps) == 0 {
		return nil
	}
	return &e.dumps[len(e.dumps)-1]
}

// maxHistory is an hour at the default cadence; a budget's takes 1 KB.
const maxHistory = 60

// group is the budgets that one kind of profile is for.
type group struct {
	kind    string // "figures" for those that need no profile
	watch   *budget.Watch
	members []int // indices into entries, in the order of the watch's budgets
}

const (
	kindCPU     = "cpu"
	kindFigures = "figures"
	kindLeaks   = "goroutineleak"
)

// kindOf is the kind of profile that a budget is judged by.
func kindOf(b budget.Budget) string {
	switch {
	case b.Rule == "steady":
		return kindFigures
	case b.Rule == "leaked":
		return kindLeaks
	}
	switch b.Subject {
	case "goroutines", "heap", "rss", "gc":
		return kindFigures
	}
	if b.Kind == "" {
		return kindCPU
	}
	return b.Kind
}

// newPanel makes the panel of a configuration. Budgets that old has too, name
// and sentence, keep their standing.
func newPanel(cfg Config, old *panel) (*panel, error) {
	p := &panel{}
	kept := map[string]*entry{}
	if old != nil {
		for _, e := range old.entries {
			kept[e.name+"\x00"+e.budget.String()] = e
		}
	}
	sets := map[string]budget.Set{}
	for i, b := range cfg.Budgets {
		name := b.Name
		if name == "" {
			name = b.String()
		}
		e := kept[name+"\x00"+b.String()]
		if e == nil {
			e = &entry{name: name, budget: b, since: time.Now(), verdicts: map[string]int64{}, result: budget.Result{Budget: b}}
		}
		p.entries = append(p.entries, e)
		kind := kindOf(b)
		if sets[kind] == nil {
			p.groups = append(p.groups, &group{kind: kind})
		}
		sets[kind] = append(sets[kind], b)
		for _, g := range p.groups {
			if g.kind == kind {
				g.members = append(g.members, i)
			}
		}
	}
	for _, g := range p.groups {
		if g.watch = old.watchOf(p, g); g.watch != nil {
			continue // what it has learnt stays
		}
		var err error
		if g.watch, err = budget.NewWatch(sets[g.kind], cfg.Every); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// watchOf is the panel's watch for the budgets of a group of the next panel, if it
// has one for just these.
func (p *panel) watchOf(next *panel, of *group) *budget.Watch {
	if p == nil {
		return nil
	}
	for _, g := range p.groups {
		if g.kind == of.kind && slices.Equal(p.standing(g), next.standing(of)) {
			return g.watch
		}
	}
	return nil
}

// standing are the entries of a group.
func (p *panel) standing(g *group) []*entry {
	list := make([]*entry, len(g.members))
	for i, m := range g.members {
		list[i] = p.entries[m]
	}
	return list
}

// inherit takes over what the watches of the last panel have learnt about the
// budgets that stay. Only the loop may do it, between two windows: it judges with
// them.
func (p *panel) inherit(last *panel) {
	type place struct {
		watch *budget.Watch
		at    int
	}
	known := map[*entry]place{}
	for _, g := range last.groups {
		for i, e := range last.standing(g) {
			known[e] = place{g.watch, i}
		}
	}
	for _, g := range p.groups {
		for i, e := range p.standing(g) {
			if was, ok := known[e]; ok && was.watch != g.watch {
				g.watch.Inherit(i, was.watch, was.at)
			}
		}
	}
}

// remove marks the entries that next has no more, and returns those of them that
// were said to fire.
func (p *panel) remove(next *panel) (firing []*entry) {
	for _, e := range p.entries {
		if slices.Contains(next.entries, e) {
			continue
		}
		e.removed = true
		if e.told {
			firing = append(firing, e)
		}
	}
	return firing
}

// named is the entry of a name, or nil.
func (p *panel) named(name string) *entry {
	for _, e := range p.entries {
		if e.name == name {
			return e
		}
	}
	return nil
}

// has reports whether any budget needs a kind of profile.
func (p *panel) has(kind string) bool {
	for _, g := range p.groups {
		if g.kind == kind {
			return true
		}
	}
	return false
}

// only reports whether all budgets need a kind of profile.
func (p *panel) only(kind string) bool { return len(p.groups) == 1 && p.has(kind) }

// status copies the standing of all budgets.
func (p *panel) status() []BudgetStatus {
	list := make([]BudgetStatus, len(p.entries))
	for i, e := range p.entries {
		result := e.result
		result.Budget, result.Reason = cloneBudget(e.budget), e.reason()
		list[i] = BudgetStatus{
			Name: e.name, Budget: cloneBudget(e.budget), State: e.alert.State.String(), Since: e.since, Result: result,
			Verdicts: maps.Clone(e.verdicts), Samples: e.samples, Hits: e.hits, Warning: e.warning, History: slices.Clone(e.history),
		}
		if last := e.lastDump(); last != nil {
			list[i].Dump, list[i].Dumped = string(last.id), last.at
		}
	}
	return list
}

// take notes the result of a window and returns what it means for the alert.
func (e *entry) take(r budget.Result, now time.Time, since time.Duration) alert.Event {
	e.verdicts[r.Verdict.String()]++
	e.samples += r.Samples
	e.hits += r.Hits
	e.alarm, e.result = e.result.Alarm, r
	if len(e.history) == maxHistory {
		e.history = e.history[1:]
	}
	e.history = append(e.history, Measurement{Value: r.Share, Verdict: r.Verdict})
	e.unjudged++
	if measured(r) {
		e.unjudged = 0
	}
	before, calm := e.alert.State, e.quiet
	if r.Verdict != budget.Fail {
		e.quiet.add(r)
	}
	var event alert.Event
	e.alert, event = e.step(r, since)
	if e.alert.State != before {
		e.since = now
	}
	if event == alert.Fired {
		e.relapse(calm)
	}
	if event == alert.Fired || r.Verdict == budget.Fail {
		e.quiet = quiet{}
	}
	return event
}

// step is what a result would make of the alert.
func (e *entry) step(r budget.Result, since time.Duration) (alert.Alert, alert.Event) {
	in := alert.Input{
		Window:   verdictOf(r.Verdict),
		Evidence: evidenceOf(r),
		For:      alert.For{Windows: e.budget.ForWindows, Time: e.budget.ForTime},
		Proof:    e.budget.Rule == "absent" || e.budget.Rule == "leaked",
	}
	if e.alarm == budget.Fail && withdrawn(r) {
		in.Evidence = alert.Recovered
	}
	if e.budget.Rule == "steady" && r.Verdict == budget.Inconclusive && measured(r) {
		// It is within its limit, and of growth nothing is said while it learns.
		in.Window, in.Evidence = evidence.Pass, alert.Recovered
	}
	if e.restless() && in.Window != evidence.Fail {
		in.Window, in.Evidence = evidence.Inconclusive, alert.Open
	}
	return e.alert.Next(in, since)
}

// withdrawn reports whether an alarm ended without a pass. Against a baseline of few
// samples growth can be shown, and not that there is none: when it is over, what
// showed it goes away, and nothing ever comes in its place.
func withdrawn(r budget.Result) bool {
	return r.Budget.Rule == "grows" && r.Alarm == budget.Inconclusive
}

func verdictOf(v budget.Verdict) evidence.Verdict {
	switch v {
	case budget.Pass:
		return evidence.Pass
	case budget.Fail:
		return evidence.Fail
	}
	return evidence.Inconclusive
}

// rising is the part of the evidence needed to fire from which a budget is
// pending. Half of it is a thousand to one or so, against a million.
const rising = 0.5

func evidenceOf(r budget.Result) alert.Evidence {
	switch {
	case r.Alarm == budget.Fail:
		return alert.Alarm
	case r.Evidence >= rising:
		return alert.Rising
	case r.Alarm == budget.Pass:
		return alert.Recovered
	}
	return alert.Open
}
