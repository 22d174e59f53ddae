package guard_test

import (
	"context"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
)

func serveOneCheckout(context.Context) {}

// A test says what its code may cost.
func ExampleCheck() {
	TestCheckout := func(t *testing.T) {
		guard.Check(t, budget.Must(
			"no function above 20% cumulative",
			"encoding/json below 40us per call",
			"portlist absent",
			"no goroutine leaked",
		), func(ctx context.Context) {
			serveOneCheckout(ctx)
		})
	}
	_ = TestCheckout
}

// A check that compares with a saved profile, and writes it under -update.
func ExampleChecker() {
	update := false // a flag: go test -update
	TestCheckout := func(t *testing.T) {
		guard.Checker{
			Max:          time.Minute,
			BaselineFile: "testdata/checkout.pprof",
			Update:       update,
		}.Check(t, budget.Must("no function grows above 5 points"), serveOneCheckout)
	}
	_ = TestCheckout
}
