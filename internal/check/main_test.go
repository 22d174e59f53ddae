package check

import (
	"context"
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/profguard/profguard/budget"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// patience is how long a test waits for what takes milliseconds on a machine
// that is not overloaded.
const patience = 20 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// idle and crowded are machines that keep nothing, and everything, from running.
func idle() load { return load{at: time.Now()} }

func crowded() load { return load{time.Now(), time.Duration(time.Now().UnixNano())} }

// on pretends that a test runs on a machine of some load.
func on(t *testing.T, machine func() load) {
	was := readLoad
	readLoad = machine
	t.Cleanup(func() { readLoad = was })
}

// check is what guard.Check does.
func check(t TB, budgets budget.Set, work func(context.Context)) {
	t.Helper()
	Run(t, Config{}, budgets, work)
}
