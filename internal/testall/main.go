// Testall runs go test in this module and in every module nested in it:
//
//	go run ./internal/testall [flags and arguments for go test]
//
// Without arguments it tests ./... in each. Modules are tested side by side, and
// the output of each is shown in one piece when it has ended, so that they can be
// read. All of them run, also when one has failed. It takes some minutes.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// longest are the packages of this module that take longest. They begin first, and the
// others go beside them.
var longest = []string{"./internal/check", "./guard", "./budget", "./examples/quickstart"}

func main() {
	if !testAll(".", os.Args[1:], os.Stdout) {
		os.Exit(1)
	}
}

// testAll runs go test in all modules below root, abreast at a time, and reports whether all
// have passed. Internal modules take longest and begin first.
func testAll(root string, args []string, out io.Writer) (passed bool) {
	var files []string
	for _, pattern := range []string{"go.mod", "internal/*/go.mod", "export/*/go.mod", "examples/*/go.mod"} {
		found, _ := filepath.Glob(filepath.Join(root, pattern)) // the patterns are valid
		files = append(files, found...)
	}
	var (
		mu      sync.Mutex // of out and passed
		running sync.WaitGroup
		slots   = make(chan struct{}, abreast)
	)
	passed = len(files) > 0
	for i, file := range files {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			// Ten minutes, go test's own limit, are too few for the checks of a busy machine.
			command := append([]string{"test", "-timeout", "30m", "-p", packagesAbreast}, args...)
			if len(args) == 0 && i == 0 {
				command = slices.Concat(command, longest)
			}
			if len(args) == 0 {
				command = append(command, "./...")
			}
			cmd := exec.Command("go", command...)
			cmd.Dir = filepath.Dir(file)
			start, verdict := time.Now(), "ok"
			said, err := cmd.CombinedOutput()
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				passed, verdict = false, "FAIL, "+err.Error()
			}
			fmt.Fprintf(out, "== %s: %s, %v\n%s", cmd.Dir, verdict, time.Since(start).Round(time.Second), said)
		})
	}
	running.Wait()
	return passed
}
