package guard

import (
	"flag"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/profguard/profguard/internal/profiler"
)

// long is for tests that take half a minute on an idle machine in full.
var long = flag.Bool("long", false, "run faults 29 and 51 with the numbers of the matrix instead of a fiftieth and a twentieth")

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		os.Exit(play(role))
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if programs != "" {
			os.RemoveAll(programs)
		}
		os.Exit(code)
	}))
}

// needProfiler skips tests that cannot work under go test -cpuprofile.
func needProfiler(t testing.TB) {
	t.Helper()
	if f := flag.Lookup("test.cpuprofile"); f != nil && f.Value.String() != "" {
		t.Skip("needs the profiler, which go test -cpuprofile holds")
	}
}

// noLeaks fails the test if goroutines are left when it and its cleanups are
// through. Tests in a synctest bubble need it not: the bubble sees to it.
func noLeaks(t *testing.T) {
	t.Helper()
	known := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, known) })
}

// patience is how long a test waits for what takes milliseconds on a machine
// that is not overloaded.
const patience = time.Minute

// eventually waits for something to become true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// outcome waits for a guard to have had a window with an outcome.
func outcome(t *testing.T, g *Guard, o profiler.Outcome) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("windows %v, the last: %s", g.Status().Windows, g.Status().Window.Reason)
		}
	}()
	eventually(t, "a window that is "+o.String(), func() bool { return hasOutcome(g, o) })
}
