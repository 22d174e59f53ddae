package check

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
)

var strict = flag.Bool("check.strict", false, "the Strict of checks that TestCheckFlags starts")

var asChild = flag.Bool("check.child", false, "run the tests that TestCheckFlags starts in a process of their own")

func TestCheckChild(t *testing.T) {
	if !*asChild {
		t.Skip("is started by TestCheckFlags")
	}
	calls := 0
	defer func() { t.Logf("work was called %d times", calls) }()
	Run(t, Config{Max: ample, Strict: *strict}, budget.Must("check.burnGuilty below 60% cumulative"), func(ctx context.Context) { calls++; mixAndRest(ctx, 0.1) })
	t.Log("the test went on")
}

func TestCheckChildGuilty(t *testing.T) {
	if !*asChild {
		t.Skip("is started by TestCheckFlags")
	}
	Run(t, Config{Max: ample}, budget.Must("check.burnGuilty absent"), func(ctx context.Context) { mixAndRest(ctx, 1) })
}

func TestCheckChildNear(t *testing.T) {
	if !*asChild {
		t.Skip("is started by TestCheckFlags")
	}
	on(t, idle) // what is not decided is to fail
	Run(t, Config{Max: 250 * time.Millisecond, Strict: *strict}, budget.Must("check.burnGuilty below 30% cumulative"), func(context.Context) { mix(0.3) })
}

func TestCheckChildBusy(t *testing.T) {
	if !*asChild {
		t.Skip("is started by TestCheckFlags")
	}
	on(t, crowded)
	Run(t, Config{Max: 250 * time.Millisecond, Strict: *strict}, budget.Must("check.burnGuilty below 30% cumulative"), func(context.Context) { mix(0.3) })
}

func FuzzCheckChild(f *testing.F) {
	if !*asChild {
		f.Skip("is started by TestCheckFlags")
	}
	f.Add(1)
	f.Fuzz(func(t *testing.T, _ int) {
		Run(t, Config{Max: ample}, budget.Must("check.burnGuilty absent"), func(ctx context.Context) { mixAndRest(ctx, 1) })
	})
}

func BenchmarkCheckChild(b *testing.B) {
	if !*asChild {
		b.Skip("is started by TestCheckFlags")
	}
	check(b, budget.Must("check.burnGuilty below 99% cumulative", "check.burnGuilty below 98% flat", "hash: process below 10s per call"), func(context.Context) { mix(0.2) })
}

func BenchmarkCheckChildGuilty(b *testing.B) {
	if !*asChild {
		b.Skip("is started by TestCheckFlags")
	}
	// Where all samples were hits, it would take more of them.
	check(b, budget.Must("check.burnGuilty below 5% cumulative"), func(ctx context.Context) { mixAndRest(ctx, 0.7) })
}

func BenchmarkCheckChildBaseline(b *testing.B) {
	if !*asChild {
		b.Skip("is started by TestCheckFlags")
	}
	c := Config{BaselineFile: filepath.Join(os.TempDir(), "bench.pprof"), Update: true}
	r, problem := newRun(c, b, budget.Must("no function grows above 5 points"), func(context.Context) { mix(0.7) })
	if problem == "" {
		r.baseline = 40
		problem = r.do()
	}
	if _, err := os.Stat(c.BaselineFile); err != nil && problem == "" {
		b.Error(err)
	}
	b.Log(problem) // there may be no samples on a busy machine
}

