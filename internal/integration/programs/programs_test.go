package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/profguard/profguard/budget"
)

var (
	long = flag.Bool("long", false, "try every program with all that it can do, which takes twenty minutes")
	keep = flag.String("keep", "", "keep the windows in this folder, and use those that are there")

	recorded = flag.String("recorded", "", "judge the profiles of this folder, PLANT/PROGRAM.pb.gz, where healthy is no plant")
)

// module is the one whose frames are to blame.
const module = "github.com/profguard/profguard/internal/integration/programs"

// A run is a program, with what it is asked to do.
type run struct {
	program, work, plant string
}

func (r run) String() string {
	if r.plant == "" {
		return r.program + " " + r.work
	}
	return r.program + " " + r.work + " " + r.plant
}

// build builds the command once for all tests.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "programs")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "programs")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if binary, err := build(); err == nil {
		os.RemoveAll(filepath.Dir(binary))
	}
	os.Exit(code)
}

// windows runs a program under load and returns its profiles.
func windows(t *testing.T, r run, args ...string) []Window {
	t.Helper()
	if testing.Short() {
		t.Skip("runs programs for seconds each")
	}
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	kept := ""
	if *keep != "" {
		kept = filepath.Join(*keep, strings.ReplaceAll(strings.Join(append([]string{r.String()}, args...), "_"), " ", "_")+".json")
		if out, err := os.ReadFile(kept); err == nil {
			return decode(t, out)
		}
	}
	cmd := exec.CommandContext(t.Context(), binary, append(args, "-work", r.work, "-plant", r.plant, r.program)...)
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", r, err)
	}
	if kept != "" {
		if err := os.WriteFile(kept, out, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return decode(t, out)
}

func decode(t *testing.T, out []byte) (windows []Window) {
	t.Helper()
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var w Window
		if err := d.Decode(&w); errors.Is(err, io.EOF) {
			return windows
		} else if err != nil {
			t.Fatal(err)
		}
		windows = append(windows, w)
	}
}

// judge holds a profile against one sentence.
func judge(t *testing.T, profile []byte, module, sentence string) budget.Result {
	t.Helper()
	set, err := budget.Parse(sentence)
	if err != nil {
		t.Fatal(err)
	}
	results, err := set.JudgeReader(bytes.NewReader(profile), budget.Facts{Module: module})
	if err != nil {
		t.Fatal(err)
	}
	return results[0]
}
