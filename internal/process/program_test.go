package process

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var builds = flag.Bool("builds", false, "also build in ways, and for systems, that have the standard library compiled first: a minute")

const prog = "github.com/profguard/profguard/internal/process/testdata/prog"

var (
	linkedIn = []string{
		"main.main",
		"main.closure",
		"main.closure.func1",
		"main.(*counter).add",
		"main.(*stack[go.shape.int]).push",
		"main.generic[go.shape.int]",
		"main.inlinedOnly",
		"main.inlinedTwice",
		prog + "/absent.Called",
		"github.com/profguard/profguard/internal/process.Functions",
		"runtime.mallocgc",
		"fmt.Fprintln",
	}
	notLinkedIn = []string{
		prog + "/absent.NotCalled",
		"net/http.ListenAndServe",
		"main.notWritten",
		"main.mai", // whole names only
		"",
	}
)

// build links prog; more holds flags and environment variables.
func build(t *testing.T, more ...string) string {
	t.Helper()
	gotool, err := exec.LookPath("go")
	if err != nil {
		t.Skipf("there is no go tool to build with: %v", err)
	}
	exe := filepath.Join(t.TempDir(), "prog.exe")
	cmd := exec.Command(gotool, "build", "-o", exe)
	cmd.Env = os.Environ()
	for _, m := range more {
		if strings.HasPrefix(m, "-") {
			cmd.Args = append(cmd.Args, m)
		} else {
			cmd.Env = append(cmd.Env, m)
		}
	}
	cmd.Args = append(cmd.Args, "./testdata/prog")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return exe
}

// run has prog list its own functions.
func run(t *testing.T, exe string, args ...string) map[string]bool {
	t.Helper()
	cmd := exec.Command(exe, args...)
	cmd.Stderr = new(strings.Builder)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, cmd.Stderr)
	}
	names := make(map[string]bool)
	for name := range strings.Lines(string(out)) {
		names[strings.TrimSuffix(name, "\n")] = true
	}
	return names
}

func checkNames(t *testing.T, names map[string]bool) {
	t.Helper()
	for _, name := range linkedIn {
		if !names[name] {
			t.Errorf("%s is not listed among %d functions", name, len(names))
		}
	}
	for _, name := range notLinkedIn {
		if names[name] {
			t.Errorf("%q is listed", name)
		}
	}
}

// TestPrograms builds a program in the ways that people build theirs.
func TestPrograms(t *testing.T) {
	tests := []struct {
		name  string
		build []string
		after func(t *testing.T, exe string)
		args  func(exe string) []string
		long  bool // compiles the standard library
	}{
		{name: "default", after: noCodeOfItsOwn},
		{name: "no symbols, no DWARF", build: []string{"-ldflags=-s -w"}},
		{name: "no symbols, no DWARF, no paths", long: true, build: []string{"-ldflags=-s -w", "-trimpath"}},
		{name: "position independent", long: true, build: []string{"-buildmode=pie"}},
		{name: "stripped", after: strip("--strip-all")},
		{name: "deleted while it runs", args: func(exe string) []string { return []string{exe} }},
		{name: "external linker, position independent, stripped", long: true,
			build: []string{"-buildmode=pie", "-ldflags=-linkmode=external", "CGO_ENABLED=1"}, after: strip("--strip-all")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.long && !*builds {
				t.Skip("needs -builds")
			}
			exe := build(t, tt.build...)
			if tt.after != nil {
				tt.after(t, exe)
			}
			var args []string
			if tt.args != nil {
				if runtime.GOOS != "linux" {
					t.Skip("only linux reaches a deleted executable")
				}
				args = tt.args(exe)
			}
			checkNames(t, run(t, exe, args...))
		})
	}
}

// noCodeOfItsOwn checks that the program tests what it says.
func noCodeOfItsOwn(t *testing.T, exe string) {
	t.Helper()
	for _, name := range gosymNames(t, exe) {
		if name == "main.inlinedOnly" || name == "main.inlinedTwice" {
			t.Errorf("%s is not inlined everywhere", name)
		}
	}
}

func strip(flags ...string) func(t *testing.T, exe string) {
	return func(t *testing.T, exe string) {
		t.Helper()
		tool, err := exec.LookPath("strip")
		if err != nil {
			t.Skip("there is no strip")
		}
		if out, err := exec.Command(tool, append(flags, exe)...).CombinedOutput(); err != nil {
			t.Fatalf("strip: %v\n%s", err, out)
		}
	}
}

// TestOtherSystems reads Mach-O, PE and 32-bit files. They are not run.
func TestOtherSystems(t *testing.T) {
	if !*builds {
		t.Skip("needs -builds")
	}
	for _, target := range []string{"darwin/arm64", "windows/amd64", "linux/arm64", "linux/arm"} {
		t.Run(target, func(t *testing.T) {
			goos, goarch, _ := strings.Cut(target, "/")
			for _, flags := range []string{"-ldflags=", "-ldflags=-s -w"} {
				exe := build(t, flags, "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
				checkNames(t, listed(t, exe, requiredNames()))
			}
		})
	}
}
