// Testall runs go test in this module and in every module nested in it:
//
//	go run ./internal/testall [flags and arguments for go test]
//
// Without arguments it tests ./... in each. Modules are tested side by side, and
// the output of each is shown in one piece when it has ended, so that they can be
// read. All of them run, also when one has failed. It takes some minutes.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Tests wait more than they compute, for windows to pass and profilers to be free, so
// that more of them than there are cores share the two of a usual CI machine well.
const (
	// abreast is how many modules are tested at once.
	abreast = 3
	// packagesAbreast is how many packages of a module are.
	packagesAbreast = "3"
)

// longest are the packages that take longest. They begin first, and the others go
// beside them.
var longest = []string{"./internal/check", "./guard", "./budget", "./examples/quickstart"}

func main() {
	args := os.Args[1:]
	modules, err := find(".")
	if err == nil {
		err = testAll(os.Stdout, modules, func(dir string, out io.Writer) error { return goTest(dir, args, out) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// goTest runs go test in a folder, of all its packages unless args say otherwise.
func goTest(dir string, args []string, out io.Writer) error {
	if len(args) == 0 {
		args = packages(dir)
	}
	// Ten minutes, go test's own limit, are too few for the checks of a busy machine.
	cmd := exec.Command("go", append([]string{"test", "-timeout", "30m", "-p", packagesAbreast}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	return cmd.Run()
}

// packages are those of a module, in the order in which they begin.
func packages(dir string) (list []string) {
	for _, p := range longest {
		if _, err := os.Stat(filepath.Join(dir, p)); err == nil {
			list = append(list, p)
		}
	}
	return append(list, "./...")
}

// testAll tests the modules, abreast at a time, and returns what failed. out gets
// the output of each module whole.
func testAll(out io.Writer, modules []string, test func(dir string, out io.Writer) error) error {
	var (
		mu      sync.Mutex // held to write to out, and to failed
		failed  error
		running sync.WaitGroup
		room    = make(chan struct{}, abreast)
	)
	for _, dir := range modules {
		room <- struct{}{}
		running.Go(func() {
			defer func() { <-room }()
			start := time.Now()
			mu.Lock()
			fmt.Fprintf(out, "== %s: begins\n", dir)
			mu.Unlock()
			var said bytes.Buffer
			err := test(dir, &said)

			mu.Lock()
			defer mu.Unlock()
			took := time.Since(start).Round(time.Second)
			verdict := "ok"
			if err != nil {
				verdict = "FAIL, " + err.Error()
				failed = errors.Join(failed, fmt.Errorf("testall: %s failed after %v: %w", dir, took, err))
			}
			fmt.Fprintf(out, "== %s: %s, %v\n%s", dir, verdict, took, said.Bytes())
		})
	}
	running.Wait()
	return failed
}

// find lists the folders with a go.mod: this module, then internal ones, which take
// the longest, then examples. Test data has modules of its own, which are not ours
// to test.
func find(root string) ([]string, error) {
	var modules []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.Name() == "go.mod":
			modules = append(modules, filepath.Dir(path))
		}
		return nil
	})
	if len(modules) == 0 && err == nil {
		err = fmt.Errorf("testall: no go.mod below %s: run it in the repository's root", root)
	}
	slices.SortFunc(modules, func(a, b string) int {
		if a == root || b == root {
			return strings.Compare(a, b) // a path begins with its root
		}
		return strings.Compare(b, a)
	})
	return modules, err
}
