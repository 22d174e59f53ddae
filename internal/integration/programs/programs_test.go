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

// folder is where the command is built, until the tests have ended.
var folder string

// build builds the command once for all tests, without what only debuggers read.
var build = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(folder, "programs")
	if out, err := exec.Command("go", "build", "-ldflags=-w", "-o", binary, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
})

func TestMain(m *testing.M) {
	code, err := 1, error(nil)
	if folder, err = os.MkdirTemp("", "programs"); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
		os.RemoveAll(folder)
	}
	os.Exit(code)
}

// made are the runs that tests share.
var made sync.Map // from names to a func() ([]byte, error)

// windows runs a program under load and returns its profiles: one of a second of CPU,
// unless args say otherwise. Tests that ask for the same get the same.
func windows(t *testing.T, r run, args ...string) []Window {
	t.Helper()
	if testing.Short() {
		t.Skip("runs programs for seconds each")
	}
	if len(args) == 0 {
		args = []string{"-cpu", "1s"}
	}
	name := strings.ReplaceAll(strings.Join(append([]string{r.String()}, args...), "_"), " ", "_")
	once, _ := made.LoadOrStore(name, sync.OnceValues(func() ([]byte, error) {
		kept := filepath.Join(*keep, name+".json")
		if *keep != "" {
			if out, err := os.ReadFile(kept); err == nil {
				return out, nil
			}
		}
		binary, err := build()
		if err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(t.Context(), binary, append(args, "-work", r.work, "-plant", r.plant, r.program)...)
		var said bytes.Buffer // that the rate is set, of each window
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("%w\n%s", err, &said)
		}
		if *keep != "" {
			err = os.WriteFile(kept, out, 0o600)
		}
		return out, err
	}))
	out, err := once.(func() ([]byte, error))()
	if err != nil {
		t.Fatalf("%v: %v", r, err)
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
