package check

import (
	"context"
	"strings"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/label"
)

// TestCheckTenants: the work of one tenant is a failure, and a label that work never sets decides nothing. Work keeps
// the check's own label beside its own.
func TestCheckTenants(t *testing.T) {
	t.Parallel()
	needProfiler(t)
	got := tryCheck(t, Config{Max: ample}, budget.Must("no tenant above 30% except blue", "no user above 30%"), func(ctx context.Context) {
		for range restEvery {
			label.Do(ctx, "tenant", "acme", func(context.Context) { mix(1) })
			label.Do(ctx, "tenant", "blue", func(context.Context) { mix(0) })
		}
	})
	if got.verdict() != "fail" || !strings.Contains(got.text(), "tenant acme at ") || !strings.Contains(got.text(), `label.Do(ctx, "user", value, f) inside work`) {
		t.Errorf("%s:\n%s\n%s", got.verdict(), got.problem, got.text())
	}
}
