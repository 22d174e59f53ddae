package story

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/profguard/profguard/guard"
)

// Until looks at what a guard knows until it is as it is wanted. It is for what no
// event tells, such as what a window has measured; [Story.Await] is for events.
func Until(ctx context.Context, g *guard.Guard, wanted func(guard.Status) bool) (guard.Status, error) {
	look := time.NewTicker(100 * time.Millisecond) // a look costs microseconds
	defer look.Stop()
	for {
		s := g.Status()
		if wanted(s) {
			return s, nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return s, fmt.Errorf("story: what was expected of the guard did not come (%w): is the machine very busy? Its last window:%s",
				context.Cause(ctx), tell(s))
		}
	}
}

// tell says in a line each what became of the last window, and of the budgets.
func tell(s guard.Status) string {
	var text strings.Builder
	fmt.Fprintf(&text, "\n  %s %s", s.Window.Outcome, s.Window.Reason)
	for _, b := range s.Budgets {
		fmt.Fprintf(&text, "\n  %s %s: %s", b.Result.Verdict, b.Name, b.Result.Reason)
	}
	return text.String()
}

// Budget is what a guard knows about the budget of this name. Without one it is
// about nothing.
func Budget(s guard.Status, name string) guard.BudgetStatus {
	for _, b := range s.Budgets {
		if b.Name == name {
			return b
		}
	}
	return guard.BudgetStatus{}
}
