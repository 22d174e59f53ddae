package binary

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// RecordEnv is the variable with the file that a test binary appends its records to.
const RecordEnv = "PROFGUARD_COMPARE_RECORDS"

// The clock that is added to package testing. It runs while the timer of a benchmark does, so that
// what the process needs to start, to set up and to find the number of iterations is not in it.
// Children that have ended count, as the benchmark waited for them.
const clock = `//go:build unix

package testing

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

type profguardClock struct {
	on            bool
	since, used   int64
	stopped       int64 // used when StopTimer was called last
	goroutines    int   // that there were then
	returned      bool // the benchmark has, and did not panic
	allocs, bytes int64 // of goroutines that worked on
	works         bool  // they still do
}

func profguardCPU() (ns int64) {
	for _, who := range [...]int{syscall.RUSAGE_SELF, -1} { // -1: children
		var r syscall.Rusage
		if syscall.Getrusage(who, &r) == nil {
			ns += r.Utime.Nano() + r.Stime.Nano()
		}
	}
	return ns
}

func (c *profguardClock) start() {
	if !c.on {
		c.on, c.since = true, profguardCPU()
	}
}

func (c *profguardClock) stop() {
	c.stopped, c.goroutines = profguardCPU(), runtime.NumGoroutine()
	if c.on {
		c.on, c.used = false, c.used+c.stopped-c.since
	}
}

func (c *profguardClock) reset() {
	if c.used = 0; c.on {
		c.since = profguardCPU()
	}
}

// profguardSettle counts what goroutines that the benchmark has left behind still compute, and the
// garbage collector, until all wait. With one processor, Gosched returns when the others had their
// turn, however busy the machine is. What they compute since the timer was stopped counts, too: on a
// busy machine that is all they have to do, while this goroutine waits for a processor.
func (b *B) profguardSettle() {
	c := &b.profguard
	c.works, c.allocs, c.bytes = false, 0, 0
	if b.hasSub.Load() || b.N == 1 && b.benchTime.n != 1 { // it is run again
		return
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const enough, quiet, queue = 3, 300_000, 4096
	const patience, work = 5 * time.Second, int64(time.Second) // both, as a busy machine may take long for little
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	own := 0 // goroutines of the benchmark and of its parents
	for p := &b.common; p != nil; p = p.parent {
		own++
	}
	begin, first, used := time.Now(), profguardCPU(), c.used
	if c.goroutines > own { // without others, it is what stopping takes that was used meanwhile
		first = c.stopped
	}
	for waits, cpu := 0, first; waits < enough && !c.works; waits, cpu = waits+1, profguardCPU() {
		for i := 0; i < 10 && runtime.NumGoroutine() < queue; i++ { // behind more it might wait for minutes
			runtime.Gosched()
		}
		yielded, slept := profguardCPU(), time.Now()
		time.Sleep(time.Millisecond) // others may wait for each other, or compute in C
		now := profguardCPU()
		// What ticks in the background takes less than a fifth of a processor.
		if yielded-cpu >= quiet || now-yielded >= quiet+int64(time.Since(slept))/5 {
			c.used, waits = c.used+now-first, -1
			if b.benchTime.n == 0 { // the next run has no more calls than end in the time
				b.duration += time.Duration(now - first)
			}
			first = now
			runtime.ReadMemStats(&after)
			c.allocs, c.bytes = int64(after.Mallocs-before.Mallocs), int64(after.TotalAlloc-before.TotalAlloc)
			c.works = time.Since(begin) > patience && c.used-used > work
		}
	}
}

func (b *B) profguardRecord(state string) {
	path := os.Getenv("` + RecordEnv + `")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	c := &b.profguard
	line := state + " " + strconv.Itoa(b.N)
	for _, n := range [...]int64{b.duration.Nanoseconds(), c.used, int64(b.netAllocs) + c.allocs, int64(b.netBytes) + c.bytes} {
		line += " " + strconv.FormatInt(n, 10)
	}
	f.WriteString(line + " " + strconv.Quote(b.Name()) + "\n")
}

func (b *B) profguardRan() {
	switch {
	case b.Failed():
		b.profguardRecord("failed")
	case b.Skipped():
		b.profguardRecord("skipped")
	case !b.profguard.returned: // it panics: there is no other record
	case b.hasSub.Load():
		b.profguardRecord("parent")
	case b.profguard.works:
		b.profguardRecord("works")
	default:
		b.profguardRecord("ran")
	}
}
`

