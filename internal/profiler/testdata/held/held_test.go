package held

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiler"
)

// The outcome before m.Run, when a guard that TestMain starts would take its
// first window.
var before profiler.Window

func TestMain(m *testing.M) {
	before, _ = profiler.Process().Capture(context.Background(), 50*time.Millisecond)
	os.Exit(m.Run())
}

func TestHubYields(t *testing.T) {
	if !profiler.HeldByTest() || before.Outcome != profiler.Busy {
		t.Fatalf("held: %t; before m.Run: %v: %s", profiler.HeldByTest(), before.Outcome, before.Reason)
	}
	// Work for the profile, which a hub that meddled would cut short. Beside others it
	// takes longer.
	start, cpu := time.Now(), process.ProcessCPU()
	for time.Since(start) < 700*time.Millisecond || process.ProcessCPU()-cpu < 300*time.Millisecond {
		if w, _ := profiler.Process().Capture(context.Background(), time.Millisecond); w.Outcome != profiler.Busy {
			t.Fatalf("%v: %s", w.Outcome, w.Reason)
		}
		work()
	}
	t.Log(before.Reason)
}

//go:noinline
func work() {
	x := 1
	for range 1_000_000 {
		x = x*31 + 1
	}
	sink = x
}

var sink int
