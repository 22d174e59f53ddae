package charge_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/pattern"
)

// TestOracle compares flat and cumulative values of every function with what
// google/pprof's own reader adds up to, and with what go tool pprof prints, on
// profiles of real work, without interrupts, which only charge counts for what they interrupt.
func TestOracle(t *testing.T) {
	for name, data := range liveProfiles(t) {
		t.Run(name, func(t *testing.T) {
			p, err := profile.ParseData(data)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range p.Sample {
				for len(s.Location) > 1 && len(s.Location[0].Line) > 0 && charge.IsInterrupt(s.Location[0].Line[0].Function.Name) {
					s.Location = s.Location[1:]
				}
			}
			var b bytes.Buffer
			if err := p.Write(&b); err != nil {
				t.Fatal(err)
			}
			data = b.Bytes()
			for index, st := range p.SampleType {
				flat, cum := count(t, data, index)
				wantFlat, wantCum := add(p, index)
				if diff := cmp.Diff(wantFlat, flat); diff != "" {
					t.Errorf("%s: flat (-google/pprof +charge):\n%s", st.Type, diff)
				}
				if diff := cmp.Diff(wantCum, cum); diff != "" {
					t.Errorf("%s: cumulative (-google/pprof +charge):\n%s", st.Type, diff)
				}
				toolFlat, toolCum := top(t, data, st)
				if diff := cmp.Diff(toolFlat, flat); diff != "" {
					t.Errorf("%s: flat (-go tool pprof +charge):\n%s", st.Type, diff)
				}
				if diff := cmp.Diff(toolCum, cum); diff != "" {
					t.Errorf("%s: cumulative (-go tool pprof +charge):\n%s", st.Type, diff)
				}
			}
		})
	}
}

// count asks a counter for the values of every function.
func count(t *testing.T, data []byte, index int) (flat, cum map[string]int64) {
	t.Helper()
	var d decode.Decoder
	table, err := d.Bytes(data)
	if err != nil {
		t.Fatal(err)
	}
	names := charge.NewNames(pattern.NewIndex(nil))
	if err := names.Learn(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	c := charge.Counter{Names: names}
	ask := func(frames charge.Charge) int {
		return c.Ask(charge.Query{Value: index, Weight: charge.Weight{Count: -1}, In: -1, Where: -1, Except: -1, Unit: charge.Function, Charge: frames})
	}
	queries := []int{ask(charge.Flat), ask(charge.Cumulative)}
	c.Open(table)
	var out [2]map[string]int64
	for i, q := range queries {
		out[i] = map[string]int64{}
		sums := c.Sums(q)
		for _, key := range sums.Keys {
			out[i][table.Symbols.Name(decode.ID(key))] = sums.By(key)
		}
	}
	return out[0], out[1]
}

// add does the same over google/pprof's structures, the plain way.
func add(p *profile.Profile, index int) (flat, cum map[string]int64) {
	flat, cum = map[string]int64{}, map[string]int64{}
	for _, s := range p.Sample {
		v := s.Value[index]
		if v == 0 {
			continue
		}
		seen := map[string]bool{}
		leaf := true
		for _, l := range s.Location {
			for _, line := range l.Line {
				if leaf {
					flat[line.Function.Name] += v
				}
				if leaf = false; !seen[line.Function.Name] {
					seen[line.Function.Name] = true
					cum[line.Function.Name] += v
				}
			}
		}
	}
	return flat, cum
}

// pprofTool is the program that go tool pprof runs. The go command takes longer to find it
// than it takes to read a profile.
var pprofTool = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "tool", "-n", "pprof").Output()
	return strings.TrimSpace(string(out)), err
})

