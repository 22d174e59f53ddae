package check

import (
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
)

func TestIsBusy(t *testing.T) {
	for _, tt := range []struct {
		waited time.Duration
		want   bool
	}{{0, false}, {200 * time.Millisecond, false}, {2 * time.Second, true}} {
		on(t, func() time.Duration { return time.Hour + tt.waited })
		r := &clock{begun: time.Now().Add(-10 * time.Second), waited: time.Hour}
		if got := r.busy(); got != tt.want {
			t.Errorf("%v in ten seconds: busy %t", tt.waited, got)
		}
	}
}

// What sleeps on a machine that keeps it from nothing is a mistake of the test. On one
// that is busy it is not known, and takes up to four times as long.
func TestCheckBusy(t *testing.T) {
	if !apart(t) {
		return
	}
	needProfiler(t)
	nap := func(ctx context.Context) { pause(ctx, 5*time.Millisecond) }
	for _, tt := range []struct {
		name    string
		machine func() time.Duration
		max     time.Duration
		budget  string
		want    string
		say     []string
	}{
		{"idle", idle, 2500 * time.Millisecond, "no function above 20% cumulative", "open", []string{"Work sleeps or waits", "could not be judged"}},
		{"crowded", crowded, 300 * time.Millisecond, "no function above 20% cumulative", "skipped",
			[]string{"1 not decided (1 budget, ", "the machine was busy: goroutines and threads of this process waited ", "it went on for up to "}},
		{"crowded, and counted", crowded, ample, "process below 1s per call", "pass", []string{"the limit is 1s"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			on(t, tt.machine)
			got := tryCheck(t, Config{Max: tt.max}, budget.Must(tt.budget), nap)
			if got.verdict() != tt.want {
				t.Errorf("%s, want %s:\n%s", got.verdict(), tt.want, got.text())
			}
			for _, say := range tt.say {
				if !strings.Contains(got.text(), say) {
					t.Errorf("it does not say %q:\n%s", say, got.text())
				}
			}
			if took := time.Since(got.run.begun); tt.want == "skipped" && took < 39*tt.max/10 {
				t.Errorf("it was given up after %v", took)
			}
		})
	}
}

// However busy the machine is, the test fails where no time would decide it: its deadline
// is too near, or the counter of its unit stands still.
func TestCheckMistakeOnBusyMachine(t *testing.T) {
	if !apart(t) {
		return
	}
	on(t, crowded)
	still := func(most time.Duration) Config {
		return Config{Max: most, Work: map[string]func() float64{"order": func() float64 { return 0 }}}
	}
	for _, tt := range []struct {
		budget string
		config Config
		left   time.Duration // until the test's deadline
		say    string
	}{
		{"check.burnGuilty below 99%", Config{}, reserve / 2, "raise -timeout of go test"},
		{"heap steady", Config{}, reserve / 2, "raise -timeout of go test"},
		{"check.burnGuilty below 20us per order", still(300 * time.Millisecond), time.Hour, `no "order" was counted`},
		{"process below 1KiB per order of allocs", still(time.Second), time.Hour, `no "order" was counted`},
	} {
		tb := newFakeTB(t)
		tb.deadline = time.Now().Add(tt.left)
		got := tryCheckAs(tb, tt.config, budget.Must(tt.budget), func(ctx context.Context) { pause(ctx, time.Millisecond) })
		text := got.problem + got.text()
		if verdict := got.verdict(); verdict != "broken" && verdict != "open" || !strings.Contains(text, tt.say) {
			t.Errorf("%s: %s, and it does not say %q:\n%s", tt.budget, verdict, tt.say, text)
		}
	}
}

// A first call that takes longer than all windows together leaves a block all the same,
// and so what is known without more time.
func TestCheckSlowFirstCall(t *testing.T) {
	if !apart(t) {
		return
	}
	on(t, idle)
	first := true
	config := Config{Max: 1500 * time.Millisecond, Work: map[string]func() float64{"order": func() float64 { return 0 }}}
	got := tryCheck(t, config, budget.Must("check.burnGuilty below 20us per order"), func(ctx context.Context) {
		if first {
			first = false
			time.Sleep(900 * time.Millisecond)
		}
		mixAndRest(ctx, 0.5)
	})
	if text := got.text(); strings.Contains(text, "could be used") {
		t.Errorf("the windows were good:\n%s", text)
	}
}

// busyLoops is how many processes keep the cores busy in TestFault_74_BusyMachine.
const busyLoops = 6

// TestFault_74_BusyMachineLoop is one of them. It ends with its input.
func TestFault_74_BusyMachineLoop(t *testing.T) {
	if !*asChild {
		t.Skip("is started by TestFault_74_BusyMachine")
	}
	ended := make(chan error)
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		ended <- err
	}()
	for {
		select {
		case <-ended:
			return
		default:
			mix(0.5)
		}
	}
}

