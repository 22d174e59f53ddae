package check

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/judge"
)

const (
	checkPackage = "github.com/profguard/profguard/internal/check"
	workPackage  = "github.com/profguard/profguard/internal/work"
)

// TestMain lets more tests run side by side than there are cores: they wait as much as
// they compute.
func TestMain(m *testing.M) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if !asked {
		if err := flag.Set("test.parallel", "6"); err != nil {
			panic(err) // 6 is a constant
		}
	}
	goleak.VerifyTestMain(m)
}

var isApart = flag.Bool("check.apart", false, "run a test in this process that is usually given one of its own")

// apart runs a test in a process of its own, beside others, and reports whether this is
// that process. What such a test is about is the process's: its CPU, its profiles, its
// goroutines without a label, or a machine of some load. Of a test whose parts call it, each
// part has a process.
func apart(t *testing.T) bool {
	t.Helper()
	if *isApart {
		return true
	}
	needProfiler(t)
	t.Parallel()
	args := []string{"-test.run=^" + strings.ReplaceAll(regexp.QuoteMeta(t.Name()), "/", "$/^") + "$", "-test.v", "-test.timeout=25m", "-check.apart"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	out, err := exec.CommandContext(t.Context(), os.Args[0], args...).CombinedOutput()
	if t.Logf("%s", out); err != nil {
		t.Errorf("in a process of its own: %v", err)
	}
	return false
}

// rulesOf are the rules of budgets.
func rulesOf(t *testing.T, set budget.Set) []judge.Rule {
	t.Helper()
	rules, err := bridge.Rules(set)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// idle and crowded are machines that keep nothing, and everything, from running.
func idle() time.Duration { return 0 }

func crowded() time.Duration { return time.Duration(time.Now().UnixNano()) }

// on pretends that a test runs on a machine of some load.
func on(t *testing.T, machine func() time.Duration) {
	was := waited
	waited = machine
	t.Cleanup(func() { waited = was })
}

// check is what guard.Check does.
func check(t TB, budgets budget.Set, work func(context.Context)) {
	t.Helper()
	Run(t, Config{}, budgets, work)
}
