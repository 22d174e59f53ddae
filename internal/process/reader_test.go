package process

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// burn keeps one core busy until the process has used some CPU, and returns how
// much the thread says that it used itself.
func burn(d time.Duration) (own time.Duration, ok bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := ThreadCPU()
	for start := ProcessCPU(); ProcessCPU()-start < d; {
		for x := range 1 << 16 {
			_ = x * x
		}
	}
	return ThreadCPU() - before, before > 0
}

func TestCores(t *testing.T) {
	a := Read()
	own, ok := burn(200 * time.Millisecond)
	f := Between(a, Read())
	if f.CPU < 190*time.Millisecond {
		t.Errorf("CPU %v after burning 200ms", f.CPU)
	}
	// 20 ms for two clocks that are read at different times, and one of which
	// may advance in ticks.
	if ok && f.CPU < own-20*time.Millisecond {
		t.Errorf("CPU %v, but one thread alone used %v", f.CPU, own)
	}
	if ok && own < 20*time.Millisecond {
		t.Errorf("the thread used %v of the 200ms that were burnt on it", own)
	}
	if want := f.CPU.Seconds() / f.Elapsed.Seconds(); f.Cores != want || f.Cores <= 0 {
		t.Errorf("%v cores, want %v", f.Cores, want)
	}
	if most := 1.2 * float64(runtime.NumCPU()); f.Cores > most {
		t.Errorf("%v cores of %d", f.Cores, runtime.NumCPU())
	}
}

// TestThreadCPU: what other threads do does not count.
func TestThreadCPU(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := ThreadCPU()
	if before == 0 {
		if runtime.GOOS == "linux" {
			t.Fatal("linux has it")
		}
		t.Skip("not known here")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		burn(200 * time.Millisecond)
	}()
	<-done
	if used := ThreadCPU() - before; used < 0 || used > 100*time.Millisecond {
		t.Errorf("waiting for another thread's 200ms used %v", used)
	}
}

func TestMemory(t *testing.T) {
	const (
		size  = 64 << 20
		slack = 4 << 20 // what else comes and goes
	)
	debug.FreeOSMemory()
	a := Read()
	block := make([]byte, size)
	for i := 0; i < size; i += 512 {
		block[i] = 1
	}
	b := Read()
	if got := b.Heap - a.Heap; got < size-slack || got > size+slack {
		t.Errorf("heap grew by %d, want about %d", got, size)
	}
	// The race detector's shadow of it is resident too.
	if got := b.RSS - a.RSS; got < size/2 || got > 8*size {
		t.Errorf("rss grew by %d, want about %d", got, size)
	}
	runtime.KeepAlive(block)
	block = nil
	debug.FreeOSMemory()
	c := Read()
	if got := b.Heap - c.Heap; got < size-slack {
		t.Errorf("heap shrank by %d, want about %d", got, size)
	}
	if got := b.RSS - c.RSS; got < size/2 {
		t.Errorf("rss shrank by %d, want about %d", got, size)
	}
}

// TestRSSAgreesWithTheKernel compares with another of its files.
func TestRSSAgreesWithTheKernel(t *testing.T) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	s := Read()
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		t.Skip("no VmRSS")
	}
	kib, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	known := resident() > 0
	if diff := s.RSS - kib<<10; !known || diff < -16<<20 || diff > 16<<20 {
		t.Errorf("rss %d (of the kernel: %v), VmRSS %d", s.RSS, known, kib<<10)
	}
}

func TestGoroutines(t *testing.T) {
	const n = 500
	before := Read().Goroutines
	release := make(chan struct{})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { <-release })
	}
	during, shown := Read().Goroutines, int64(pprof.Lookup("goroutine").Count())
	close(release)
	wg.Wait()
	// A few of the testing package may come and go.
	if got := during - before; got < n-5 || got > n+5 {
		t.Errorf("%d more goroutines, want %d", got, n)
	}
	// A profile of goroutines says what the figure is made of. There are some eight of the
	// runtime's own.
	if off := during - shown; off < -3 || off > 3 {
		t.Errorf("%d goroutines, and %d in a profile", during, shown)
	}
}

type node struct{ left, right *node }

func tree(depth int) *node {
	if depth == 0 {
		return nil
	}
	return &node{tree(depth - 1), tree(depth - 1)}
}

// TestGC: a program that does little but collect, and one that does not.
func TestGC(t *testing.T) {
	live := tree(18)
	runtime.GC()
	a := Read()
	for range 5 {
		runtime.GC()
	}
	b := Read()
	if n := cycles(a, b); n < 5 {
		t.Fatalf("%d cycles after 5 collections", n)
	}
	thrash := Between(a, b)
	if thrash.GC < 0.02 || thrash.GC > 1 { // about a half on idle cores
		t.Errorf("share %v of a program that only collects", thrash.GC)
	}
	runtime.KeepAlive(live)
	live = nil
	runtime.GC()

	// No allocation, and one collection of nearly nothing at the end.
	a = Read()
	burn(300 * time.Millisecond)
	b = Read()
	if n, calm := cycles(a, b), Between(a, b); n != 0 || calm.GC != 0 {
		t.Errorf("%d cycles, share %v without any collection", n, calm.GC)
	}
	runtime.GC()
	b = Read()
	if n, calm := cycles(a, b), Between(a, b); n < 1 || calm.GC > thrash.GC/2 {
		t.Errorf("%d cycles, share %v of a program that computes; thrashing has %v", n, calm.GC, thrash.GC)
	}
}

// TestMetricsExist: a metric that a release has renamed would read as 0 for
// ever.
func TestMetricsExist(t *testing.T) {
	all := metrics.All()
	for name := range new(Snapshot).metrics() {
		if !slices.ContainsFunc(all, func(d metrics.Description) bool { return d.Name == name }) {
			t.Errorf("%s: the runtime does not have it", name)
		}
	}
	s := Read()
	if s.At.IsZero() || s.CPU < 0 || s.RSS <= 0 || s.Heap <= 0 || s.Goroutines <= 0 || s.gc.procs <= 0 {
		t.Errorf("implausible: %+v", s)
	}
}

func BenchmarkRead(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Read()
	}
}

func BenchmarkThreadCPU(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		ThreadCPU()
	}
}

// Finalizers and cleanups wait from the collection on until they have been run.
func TestFinalizers(t *testing.T) {
	type object struct{ _ [64]byte }
	for name, attach := range map[string]func(o *object, f func()){
		"finalizer": func(o *object, f func()) { runtime.SetFinalizer(o, func(*object) { f() }) },
		"cleanup":   func(o *object, f func()) { runtime.AddCleanup(o, func(int) { f() }, 1) },
	} {
		begun, goOn := make(chan bool), make(chan bool)
		attach(new(object), func() { begun <- true; <-goOn })
		attach(new(object), func() {})
		runtime.GC()
		<-begun
		if n := Finalizers(); n < 1 {
			t.Errorf("%s: %d wait while one runs", name, n)
		}
		close(goOn)
		for end := time.Now().Add(time.Minute); Finalizers() > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: %d still wait", name, Finalizers())
			}
		}
	}
}