// TestFault_74_BusyMachine: a check on a machine with six busy loops beside it fails only
// on proof, and passes nothing that is guilty.
func TestFault_74_BusyMachine(t *testing.T) {
	if testing.Short() {
		t.Skip("keeps all cores busy for seconds")
	}
	if !apart(t) {
		return
	}
	needProfiler(t)
	for range busyLoops {
		loop := exec.Command(os.Args[0], "-test.run=^TestFault_74_BusyMachineLoop$", "-check.child")
		in, err := loop.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := loop.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			in.Close()
			if err := loop.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	for _, tt := range []struct {
		name, budget string
		max          time.Duration
		work         func(context.Context)
		not          []string
	}{
		{"innocent", "check.burnGuilty below 60%", 2 * time.Second, func(context.Context) { mix(0.1) }, []string{"fail", "open"}},
		{"guilty", "check.burnGuilty below 5%", 2 * time.Second, func(context.Context) { mix(1) }, []string{"pass", "open"}},
		{"no time", "check.burnGuilty below 50%", 200 * time.Millisecond, func(context.Context) { mix(0.5) }, []string{"fail", "open"}},
		{"counted", "process below 10s per call", ample, func(context.Context) { mix(0.5) }, []string{"fail", "open", "skipped"}},
		{"nothing left", "no goroutine leaked", ample, func(ctx context.Context) {
			go func() { <-ctx.Done() }()
			mix(0.5)
		}, []string{"fail", "open", "skipped"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // the loops run as long as the last of these
			got := tryCheck(t, Config{Max: tt.max}, budget.Must(tt.budget), tt.work)
			if slices.Contains(append(tt.not, "broken"), got.verdict()) {
				t.Errorf("%s:\n%s\n%s", got.verdict(), got.problem, got.text())
			}
		})
	}
}

// TestFault_7_CheckWithoutSamples: a handler of SIGPROF that somebody has replaced is no
// pass of a check, whether it is replaced at the start or on the way. A busy machine has
// fewer samples and uses less CPU.
func TestFault_7_CheckWithoutSamples(t *testing.T) {
	set := budget.Must("example.com/shop.work below 2ms per call", "no function above 50ms per call", "example.com/shop.rest below 95%")
	stack := []string{"example.com/shop.work", "example.com/shop.TestIt.func1", workPackage + ".(*Worker).loop", workPackage + ".(*Worker).run.func3"}
	const full = 100 * time.Millisecond
	for _, tt := range []struct {
		name    string
		samples int64         // of one window with CPU
		first   int           // windows with samples, of 60
		cpu     time.Duration // of a window
		machine func() time.Duration
		want    bool
		cause   cause
	}{
		{"all sampled", 10, 60, full, idle, true, noTime},
		{"sampled on a busy machine", 1, 60, 10 * time.Millisecond, crowded, true, noTime},
		{"asleep", 0, 0, 4 * time.Millisecond, idle, true, noTime},
		{"unknown CPU", 10, 1, 0, idle, true, noTime},
		{"taken early", 3, 1, full, idle, false, mistake},
		{"taken on the way", 10, 20, full, idle, false, mistake},
		{"taken on a busy machine", 3, 1, full, crowded, false, noTime},
		{"little CPU", 1, 1, 6 * time.Millisecond, idle, false, mistake},
		{"little CPU on a busy machine", 1, 1, 6 * time.Millisecond, crowded, false, noTime},
	} {
		t.Run(tt.name, func(t *testing.T) {
			on(t, tt.machine)
			r, c := replayed(t, set)
			p := labelledProfile("ours", tt.samples, stack)
			w := windowOf(t, p, tt.cpu)
			p.Sample = nil
			without := windowOf(t, p, tt.cpu)
			for i := range 60 {
				if i == tt.first {
					w = without
				}
				r.worker.Calls.Add(500) // of 0.2 ms
				c.add(r, w)
			}
			r.decided(t)
			for i := range r.outcomes {
				o := r.reported(i)
				sure := strings.Contains(o.Reason, "something else holds the profiler's signal")
				holds := sure || strings.Contains(o.Reason, "on an idle one, look for another user of SIGPROF")
				if holds == tt.want || sure && tt.cause != mistake {
					t.Errorf("%s: %v: %s", o.Budget, o.Verdict, o.Reason)
				}
				if !tt.want && (o.Verdict != budget.Inconclusive || o.cause != tt.cause) {
					t.Errorf("%s: %v, cause %d, want inconclusive, cause %d: %s", o.Budget, o.Verdict, o.cause, tt.cause, o.Reason)
				}
			}
		})
	}
}
