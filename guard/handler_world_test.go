package guard

import (
	"context"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/check"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/profiler"
)

// stillGuard is a guard without a loop: its pages show the budgets as they were
// put there, and its live profiles are what capture says.
func stillGuard(t testing.TB, capture func(context.Context, time.Duration) (profiler.Window, error), entries ...*entry) *Guard {
	t.Helper()
	g := &Guard{
		module: "example.com/shop", done: make(chan struct{}), active: context.Background(), cancel: func() {},
		seams:   seams{Process: loop.Process{Source: source(capture)}},
		budgets: &roster{entries: entries, of: map[*loop.Budget]*entry{}},
	}
	for _, e := range entries {
		g.budgets.of[e.Budget] = e
	}
	g.status = Status{State: Running, Started: time.Now(), Windows: map[string]int{"ok": 3}, Dumps: map[string]int64{}}
	return g
}

// entryOf is a budget of which nothing is known yet.
func entryOf(sentence string) *entry {
	p, err := newRoster(&Config{Budgets: budget.Must(sentence), Every: minute, Window: 10 * second}, nil)
	if err != nil {
		panic(err)
	}
	return p.entries[0]
}

// A source is the function that takes its windows.
type source func(context.Context, time.Duration) (profiler.Window, error)

func (s source) Capture(ctx context.Context, d time.Duration) (profiler.Window, error) {
	return s(ctx, d)
}

// standingOf is a budget's standing after one result.
func standingOf(sentence string, state alert.State, r budget.Result) *entry {
	e := entryOf(sentence)
	r.Budget = e.Of
	e.alert.State, e.status.Result, e.status.Accept = state, r, check.Accepting(&r, 1)
	e.status.Verdicts[r.Verdict.String()] = 1
	return e
}

// offendedBy is a failing result with one offender.
func offendedBy(function string) budget.Result {
	return budget.Result{
		Verdict: budget.Fail, Value: 0.7, Low: 0.6, High: 0.8, Limit: 0.2, Unit: "ratio", Samples: 900, Hits: 630, Over: 1,
		Reason: function + " is at 70%",
		Offenders: []budget.Offender{{
			Frame: budget.Frame{Function: function, File: "print.go", Line: 3, Share: 0.7, Amount: 6.3}, Low: 0.6, High: 0.8,
			Blame:   budget.Frame{Function: "main.page", File: "page.go", Line: 46},
			Callers: []budget.Frame{{Function: "main.page", Share: 0.9}},
		}},
	}
}
