package process

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Waiting for a core counts.
func TestWaited(t *testing.T) {
	before := goroutinesWaited()
	done := make(chan bool)
	n := 8 * runtime.GOMAXPROCS(0)
	for range n { // more than there are cores for
		go func() {
			for range 20 {
				for end := time.Now().Add(time.Millisecond); time.Now().Before(end); {
					continue
				}
				runtime.Gosched()
			}
			done <- true
		}()
	}
	for range n {
		<-done
	}
	if waited := goroutinesWaited() - before; waited < 10*time.Millisecond {
		t.Errorf("%d goroutines waited %v for %d cores", n, waited, runtime.GOMAXPROCS(0))
	}
	if runtime.GOOS == "linux" && threadsWaited() == 0 {
		t.Error("the kernel tells nothing of how long threads waited")
	}
}

// Each wait in the runtime's histogram stands for eight, and the bounds that are infinite for none.
func TestWaitedByHistogram(t *testing.T) {
	h := metrics.Float64Histogram{Buckets: []float64{math.Inf(-1), 0.001, 0.003, math.Inf(1)}, Counts: []uint64{10, 5, 2}}
	if got, want := waitedBy(&h), 8*(10*500*time.Microsecond+5*2*time.Millisecond+2*3*time.Millisecond); (got - want).Abs() > time.Microsecond {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestTrackedOf compares the factor with the toolchain's source.
func TestTrackedOf(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "src", "runtime", "runtime2.go"))
	if err != nil {
		t.Skipf("SKIPPED, THE FACTOR IS NOT VERIFIED: %v", err)
	}
	if want := fmt.Sprintf("gTrackingPeriod = %d\n", trackedOf); !strings.Contains(string(source), want) {
		t.Errorf("the runtime's source has no %q", want)
	}
}

// A thread that runs or waits for a core is seen, and one that sleeps is not.
func TestRunnable(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Linux's files tell")
	}
	var spins atomic.Bool
	spins.Store(true)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for spins.Load() {
			continue
		}
	}()
	is := func(want func(n int) bool, what string) {
		t.Helper()
		for range 1000 { // now and then the runtime itself has something to do, or nothing
			if want(Runnable()) {
				return
			}
			time.Sleep(time.Millisecond)
		}
		t.Errorf("%s: %d threads", what, Runnable())
	}
	is(func(n int) bool { return n > 1 }, "one that spins")
	spins.Store(false)
	<-ended
	is(func(n int) bool { return n == 1 }, "only the caller")
}
