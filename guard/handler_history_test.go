package guard

import (
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
)

// The page draws how a budget's value went, and an hour of it is kept.
func TestHistory(t *testing.T) {
	e := standingOf("goroutines below 5000", alert.Inactive, budget.Result{})
	now := time.Now()
	for i := range maxHistory + 10 {
		e.take(budget.Result{Budget: e.budget, Verdict: budget.Pass, Share: float64(i), Limit: 5000, Unit: "count", Reason: "x"}, now, time.Duration(i)*time.Minute)
	}
	g := stillGuard(t, nil, e)
	if h := g.Status().Budgets[0].History; len(h) != maxHistory || h[0].Value != 10 {
		t.Errorf("%d values from %v on, want %d from 10 on", len(h), h[0].Value, maxHistory)
	}
	if page := body(t, ask(g.Handler(), "GET", "/")); !strings.Contains(page, `class="spark"`) {
		t.Error("no history on the page")
	}
}
