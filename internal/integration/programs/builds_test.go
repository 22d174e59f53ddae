package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestBuilds builds one program in all the ways that change names, addresses or
// inlining, and expects the same offender of each.
func TestBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs programs for seconds each")
	}
	tests := []struct {
		name  string
		args  []string // of go build
		long  bool     // it compiles the standard library again in an empty build cache, or is as the other programs are built
		limit int      // in percent; 0: 40
	}{
		{name: "default", long: true},
		{name: "stripped", args: []string{"-ldflags=-s -w"}},
		{name: "pgo", args: []string{"-pgo=testdata/small.pgo"}, long: true},
		{name: "trimpath", args: []string{"-trimpath"}, long: true},
		{name: "pie", args: []string{"-buildmode=pie"}, long: true},
		{name: "race", args: []string{"-race"}, long: true, limit: 20}, // half of the samples are the detector's, without a stack
		{name: "not inlined", args: []string{"-gcflags=all=-l"}, long: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.long && !*long {
				t.Skip("only with -long")
			}
			binary := filepath.Join(t.TempDir(), "small")
			goTool(t, append(append([]string{"build", "-o", binary}, tt.args...), "./small")...)
			profile, err := exec.CommandContext(t.Context(), binary).Output()
			if err != nil {
				t.Fatal(err)
			}
			wantCompile(t, profile, cmp.Or(tt.limit, 40))
		})
	}
	t.Run("go test", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "cpu.pprof")
		goTool(t, "test", "-o", path+".test", "-cpuprofile", path, "./small", "-requests", "36000")
		profile, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		wantCompile(t, profile, 40)
	})
}

// wantCompile expects regexp.MustCompile, which has three quarters, as the only offender. The
// two functions that it calls most have a quarter each, which 180 samples tell from 40%.
func wantCompile(t *testing.T, profile []byte, limit int) {
	t.Helper()
	r := judge(t, profile, module, fmt.Sprintf("no function above %d%% cumulative", limit))
	var over []string
	for _, o := range r.Offenders {
		over = append(over, short(o.Function))
	}
	if !slices.Equal(over, []string{"regexp.MustCompile"}) {
		t.Errorf("expected regexp.MustCompile as the only offender of\n%s", r)
	}
	t.Logf("%d samples: %s", r.Samples, strings.Join(over, ", "))
}

func goTool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
