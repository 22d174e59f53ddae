package profiler

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Faults that need a process of their own.

// goTool runs the go command in dir and returns what it prints.
func goTool(t *testing.T, dir string, args ...string) string {
	t.Helper()
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("SKIPPED, THE FAULT IS NOT TESTED: no go command")
	}
	cmd := exec.Command(tool, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestFault_08_GoTestCPUProfile(t *testing.T) {
	t.Parallel() // it waits for another process
	file := filepath.Join(t.TempDir(), "cpu.pb.gz")
	out := goTool(t, ".", "test", "-count=1", "-v", "-cpuprofile="+file, "-o="+filepath.Join(t.TempDir(), "held.test"), "./testdata/held")
	if !strings.Contains(out, reasonHeld) {
		t.Errorf("the reason does not say so:\n%s", out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := parse(t, data)
	var inWork int64
	for _, s := range p.Sample {
		for _, l := range s.Location {
			for _, line := range l.Line {
				if strings.HasSuffix(line.Function.Name, "/held.work") {
					inWork += s.Value[0]
				}
			}
		}
	}
	// The test runs for 0.7 s at least and uses 0.3 s of CPU, and is to be seen to the
	// end. The profile's own clock starts with a goroutine that may be late; a profile
	// that was cut would end within the first 0.1 s.
	if p.DurationNanos < int64(500*ms) || inWork < 7 {
		t.Errorf("the profile covers %d ms, with %d samples of the test's work", p.DurationNanos/1e6, inWork)
	}
}
