// Testall runs go test in this module and in every module nested in it:
//
//	go run ./internal/testall [flags and arguments for go test]
//
// Without arguments it tests ./... in each. It ends with the first module that
// fails; its own output is a line for each module.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	args := os.Args[1:]
	if len(args) == 0 {
		args = []string{"./..."}
	}
	modules, err := find(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "testall:", err)
		os.Exit(1)
	}
	for _, dir := range modules {
		start := time.Now()
		fmt.Printf("== %s: go test %s\n", dir, strings.Join(args, " "))
		cmd := exec.Command("go", append([]string{"test"}, args...)...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			fmt.Fprintf(os.Stderr, "testall: %s failed after %v: %v\n", dir, time.Since(start).Round(time.Second), err)
			os.Exit(1)
		}
		fmt.Printf("== %s: ok, %v\n", dir, time.Since(start).Round(time.Second))
	}
}

// find lists the folders with a go.mod, this module's first. Test data has
// modules of its own, which are not ours to test.
func find(root string) ([]string, error) {
	var modules []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.Name() == "go.mod":
			modules = append(modules, filepath.Dir(path))
		}
		return nil
	})
	if len(modules) == 0 && err == nil {
		err = fmt.Errorf("no go.mod below %s: run it in the repository's root", root)
	}
	return modules, err
}
