package profguard_test

import (
	"context"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
)

func TestCheckout(t *testing.T) {
	// README: test
	guard.Check(t, budget.Must("regexp.compile below 5%", "process below 2ms per call"), func(ctx context.Context) {
		serveOneCheckout(ctx)
	})
	// README: end
}
