package guard

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiler"
)

type ctx = context.Context

// Some faults need a process of their own: the test binary again, in a role.
const (
	roleVar = "PROFGUARD_TEST_ROLE"
	dumpVar = "PROFGUARD_TEST_DUMPS"
	lateVar = "PROFGUARD_TEST_LATE" // how long after a dump began its process ends
)

// child runs the test binary in a role.
func child(t *testing.T, role string, env ...string) (string, error) {
	t.Helper()
	limit, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(limit, os.Args[0])
	cmd.Env = append(append(os.Environ(), roleVar+"="+role), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// play is what a process in a role does.
func play(role string) int {
	w := newWorld()
	switch role {
	case "burn":
		burnCPU(50 * time.Millisecond) // five periods of a profiler's timer, should it have one
		fmt.Println("alive")
	case "exec":
		g, err := Start(w.quiet(Config{Budgets: simple, Every: 10 * second, Window: 10 * second})) // at once
		if err != nil {
			fmt.Println(err)
			return 1
		}
		for !profiling() {
			runtime.Gosched()
		}
		burn(50 * time.Millisecond)
		g.Stop()
		for !free() { // on a machine that is overloaded, Stop may have given up
			runtime.Gosched()
		}
		fmt.Println(syscall.Exec(os.Args[0], os.Args, append(without(os.Environ(), roleVar), roleVar+"=burn")))
		return 1
	case "cost":
		// Nobody else does anything here, so what the process uses is the guard's.
		g, err := Start(w.quiet(Config{Budgets: budget.Must("no function above 20% cumulative", "goroutines below 100"), Window: second, Every: second}))
		if err != nil {
			fmt.Println(err)
			return 1
		}
		for windows(g) < 1 { // the first has the whole program's names to read
			<-time.After(100 * time.Millisecond)
		}
		before, said := process.Read(), g.Status().CPU
		for windows(g) < 3 {
			<-time.After(100 * time.Millisecond)
		}
		after, says := process.Read(), g.Status().CPU-said
		g.Stop()
		// What is used without it, asking as often.
		for range 20 {
			<-time.After(100 * time.Millisecond)
			_ = g.Status()
		}
		none := process.Between(after, process.Read())
		fmt.Println(says.Microseconds(), (after.CPU - before.CPU).Microseconds(), none.CPU.Microseconds())
	case "exit":
		written := func() []string {
			files, _ := filepath.Glob(filepath.Join(os.Getenv(dumpVar), "profguard", "*", "profguard-*"))
			return files
		}
		w.take = story("b")
		w.stretch = -1
		offered := make(chan bool, 100)
		w.offer = func(store *dumps.Store, d dumps.Dump) (dumps.ID, error) {
			// Big, so that writing it takes a while.
			d.Files = append(d.Files, dumps.File{Name: "trace.out", Data: make([]byte, 4<<20)})
			id, err := store.Offer(d)
			offered <- true
			return id, err
		}
		cfg := Config{Budgets: budget.Must("x: fmt.Println absent"), Window: second, Every: second, DumpDir: os.Getenv(dumpVar), DumpLimits: DumpLimits{Every: 1}}
		if _, err := start(w.quiet(cfg), "a test", w.seams()); err != nil {
			fmt.Println(err)
			return 1
		}
		<-offered
		for n := len(written()); len(written()) == n; { // and out, while it is being written
			runtime.Gosched()
		}
		late, _ := time.ParseDuration(os.Getenv(lateVar))
		burn(late)
	case "leaks", "waits":
		line := 0
		if role == "leaks" {
			line = forget()
		}
		go playLeaks(line)
		select {}
	default:
		return 2
	}
	return 0
}

// without is an environment without a variable: of two with one name, the first
// would count.
func without(env []string, name string) []string {
	return slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
}

// burnCPU spends d of CPU time, however long that takes on a busy machine.
func burnCPU(d time.Duration) {
	for end := process.Read().CPU + d; process.Read().CPU < end; {
		burn(time.Millisecond)
	}
}

// burn spends CPU time.
func burn(d time.Duration) {
	x := 1
	for end := time.Now().Add(d); time.Now().Before(end); {
		for range 100_000 {
			x = x*31 + 1
		}
	}
	sink0 = x
}

var sink0 int

// profiling reports whether a CPU profile is running: the goroutine that
// runtime/pprof starts for one is there.
func profiling() bool {
	records := make([]runtime.StackRecord, 1000)
	n, _ := runtime.GoroutineProfile(records)
	for _, r := range records[:min(n, len(records))] {
		frames := runtime.CallersFrames(r.Stack())
		for {
			f, more := frames.Next()
			if f.Function == "runtime/pprof.profileWriter" {
				return true
			}
			if !more {
				break
			}
		}
	}
	return false
}

// free reports whether the profiler can be had.
func free() bool {
	if pprof.StartCPUProfile(new(writes)) != nil {
		return false
	}
	pprof.StopCPUProfile()
	return true
}

// wholeDumps checks that each profile with a final name and a sidecar reads.
func wholeDumps(t *testing.T, dir string) {
	t.Helper()
	sidecars, err := filepath.Glob(filepath.Join(dir, "profguard", "*", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, side := range sidecars {
		data, err := os.ReadFile(strings.TrimSuffix(side, ".json") + ".cpu.pb.gz")
		if err != nil {
			t.Errorf("a sidecar without its profile: %v", err)
			continue
		}
		if _, err := profile.ParseData(data); err != nil {
			t.Errorf("%s: %v", side, err)
		}
	}
	t.Logf("%d dumps made it", len(sidecars))
}

// hasOutcome reports whether a guard has had a window with an outcome.
func hasOutcome(g *Guard, o profiler.Outcome) bool { return g.Status().Windows[o.String()] > 0 }

// windows is how many windows there were, with whatever outcome.
func windows(g *Guard) (n int) {
	for _, k := range g.Status().Windows {
		n += k
	}
	return n
}
