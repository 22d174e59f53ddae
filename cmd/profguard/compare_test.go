package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/profguard/profguard/internal/compare"
)

// asCommand makes the test binary the command, in a process of its own.
const asCommand = "PROFGUARD_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// repository is one with a benchmark that has changed.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	benchmark := func(steps string) string {
		return "package shop\n\nimport \"testing\"\n\nvar sink int\n\nfunc BenchmarkSum(b *testing.B) {\n\tfor b.Loop() {\n\t\tfor i := range " + steps + " {\n\t\t\tsink += i ^ sink<<1\n\t\t}\n\t}\n}\n"
	}
	write("go.mod", "module example.com/shop\n\ngo 1.26\n")
	write("shop_test.go", benchmark("10_000"))
	git("init", "-q")
	git("add", "-A")
	git("commit", "-q", "-m", "base")
	write("shop_test.go", benchmark("10_001"))
	return dir
}

// TestCompareMistakes: wrong use is told before anything is built.
func TestCompareMistakes(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "expected -base with the revision to compare with"},
		{[]string{"-base", "HEAD", "-o", "yaml"}, "expected benchstat, github, json, junit, markdown or text"},
		{[]string{"-base", "HEAD", "-o", "markdown="}, "-o: open : no such file"},
		{[]string{"-base", "HEAD", "-time", "-1s"}, "-time: expected a duration above zero, found -1s"},
		{[]string{"-base", "HEAD", "-budget", "process below 2 cores"}, `expected a growth of the process per call, such as "process grows below 5% per call"`},
		{[]string{"-base", "HEAD", "-budget", "no function grows above 5 points"}, "other budgets are for profguard check and guard.Check"},
		{[]string{"-base", "HEAD", "-budget", "process grows below"}, "-budget: "},
		{[]string{"-base", "HEAD", "-budget", ""}, `invalid value "" for flag -budget: expected a value, found none`},
		{[]string{"-base", "HEAD", "-budget", "# later"}, `-budget "# later": there is no budget in it`},
		{[]string{"-base", "HEAD", "-bench", "("}, "-bench: error parsing regexp"},
	} {
		var out, errs bytes.Buffer
		if status := run(t.Context(), append([]string{"compare"}, c.args...), nil, &out, &errs); status != exitMisuse || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%q: expected %d and %q, found %d and %q", c.args, exitMisuse, c.want, status, errs.String())
		}
	}
}

// TestCompareProgress: a log has a line for each kind of work, and one each 30 s while it takes long, also
// where nothing is reported meanwhile.
func TestCompareProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		line := progressLog{w: &out}
		line.start()
		for _, doing := range []string{"reading the base", "building example.com/a", "building example.com/b"} {
			line.show(compare.Progress{Doing: doing})
			time.Sleep(time.Second)
		}
		for i := range 5 {
			line.show(compare.Progress{Doing: "measuring", Decided: 1, All: 3, Pairs: i, Left: 2 * time.Minute})
			time.Sleep(10 * time.Second)
		}
		time.Sleep(30 * time.Second) // in one pair
		line.stop()
		want := `reading the base
building example.com/a
measuring: 1 of 3 decided, 0 pairs, at most 2m0s left
measuring: 1 of 3 decided, 2 pairs, at most 2m0s left
measuring: 1 of 3 decided, 4 pairs, at most 2m0s left
`
		if out.String() != want {
			t.Errorf("expected:\n%s\nfound:\n%s", want, out.String())
		}
	})
}

// TestCompareSignals: on a signal the command prints what is known, ends what it has started, and
// leaves nothing behind; killed, it leaves no processes.
func TestCompareSignals(t *testing.T) {
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("looks for processes in /proc")
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			temp := t.TempDir()
			cache, err := exec.Command("go", "env", "GOCACHE").Output()
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0], "compare", "-base", "HEAD", "-budget", "process grows below 0.01% per call", "./...")
			cmd.Dir = repository(t)
			cmd.Env = append(os.Environ(), asCommand+"=1", "TMPDIR="+temp, "XDG_CACHE_HOME="+t.TempDir(), "GOCACHE="+strings.TrimSpace(string(cache)))
			var out bytes.Buffer
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for len(running(temp, "-test.benchtime")) == 0 { // until it measures
				if ctx.Err() != nil {
					t.Fatal("it does not measure")
				}
				time.Sleep(20 * time.Millisecond) // a look at all processes takes milliseconds
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if signal == syscall.SIGKILL {
				for len(running(temp, "")) > 0 && ctx.Err() == nil {
					time.Sleep(20 * time.Millisecond)
				}
			} else {
				if code := cmd.ProcessState.ExitCode(); code != exitUndecided || !strings.Contains(out.String(), "interrupted after") {
					t.Errorf("found exit status %d, and printed:\n%s", code, out.String())
				}
				left, err := os.ReadDir(temp)
				if err != nil || len(left) > 0 {
					t.Errorf("%v was left behind (%v)", left, err)
				}
			}
			if left := running(temp, ""); len(left) > 0 {
				t.Errorf("left running: %q", left)
			}
		})
	}
}

// running are the command lines of processes with both texts.
func running(texts ...string) (lines []string) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		line, err := os.ReadFile(path)
		all := err == nil && len(line) > 0
		for _, text := range texts {
			all = all && bytes.Contains(line, []byte(text))
		}
		if all {
			lines = append(lines, string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		}
	}
	return lines
}
