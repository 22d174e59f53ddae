package check

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
)

// Waiting for a core counts, and sleeping does not.
func TestLoad(t *testing.T) {
	before := goroutinesWaited()
	done := make(chan bool)
	n := 8 * runtime.GOMAXPROCS(0)
	for range n { // more than there are cores for
		go func() {
			for range 20 {
				mix(1)
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
	start := time.Now()
	for _, tt := range []struct {
		waited time.Duration
		want   bool
	}{{0, false}, {20 * time.Millisecond, false}, {200 * time.Millisecond, true}} {
		if got := isBusy(load{start, time.Hour}, load{start.Add(time.Second), time.Hour + tt.waited}); got != tt.want {
			t.Errorf("%v in a second: busy %t", tt.waited, got)
		}
	}
}

// What sleeps on a machine that keeps it from nothing is a mistake of the test. On one
// that is busy it is not known, and takes up to four times as long.
func TestCheckBusy(t *testing.T) {
	needProfiler(t)
	nap := func(ctx context.Context) { pause(ctx, 5*time.Millisecond) }
	for _, tt := range []struct {
		name    string
		machine func() load
		budget  string
		want    string
		say     string
	}{
		{"idle", idle, "no function above 20% cumulative", "open", "Work sleeps or waits"},
		{"crowded", crowded, "no function above 20% cumulative", "skipped", "the machine was busy: goroutines and threads of this process waited "},
		{"crowded, and counted", crowded, "process below 1s per call", "pass", "surely below"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			on(t, tt.machine)
			got := tryCheck(t, Config{Max: 2100 * time.Millisecond}, budget.Must(tt.budget), nap)
			if got.verdict() != tt.want || !strings.Contains(got.text(), tt.say) {
				t.Errorf("%s, want %s, saying %q:\n%s", got.verdict(), tt.want, tt.say, got.text())
			}
			if took := time.Since(got.run.begun); tt.want == "skipped" && took < 8*time.Second {
				t.Errorf("it was given up after %v", took)
			}
		})
	}
}
