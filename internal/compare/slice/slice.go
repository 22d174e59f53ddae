// Package slice runs a test binary for one slice of measuring: a child process in a group of its
// own, which is gone at the end with all that it has started.
package slice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/compare/binary"
)

// A Binary is a test binary, and the folder of its package, where it runs.
type Binary struct {
	Path, Dir string
	Env       []string // beside that of this process
}

// A State is how a run of a benchmark ended.
type State string

const (
	Starts  State = "starts" // it has begun, and did not end
	Ran     State = "ran"
	Works   State = "works" // it ran, and goroutines of it did not end
	Failed  State = "failed"
	Skipped State = "skipped"
	Parent  State = "parent" // it has run sub-benchmarks
)

// A Record is what one run of a benchmark used, while its timer was on.
type Record struct {
	Name   string // with sub-benchmarks, without the number of processors
	State  State
	N      int // iterations
	Wall   time.Duration
	CPU    time.Duration
	Allocs int64
	Bytes  int64
}

// A Result is a finished child.
type Result struct {
	Records []Record      // the last of each benchmark, in the order of their first runs
	CPU     time.Duration // of the whole process
	Wall    time.Duration
	Output  string // the end of what it printed
	Err     error  // of its exit status
}

// outputKept is how much of the end of a child's output is kept, which has the panic.
const outputKept = 16 << 10

// patience is how long one process may take, as in go test.
const patience = 10 * time.Minute

// TimedOut is what package testing says when a process has taken longer than it may.
const TimedOut = "panic: test timed out after"

// Run runs benchmarks of the binary for some time or iterations, with more flags of go test. temp is the path for the
// file of records.
func (b Binary) Run(ctx context.Context, temp, bench, benchtime string, more ...string) (Result, error) {
	defer os.Remove(temp)
	flags := append([]string{"run=^$", "bench=" + bench, "benchtime=" + benchtime, "timeout=" + patience.String(), "paniconexit0"}, more...)
	for i, f := range flags {
		flags[i] = "-test." + f
	}
	cmd := exec.CommandContext(ctx, b.Path, flags...)
	cmd.Dir = b.Dir
	cmd.Env = append(append(os.Environ(), b.Env...), "PWD="+b.Dir, binary.RecordEnv+"="+temp)
	var out tail
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second // where somebody else holds its output
	group(cmd)
	runtime.LockOSThread() // the child ends with the thread that started it
	defer runtime.UnlockOSThread()
	begin := time.Now()
	err := cmd.Run()
	end(cmd)
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	r := Result{Wall: time.Since(begin), Output: out.String()}
	if cmd.ProcessState == nil {
		return r, fmt.Errorf("starting a test binary: %w", err)
	}
	r.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if !errors.Is(err, exec.ErrWaitDelay) {
		r.Err = err
	}
	r.Records, err = read(temp)
	return r, err
}

// read reads the last record of each benchmark. A file that is not there has none.
func read(path string) ([]Record, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var list []Record
	at := map[string]int{}
	for line := range strings.Lines(string(text)) {
		r, err := parse(strings.TrimSpace(line))
		if err != nil {
			return nil, err
		}
		i, known := at[r.Name]
		if !known {
			i, list = len(list), append(list, r)
			at[r.Name] = i
		}
		list[i] = r
	}
	return list, nil
}

func parse(line string) (r Record, err error) {
	f := strings.SplitN(line, " ", 7)
	if len(f) != 7 {
		return r, fmt.Errorf("a record of a benchmark: expected seven fields, found %q", line)
	}
	var n [5]int64
	for i := range n {
		var bad error
		n[i], bad = strconv.ParseInt(f[i+1], 10, 64)
		err = errors.Join(err, bad)
	}
	name, bad := strconv.Unquote(f[6])
	return Record{Name: name, State: State(f[0]), N: int(n[0]), Wall: time.Duration(n[1]), CPU: time.Duration(n[2]),
		Allocs: n[3], Bytes: n[4]}, errors.Join(err, bad)
}

// A tail keeps the end of what is written to it.
type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	n, err := t.Buffer.Write(p)
	if extra := t.Len() - 2*outputKept; extra > 0 {
		t.Next(t.Len() - outputKept)
	}
	return n, err
}
