package guard

import (
	"cmp"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/dump"
	"github.com/profguard/profguard/internal/page"
)

const (
	// maxShown is how many budgets the page shows; the rest is in status.json.
	maxShown = 100
	// maxLinks is how many callers or callees of an offender are shown.
	maxLinks = 12
)

// overview sends the first page.
func (h *handler) overview(w http.ResponseWriter, r *http.Request) {
	dumps, note := h.listDumps(r)
	o := newOverview(h.g.Status(), time.Now())
	o.Program = h.program()
	o.Dumps, o.DumpNote = newDumps(dumps), note
	o.Live, o.Seconds, o.MaxSeconds = h.running(), defaultSeconds, maxSeconds
	data, err := h.pages.Overview(o)
	sendPage(w, r, data, err)
}

// program names what is guarded.
func (h *handler) program() string {
	name := "a program"
	if h.g != nil && h.g.module != "" {
		name = h.g.module
	}
	if h.access.hostname != "" {
		name += " on " + h.access.hostname
	}
	return name
}

// newOverview lays out a status: what is broken first.
func newOverview(s Status, now time.Time) page.Overview {
	o := page.Overview{
		Now: now, Started: s.Started, State: s.State, Reason: s.Reason, Until: s.PausedUntil,
		Window: page.Window{
			Start: s.Window.Start, Length: s.Window.Elapsed, Outcome: s.Window.Outcome, Reason: s.Window.Reason,
			Early: s.Window.Early, Samples: s.Window.Samples, Cores: s.Window.Cores, GC: s.Window.GC,
			RSS: s.Window.RSS, Heap: s.Window.Heap, Goroutines: s.Window.Goroutines,
		},
		Windows: counts(s.Windows),
		Cost:    page.Cost{CPU: s.CPU, Share: s.CostShare},
		Losses: []page.Loss{
			{What: "events dropped", Counts: counts(s.Dropped)},
			{What: "panics", Counts: counts(s.Panics)},
			{What: "dumps", Counts: counts(s.Dumps)},
		},
	}
	budgets := slices.Clone(s.Budgets)
	slices.SortStableFunc(budgets, func(a, b BudgetStatus) int { return cmp.Compare(urgency(a), urgency(b)) })
	o.More = max(0, len(budgets)-maxShown)
	for _, b := range budgets[:len(budgets)-o.More] {
		o.Budgets = append(o.Budgets, newBudget(b))
	}
	return o
}

// urgency orders the budgets of the page.
func urgency(b BudgetStatus) int {
	switch b.State {
	case "firing":
		return 0
	case "pending":
		return 1
	case "resolved":
		return 2
	}
	if b.Warning != "" {
		return 3
	}
	return 4
}

func newBudget(b BudgetStatus) page.Budget {
	r := b.Result
	p := page.Budget{
		State: b.State, Since: b.Since, Warning: b.Warning,
		Value: r.Share, Low: r.Low, High: r.High, Limit: r.Limit, Unit: r.Unit,
		Samples: r.Samples, Reason: r.Reason, Verdicts: counts(b.Verdicts), Over: r.Over, Dump: b.Dump,
	}
	sentence := b.Budget
	p.Name, sentence.Name = sentence.Name, ""
	p.Sentence = sentence.String()
	if r.Reason != "" || r.Verdict != budget.Inconclusive {
		p.Verdict = r.Verdict.String()
	}
	for _, m := range b.History {
		if m.Verdict == budget.Inconclusive {
			m.Value = math.NaN() // a gap
		}
		p.History = append(p.History, m.Value)
	}
	for _, o := range r.Offenders {
		p.Offenders = append(p.Offenders, page.Offender{
			Place: newPlace(o.Frame), Value: o.Share, Low: o.Low, High: o.High, Unit: offenderUnit(b.Budget, r.Unit),
			Blame: newPlace(o.Blame), In: newPlaces(o.Callers), Out: newPlaces(o.Callees),
		})
	}
	return p
}

func newPlace(f budget.Frame) page.Place {
	return page.Place{Name: f.Function, File: f.File, Line: f.Line}
}

func newPlaces(frames []budget.Frame) []page.Place {
	var list []page.Place
	for _, f := range frames[:min(len(frames), maxLinks)] {
		list = append(list, newPlace(f))
	}
	return list
}

func newDumps(infos []dump.Info) []page.Dump {
	var list []page.Dump
	for _, info := range infos {
		side := info.Sidecar
		d := page.Dump{ID: string(info.ID), Budget: info.Budget, Time: info.Time, Bytes: info.Bytes, Verdict: side.Verdict}
		if info.Err != nil {
			d.Broken = "the sidecar cannot be read"
		} else if set, err := budget.Parse(side.Sentence); err == nil && len(set) == 1 {
			d.Value = page.Amount(side.Share, unitOf(set[0]))
		}
		if len(side.Offenders) > 0 {
			d.Top = side.Offenders[0].Name
		}
		list = append(list, d)
	}
	return list
}

// counts orders a map by name.
func counts[N int | int64](m map[string]N) []page.Count {
	var list []page.Count
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if m[name] != 0 {
			list = append(list, page.Count{Name: name, N: int64(m[name])})
		}
	}
	return list
}
