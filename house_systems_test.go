package profguard_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOtherSystems has go vet compile the packages with files for some systems only, their
// tests included, for systems that this machine is not.
func TestOtherSystems(t *testing.T) {
	files, err := filepath.Glob("internal/*/*_other.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("expected files for other systems in internal, found %v, %v", files, err)
	}
	var dirs []string
	for _, f := range files {
		dirs = append(dirs, "./"+filepath.Dir(f))
	}
	dirs = slices.Compact(dirs) // which Glob has sorted
	for _, system := range []string{"darwin", "freebsd", "windows"} {
		t.Run(system, func(t *testing.T) {
			if said := vetFor(t, system, ".", dirs...); said != "" {
				t.Error(said)
			}
		})
	}
}

func TestOtherSystemsFires(t *testing.T) {
	for source, want := range map[string]string{
		"package x\n\nvar stolen int = \"a string\"\n": "x_windows.go:3",
		"package x\n\nvar stolen = \"a string\"\n":     "",
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"go.mod": "module x\n", "x.go": "package x\n", "x_windows.go": source, "x_linux.go": "not Go"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if said := vetFor(t, "windows", dir, "."); !strings.Contains(said, want) || (said == "") != (want == "") {
			t.Errorf("of\n%s\nexpected %q, found %q", source, want, said)
		}
	}
}

// vetFor is what go vet says of packages for a system, "" if nothing is wrong.
func vetFor(t *testing.T, system, dir string, packages ...string) string {
	t.Helper()
	vet := exec.CommandContext(t.Context(), "go", append([]string{"vet"}, packages...)...)
	vet.Dir, vet.Env = dir, append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	said, err := vet.CombinedOutput()
	if failed := new(exec.ExitError); err == nil {
		return ""
	} else if !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return "GOOS=" + system + " go vet: " + string(said)
}