// hooks are the statements that methods of testing.B get, first and last. A deferred function
// also runs if a benchmark ends its goroutine.
var hooks = map[string]struct{ first, last string }{
	"StartTimer": {last: "b.profguard.start()"},
	"StopTimer":  {first: "b.profguard.stop()"},
	"ResetTimer": {last: "b.profguard.reset()"},
	"runN":       {first: "b.profguard.returned = false; b.profguardRecord(\"starts\"); defer b.profguardRan()", last: "b.profguard.returned = true; b.profguardSettle()"},
}

// An overlay has files that go build reads in the place of others, by their paths; "" for none.
type overlay map[string]string

// withClock writes package testing of the Go installation goroot with a clock of CPU time into a
// folder. The installation stays as it is.
func withClock(goroot, dir string) (overlay, error) {
	original := filepath.Join(goroot, "src", "testing", "benchmark.go")
	text, err := os.ReadFile(original)
	if err != nil {
		return nil, fmt.Errorf("reading package testing: %w", err)
	}
	if text, err = addClock(text); err != nil {
		return nil, fmt.Errorf("%s: %w; with GOTOOLCHAIN=go1.27.4 compare uses a release that it knows", original, err)
	}
	patched, added := filepath.Join(dir, "benchmark.go"), filepath.Join(dir, "profguard.go")
	o := overlay{original: patched, filepath.Join(goroot, "src", "testing", "profguard.go"): added}
	return o, errors.Join(os.WriteFile(patched, text, 0o600), os.WriteFile(added, []byte(clock), 0o600))
}

// withTests adds the test files of one folder to another, in the place of those that it has.
func (o overlay) withTests(dir, from string) (overlay, error) {
	o = maps.Clone(o)
	for _, at := range []string{dir, from} {
		entries, err := os.ReadDir(at)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			o[filepath.Join(dir, e.Name())] = ""
			if at == from {
				o[filepath.Join(dir, e.Name())] = filepath.Join(from, e.Name())
			}
		}
	}
	return o, nil
}

// write writes the file for go build's -overlay.
func (o overlay) write(path string) error {
	text, err := json.Marshal(map[string]overlay{"Replace": o})
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// addClock adds the clock to type B in the text of testing/benchmark.go, and the hooks to its
// methods. No line of the text moves.
func addClock(text []byte) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "benchmark.go", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	inserts := map[int]string{} // by the offset that they go to
	found := 0
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			hook, ok := hooks[d.Name.Name]
			if ok && d.Recv != nil && len(d.Recv.List[0].Names) == 1 && d.Recv.List[0].Names[0].Name == "b" {
				found++
				inserts[fset.Position(d.Body.Lbrace).Offset+1] = " " + hook.first + ";"
				inserts[fset.Position(d.Body.Rbrace).Offset] = hook.last + "; "
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok && s.Name.Name == "B" {
					if t, ok := s.Type.(*ast.StructType); ok {
						found++
						inserts[fset.Position(t.Fields.Opening).Offset+1] = " profguard profguardClock;"
					}
				}
			}
		}
	}
	if found != len(hooks)+1 {
		return nil, errors.New("expected type B with the methods StartTimer, StopTimer, ResetTimer and runN of a receiver b, which are not all there")
	}
	var out []byte
	from := 0
	for _, at := range slices.Sorted(maps.Keys(inserts)) {
		out = append(append(out, text[from:at]...), inserts[at]...)
		from = at
	}
	return append(out, text[from:]...), nil
}