// top runs go tool pprof.
func top(t *testing.T, data []byte, st *profile.ValueType) (flat, cum map[string]int64) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs go tool pprof")
	}
	file := filepath.Join(t.TempDir(), "profile.pb.gz")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	unit := map[string]string{"nanoseconds": "ns", "bytes": "B"}[st.Unit]
	tool, err := pprofTool()
	if err != nil {
		t.Fatalf("go tool -n pprof: %v", err)
	}
	args := []string{"-top", "-nodecount=0", "-nodefraction=0", "-edgefraction=0", "-symbolize=none", "-sample_index=" + st.Type}
	if unit != "" {
		args = append(args, "-unit="+unit)
	}
	cmd := exec.Command(tool, append(args, file)...)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	flat, cum = map[string]int64{}, map[string]int64{}
	_, rows, found := strings.Cut(string(out), "flat%   sum%        cum   cum%\n")
	if !found {
		t.Fatalf("go tool pprof prints no table:\n%s", out)
	}
	for row := range strings.Lines(rows) {
		w := strings.Fields(row)
		if len(w) < 6 {
			continue
		}
		name := strings.TrimSuffix(strings.Join(w[5:], " "), " (inline)")
		name = strings.TrimSuffix(name, " (partial-inline)")
		number := func(s string) int64 {
			v, err := strconv.ParseInt(strings.TrimSuffix(s, unit), 10, 64)
			if err != nil {
				t.Fatalf("%q in %q: %v", s, row, err)
			}
			return v
		}
		if v := number(w[0]); v != 0 {
			flat[name] += v
		}
		if v := number(w[3]); v != 0 {
			cum[name] += v
		}
	}
	return flat, cum
}

// liveProfiles profiles real work: inlining, recursion, generics, closures,
// allocation, contention.
func liveProfiles(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	mutex, rate := runtime.SetMutexProfileFraction(1), runtime.MemProfileRate
	runtime.MemProfileRate = 1024
	runtime.SetBlockProfileRate(1)
	defer func() {
		runtime.SetMutexProfileFraction(mutex)
		runtime.SetBlockProfileRate(0)
		runtime.MemProfileRate = rate
	}()
	stop, waiting := make(chan struct{}), sync.WaitGroup{}
	for range 5 {
		waiting.Go(func() { <-stop })
	}
	// As much as it takes: a loaded machine gives few samples.
	for d := 200 * time.Millisecond; out["cpu"] == nil; d *= 2 {
		var b bytes.Buffer
		if err := pprof.StartCPUProfile(&b); err != nil {
			t.Skip("the CPU profiler is taken:", err)
		}
		for end := time.Now().Add(d); time.Now().Before(end); {
			work()
		}
		pprof.StopCPUProfile()
		if p, err := profile.ParseData(b.Bytes()); err != nil {
			t.Fatal(err)
		} else if len(p.Sample) >= 5 {
			out["cpu"] = b.Bytes()
		} else if d > 5*time.Second {
			t.Skip("the CPU profiler gives no samples here")
		}
	}
	runtime.GC()
	for _, kind := range []string{"heap", "allocs", "goroutine", "mutex", "block"} {
		var b bytes.Buffer
		if err := pprof.Lookup(kind).WriteTo(&b, 0); err != nil {
			t.Fatal(err)
		}
		out[kind] = b.Bytes()
	}
	close(stop)
	waiting.Wait()
	return out
}

var (
	kept   [][]byte
	number int
)

func work() {
	number += fib(22)
	apply([]float64{1, 2, 3}, func(x float64) float64 { return math.Sqrt(spin(x)) })
	if len(kept) < 500 {
		kept = append(kept, make([]byte, 2000))
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprint(z, strings.Repeat("text", 5000))
	z.Close()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			mu.Lock()
			spin(1)
			mu.Unlock()
		})
	}
	wg.Wait()
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func apply[T any](list []T, f func(T) T) {
	for i := range list {
		list[i] = f(list[i])
	}
}

func spin(x float64) float64 {
	for i := range 20000 {
		x += step(float64(i))
	}
	return x
}

func step(x float64) float64 { return math.Sin(x) }