// How Check behaves under go test's own flags.
func TestCheckFlags(t *testing.T) {
	t.Parallel()
	needProfiler(t)
	dir := t.TempDir()
	cpu := filepath.Join(dir, "cpu.pprof")
	for _, tt := range []struct {
		name string
		args []string
		fail bool
		want []string
	}{
		{"plain", []string{"-test.run=^TestCheckChild$"}, false, []string{"1 kept (", "the test went on"}},
		{"cpuprofile", []string{"-test.run=^TestCheckChild$", "-test.cpuprofile=" + cpu}, false, []string{"--- SKIP", "work was called 1 times", "holds the profiler"}},
		{"guilty, twice", []string{"-test.run=^TestCheckChildGuilty$", "-test.count=2"}, true, []string{"1 exceeded (", "/profguard-check-"}},
		{"artifacts", []string{"-test.run=^TestCheckChildGuilty$", "-test.artifacts", "-test.outputdir=" + dir}, true, []string{dir, "cpu.pprof"}},
		{"short", []string{"-test.run=^TestCheckChildNear$", "-test.short"}, false, []string{"1 not decided in the time given ("}},
		{"busy", []string{"-test.run=^TestCheckChildBusy$"}, false, []string{"--- SKIP", "1 not decided (", "it went on for up to "}},
		{"busy, strict", []string{"-test.run=^TestCheckChildBusy$", "-check.strict"}, true, []string{"--- FAIL", "1 not decided (", "Checker.Strict"}},
		{"not short", []string{"-test.run=^TestCheckChildNear$"}, true, []string{"could not be judged"}},
		{"fuzz", []string{"-test.run=^$", "-test.fuzz=^FuzzCheckChild$", "-test.fuzztime=3x", "-test.parallel=1", "-test.fuzzcachedir=" + filepath.Join(dir, "fuzz")}, false, []string{"PASS"}},
		{"bench", []string{"-test.run=^$", "-test.bench=^BenchmarkCheckChild$", "-test.benchtime=300ms"}, false, []string{"check.burnGuilty-%", "check.burnGuilty-2-%", "hash-ns/call", "ns/op", " not decided", " -benchtime "}},
		{"bench, one call", []string{"-test.run=^$", "-test.bench=^BenchmarkCheckChild$", "-test.benchtime=1x"}, false, []string{"3 not decided in the time given (", " -benchtime "}},
		{"bench, guilty", []string{"-test.run=^$", "-test.bench=^BenchmarkCheckChildGuilty$", "-test.benchtime=100x"}, true, []string{"1 exceeded (", "--- FAIL: BenchmarkCheckChildGuilty"}},
		{"bench, baseline", []string{"-test.run=^$", "-test.bench=^BenchmarkCheckChildBaseline$", "-test.benchtime=300x"}, false, nil},
		{"bench, cpuprofile", []string{"-test.run=^$", "-test.bench=^BenchmarkCheckChild$", "-test.benchtime=100ms", "-test.cpuprofile=" + cpu}, false, []string{"nothing was judged"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], append(tt.args, "-check.child", "-test.v")...)
			cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
			out, err := cmd.CombinedOutput()
			// A benchmark ends when it has called its work as often as it was told to. Beside
			// 16 busy loops that was seen to bring no sample at all. Then nothing may fail or
			// be measured.
			says := func(text string) bool { return strings.Contains(string(out), text) }
			if err == nil && says("\nBenchmark") && says(" not decided in the time given (") && says("the machine was busy: ") {
				t.Logf("the benchmark had too few samples: %s", out)
				return
			}
			if (err != nil) != tt.fail {
				t.Errorf("%v, want a failure: %v", err, tt.fail)
			}
			for _, s := range tt.want {
				if !strings.Contains(string(out), s) {
					t.Errorf("it does not say %q", s)
				}
			}
			// What is said is said at the line of the test that has called, and not at one of ours.
			for line := range strings.Lines(string(out)) {
				if place, _, said := strings.Cut(line, ": guard.Check: "); said && !strings.HasPrefix(strings.TrimSpace(place), "flags_test.go:") {
					t.Errorf("it is said at another line: %s", line)
				}
			}
			if n := strings.Count(string(out), "1 exceeded ("); tt.name == "guilty, twice" && n != 2 {
				t.Errorf("it fails %d times", n)
			}
			if t.Failed() {
				t.Logf("%s", out)
			}
		})
	}
	t.Cleanup(func() {
		if info, err := os.Stat(cpu); err != nil || info.Size() == 0 {
			t.Errorf("the profile that was asked for: %v, %v", info, err)
		}
	})
}

// A program that imports guard for production has nothing of package testing.
func TestCheckLinksNoTesting(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "github.com/profguard/profguard/guard").CombinedOutput()
	if err != nil {
		t.Skipf("go list: %v: %s", err, out)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 50 {
		t.Fatalf("only %d packages: %s", len(deps), out)
	}
	for _, d := range deps {
		if d == "testing" {
			t.Error("guard links package testing")
		}
	}
}

// A unit of work may have labels with blanks, which the name of a metric may not.
func TestMetricOf(t *testing.T) {
	for sentence, want := range map[string]string{
		`process below 1s per rows{kind="a b"}`: `process-ns/rows{kind="a-b"}`,
		"no function above 20%":                 "no-function-%",
		"checkout: crypto/tls below 0.2 cores":  "checkout-cores",
	} {
		set := budget.Must(sentence)
		if _, name, unit := metricOf(reported{Result: budget.Result{Budget: set[0]}, rule: rulesOf(t, set)[0]}); name+unit != want {
			t.Errorf("%s: %s%s, want %s", sentence, name, unit, want)
		}
	}
}
