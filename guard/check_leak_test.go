package guard

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
)

var noLeak = budget.Must("no goroutine leaked")

// Nobody else has the channel: the goroutine is blocked for good.
func TestCheckChildLeak(t *testing.T) {
	if !*asChild {
		t.Skip("is started by TestCheckGoroutineLeakProfile")
	}
	Check(t, noLeak, func(context.Context) {
		ch := make(chan int)
		go func() { ch <- 1 }()
	})
}

// What stays, and may go on yet, is left all the same.
func TestCheckChildLater(t *testing.T) {
	if !*asChild {
		t.Skip("is started by TestCheckGoroutineLeakProfile")
	}
	Check(t, noLeak, func(context.Context) {
		go time.Sleep(time.Hour)
	})
}

func TestCheckChildNoLeak(t *testing.T) {
	if !*asChild {
		t.Skip("is started by TestCheckGoroutineLeakProfile")
	}
	Check(t, noLeak, func(context.Context) {
		ch := make(chan int)
		go func() { ch <- 1 }()
		<-ch
	})
}

// The runtime's own profile of goroutines that are blocked for good is linked
// only under an experiment, so a test binary is built with it.
func TestCheckGoroutineLeakProfile(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a test binary with GOEXPERIMENT=goroutineleakprofile, half a minute when it is not in the cache")
	}
	if *asChild {
		t.Skip("is the parent")
	}
	// -vet=off: it was vetted when this test was built.
	cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-run=^TestCheckChild(Leak|Later|NoLeak)$", "-v", guardPackage, "-check.child")
	cmd.Env = append(os.Environ(), "GOEXPERIMENT=goroutineleakprofile", "TMPDIR="+t.TempDir())
	data, err := cmd.CombinedOutput()
	out := string(data)
	switch {
	case strings.Contains(out, "unknown GOEXPERIMENT"):
		t.Skipf("this toolchain has no such experiment: %s", out)
	case err == nil:
		t.Errorf("leaks pass:\n%s", out)
	}
	for _, tt := range []struct {
		test string
		fail bool
		want string
	}{
		{"TestCheckChildLeak", true, "; the runtime knows all of them to be blocked for good"},
		{"TestCheckChildLater", true, "; the runtime knows none of them to be blocked for good"},
		{"TestCheckChildNoLeak", false, "none is left of what "},
	} {
		_, own, _ := strings.Cut(out, "=== RUN   "+tt.test+"\n")
		own, _, _ = strings.Cut(own, "=== RUN ")
		if !strings.Contains(own, tt.want) || strings.Contains(own, "--- FAIL: "+tt.test+" ") != tt.fail {
			t.Errorf("%s: want it to fail %t, saying %q:\n%s", tt.test, tt.fail, tt.want, out)
		}
	}
}
