package guard

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// programs is where sigprofProgram is built. TestMain removes it.
var programs string

// sigprofProgram builds testdata/sigprof, once for all tests.
var sigprofProgram = sync.OnceValues(func() (string, error) {
	var err error
	if programs, err = os.MkdirTemp("", "profguard-test-"); err != nil {
		return "", err
	}
	program := filepath.Join(programs, "sigprof")
	if out, err := exec.Command("go", "build", "-o", program, "./testdata/sigprof").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
})

// Faults that take C: a program with a guard in it, built from testdata/sigprof.
func sigprof(t *testing.T, args ...string) []string {
	t.Helper()
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("SKIPPED, THE FAULT IS NOT TESTED: no go command")
	}
	env, err := exec.Command(tool, "env", "CGO_ENABLED", "CC").Output()
	if err != nil {
		t.Fatal(err)
	}
	settings := strings.Fields(string(env))
	if len(settings) < 2 || settings[0] != "1" {
		t.Skipf("SKIPPED, THE FAULT IS NOT TESTED: cgo is off (%q)", settings)
	}
	if _, err := exec.LookPath(settings[1]); err != nil {
		t.Skipf("SKIPPED, THE FAULT IS NOT TESTED: %v", err)
	}
	program, err := sigprofProgram()
	if err != nil {
		t.Fatal(err)
	}
	var printed []string
	for _, arg := range args {
		out, err := exec.CommandContext(t.Context(), program, arg).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", arg, err, out)
		}
		if strings.HasPrefix(string(out), "overloaded") {
			t.Skip("SKIPPED, THE FAULT IS NOT TESTED: the machine is overloaded")
		}
		printed = append(printed, string(out))
	}
	return printed
}

// A handler of SIGPROF that somebody has replaced is told by a busy process
// without samples, which never passes.
func TestFault_07_HandlerReplaced(t *testing.T) {
	t.Parallel() // in processes of its own
	if testing.Short() {
		t.Skip("builds programs with cgo, which wait")
	}
	out := sigprof(t, "keep", "replace")
	if want := "ok: \n1 windows, 1 passed, 0 failed\n"; out[0] != want {
		t.Errorf("the clean twin: %q, want %q", out[0], want)
	}
	if !strings.HasPrefix(out[1], "starved: no sample for ") || !strings.HasSuffix(out[1], "1 windows, 0 passed, 0 failed\n") {
		t.Errorf("replaced: %q", out[1])
	}
}

// Samples that the runtime loses for real, for want of room.
func TestFault_10_SamplesLost(t *testing.T) {
	t.Parallel() // in a process of its own
	if testing.Short() {
		t.Skip("SKIPPED, THE FAULT IS NOT TESTED: builds a program with cgo, which waits")
	}
	out := sigprof(t, "flood")[0]
	if !strings.HasPrefix(out, "lost: the runtime lost ") || !strings.HasSuffix(out, "1 windows, 0 passed, 0 failed\n") {
		t.Errorf("flooded: %q", out)
	}
}
