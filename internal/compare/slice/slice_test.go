package slice

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "records")
	if list, err := read(path); err != nil || len(list) > 0 {
		t.Errorf("no file: %v, %v", list, err)
	}
	text := "starts 1 0 0 0 0 \"BenchmarkA\"\nran 1 5 4 3 2 \"BenchmarkA\"\nstarts 1 0 0 0 0 \"BenchmarkB/with \\\"quotes\\\"\"\nran 100 500 400 300 200 \"BenchmarkA\"\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := read(path)
	want := []Record{
		{Name: "BenchmarkA", State: Ran, N: 100, Wall: 500, CPU: 400, Allocs: 300, Bytes: 200},
		{Name: `BenchmarkB/with "quotes"`, State: Starts, N: 1},
	}
	if diff := cmp.Diff(want, list); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, line := range []string{"ran 1 2\n", "ran x 0 0 0 0 \"BenchmarkA\"\n", "ran 1 0 0 0 0 BenchmarkA\n"} {
		if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		if list, err := read(path); err == nil {
			t.Errorf("%q: found %v", line, list)
		}
	}
}

// The end of an output is kept, however long it is.
func TestTail(t *testing.T) {
	var out tail
	for range 1000 {
		if n, err := out.Write([]byte(strings.Repeat("x", 100))); n != 100 || err != nil {
			t.Fatal(n, err)
		}
	}
	_, _ = out.Write([]byte("panic: at the end"))
	if s := out.String(); len(s) > 2*outputKept || !strings.HasSuffix(s, "panic: at the end") {
		t.Errorf("found %d bytes", len(s))
	}
}

// What a child leaves behind is gone when Run returns, also if it holds its output.
func TestRunEndsGroup(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "x.test")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nsleep 1000 &\necho $! > pid\necho done\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	r, err := Binary{Path: script, Dir: dir}.Run(t.Context(), filepath.Join(dir, "records"), ".", "1x")
	if err != nil || r.Err == nil || r.Output != "done\n" {
		t.Fatalf("%v, %+v", err, r)
	}
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	proc := filepath.Join("/proc", strings.TrimSpace(string(pid)), "cmdline")
	for gone := false; !gone; {
		text, err := os.ReadFile(proc)
		if gone = err != nil || len(text) == 0; !gone && time.Since(begin) > time.Minute {
			t.Fatal("it is still there")
		}
	}
}
