package reference

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/release"
)

func table(t testing.TB, text string) *decode.Table {
	t.Helper()
	table, err := new(decode.Decoder).Profile(folded.Must(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

const small = `cpu 10s
main.main;main.serve@a.go:10;main.valid@a.go:20 30
main.main;main.serve@a.go:11;main.sum@b.go:7 10
`

func window(cpu, requests float64) release.Window {
	return release.Window{CPU: cpu, Elapsed: 10, Work: map[string]float64{"request": requests}}
}

// TestSum: what is added up is written, and read again as it was.
func TestSum(t *testing.T) {
	build := release.Build{Program: "example.com/shop", Version: "v1.2.0", Revision: "abcdef0123", Modified: true, Go: "go1.27.4", Arch: "linux/amd64", Binary: "00ff"}
	sum := &Sum{Build: build}
	if sum.Side() != nil {
		t.Error("there is a side without windows")
	}
	w := window(0.4, 100)
	w.Machine = release.Machine{Waited: 0.31, Others: 4.5, Cores: 20}
	for range 3 {
		if err := sum.Add(t.Context(), table(t, small), w); err != nil {
			t.Fatal(err)
		}
	}
	b := Encode(sum.Side(), time.Now())
	got, err := Decode(new(decode.Decoder), b)
	if err != nil {
		t.Fatal(err)
	}
	w.Samples = 40
	if diff := cmp.Diff([]release.Window{w, w, w}, got.Windows); diff != "" || got.Build != build || got.Table.Count() != 120 {
		t.Errorf("build %+v, %d samples, windows -want +got\n%s", got.Build, got.Table.Count(), diff)
	}
	if len(got.Spread) == 0 {
		t.Error("no spread was written")
	}
	c, err := release.Compare(t.Context(), got, sum.Side(), release.Options{Per: "request"})
	if err != nil || c.Why != "" || c.Process.Value != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestWindows: neighbours are added up, and nothing of them is lost.
func TestWindows(t *testing.T) {
	for _, n := range []int{1, mostWindows, mostWindows + 1, 200, 1000} {
		sum := new(Windows)
		for i := range n {
			sum.Add(window(float64(i), 1))
		}
		var cpu, work, elapsed float64
		largest := 0.0
		for _, w := range sum.List() {
			cpu, work, elapsed, largest = cpu+w.CPU, work+w.Work["request"], elapsed+w.Elapsed, max(largest, w.Work["request"])
		}
		if want := float64(n*(n-1)) / 2; cpu != want || work != float64(n) || elapsed != 10*float64(n) || len(sum.List()) > mostWindows || largest > float64(sum.each) {
			t.Errorf("%d windows: %d, of at most %v, with CPU %v, want %v, work %v, time %v", n, len(sum.List()), largest, cpu, want, work, elapsed)
		}
	}
}

// TestSumBounded: of a program with very many stacks the sums of functions stay, in a megabyte.
func TestSumBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sum := &Sum{Module: "example.com/shop"}
	var windows []*decode.Table
	for range 40 {
		var text strings.Builder
		text.WriteString("cpu 10s\n")
		for range 500 {
			fmt.Fprintf(&text, "net/http.(*conn).serve;main.handle%d@h.go:%d", r.IntN(10), r.IntN(1000))
			for range 15 {
				fmt.Fprintf(&text, ";main.step%d@s.go:%d", r.IntN(50), r.IntN(1000))
			}
			fmt.Fprintf(&text, ";main.leaf%d@l.go:%d 1\n", r.IntN(5), r.IntN(1000))
		}
		windows = append(windows, table(t, text.String()))
	}
	before := heap()
	for _, w := range windows {
		if err := sum.Add(t.Context(), w, window(5, 100)); err != nil {
			t.Fatal(err)
		}
	}
	used := heap() - before
	b := Encode(sum.Side(), time.Now())
	t.Logf("%d stacks, %d KB of memory, %d KB on disk", len(sum.Side().Table.Samples), used>>10, len(b)>>10)
	if used > 1<<20 || len(b) > 200<<10 || len(sum.Side().Table.Samples) > mostStacks {
		t.Error("it is too large")
	}
	if n := sum.Side().Table.Count(); n != 40*500 {
		t.Errorf("%d samples are left", n)
	}
	runtime.KeepAlive(windows)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestWindowsOfMachines: what the machine did is known of windows that were added up if it is of all.
func TestWindowsOfMachines(t *testing.T) {
	for name, unknown := range map[string]int{"known": -1, "not known of one": 70} {
		sum := new(Windows)
		for i := range 3 * mostWindows {
			w := window(1, 1)
			if i != unknown {
				w.Machine = release.Machine{Waited: 1, Others: 2, Stolen: 3, Cores: 20}
			}
			sum.Add(w)
		}
		var all release.Machine
		for _, w := range sum.List() {
			if m := w.Machine; m.Cores > 0 {
				if m != (release.Machine{Waited: m.Cores / 20, Others: m.Cores / 10, Stolen: m.Cores / 20 * 3, Cores: m.Cores}) {
					t.Errorf("%s: %+v", name, m)
				}
				all.Cores += m.Cores
			}
		}
		want := 20.0 * 3 * mostWindows
		if unknown >= 0 {
			want -= 20 * float64(sum.each) // of the others that it was added to
		}
		if all.Cores != want {
			t.Errorf("%s: %v seconds of cores, want %v", name, all.Cores, want)
		}
	}
}
