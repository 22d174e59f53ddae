package budget_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/process"
)

// expressions are budgets on regular expressions. selective ones have a part of
// their own, the others must be tried on every name.
func expressions(n int, selective bool) Set {
	var lines []string
	for i := range n {
		if selective {
			lines = append(lines, fmt.Sprintf(`/^example\.com\/app\/pkg\d+\.\(\*Type\d+\)\.Method%d$/ below 50%%`, i))
		} else {
			lines = append(lines, fmt.Sprintf(`/^[a-z.\/]+[0-9]*[.].*[%c-%c].{%d}[^%d]?$/ below 50%%`, 'A'+i%13, 'N'+i%13, 1+i%40, i/40))
		}
	}
	return Must(lines...)
}

// BenchmarkManyExpressions judges a thousand budgets on regular expressions, or a hundred that
// have to read every name, on a profile of 5,000 functions: the first window, which learns them all.
func BenchmarkManyExpressions(b *testing.B) {
	data := encode(b, synthetic(2000, 5000))
	for n, selective := range map[int]bool{1000: true, 100: false} {
		b.Run(fmt.Sprintf("selective=%v", selective), func(b *testing.B) {
			set := expressions(n, selective)
			var cpu time.Duration
			for b.Loop() {
				j, err := newJudge(set)
				if err != nil {
					b.Fatal(err)
				}
				before := process.Read().CPU
				if _, err := j.Data(data); err != nil {
					b.Fatal(err)
				}
				cpu += process.Read().CPU - before
			}
			b.ReportMetric(cpu.Seconds()*1000/float64(b.N), "cpu-ms/window")
		})
	}
}

// TestFault_48_expressions plants more expressions times functions than one profile
// may cost: it is refused with what to do, and a smaller one is judged as by a judge
// that had it easy.
func TestFault_48_expressions(t *testing.T) {
	if testing.Short() {
		t.Skip("matches for seconds")
	}
	var lines []string
	for i := range 4000 {
		lines = append(lines, fmt.Sprintf(`/^unheard%d\./ below 50%%`, i))
	}
	lines[0] = `/^example\.com\/app\/pkg1\./ below 50%`
	set := Must(lines...)
	j, err := newJudge(set)
	if err != nil {
		t.Fatal(err)
	}
	_, err = j.Data(encode(t, synthetic(600, 3000)))
	if err == nil || !strings.Contains(err.Error(), "name packages and functions instead of writing regular expressions") {
		t.Errorf("%v, want it refused", err)
	}
	small := encode(t, synthetic(60, 300))
	results, err := j.Data(small)
	if err != nil {
		t.Fatal(err)
	}
	few, err := set[:10].JudgeReader(bytes.NewReader(small), Facts{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(few, results[:10]); diff != "" {
		t.Errorf("results (-few budgets +all):\n%s", diff)
	}
}

// TestFault_48_names is about names that change with every window: what is
// remembered of them is bounded.
func TestFault_48_names(t *testing.T) {
	if testing.Short() {
		t.Skip("judges forty windows")
	}
	w, err := newWatch(expressions(10, true), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	var text strings.Builder
	text.WriteString("cpu 10s\n")
	for k := range 2500 {
		fmt.Fprintf(&text, "main.main;method%d@f.go:1 1\n", k)
	}
	p := folded.Must(text.String())
	before, most := heap(), int64(0)
	for i := range 40 {
		for k, f := range p.Function[1:] { // behind main.main
			f.Name = fmt.Sprintf("example.com/app/pkg%d.(*Type%d).Method%d", i, k%13, k)
		}
		if _, err := w.Profile(p, time.Duration(i)*time.Minute); err != nil {
			t.Fatal(err)
		}
		if i%8 == 7 {
			most = max(most, heap()-before)
		}
	}
	// 32,768 names of some 200 bytes, twice: the memory before and after a start anew.
	if most > 16<<20 {
		t.Errorf("%d bytes are remembered of 100,000 names, want at most 16 MiB", most)
	}
}

// TestWatchCanceled stops in the middle of a window, which leaves no trace.
func TestWatchCanceled(t *testing.T) {
	var d decode.Decoder
	table, err := d.Bytes(encode(t, synthetic(600, 800)))
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	made := func() *watch {
		w, err := newWatch(benchBudgets, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	w, other := made(), made()
	if _, err := w.Table(ended, table, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v, want %v", err, context.Canceled)
	}
	got, err := w.Table(t.Context(), table, 0)
	if err != nil {
		t.Fatal(err)
	}
	want, err := other.Table(t.Context(), table, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after a window that was canceled (-without +with):\n%s", diff)
	}
}

// Budgets that except each their own are as many questions as those with an "in" each: a
// profile that is too large for them says so.
func TestRefusedForExcepts(t *testing.T) {
	var lines []string
	for i := range 1000 {
		lines = append(lines, fmt.Sprintf("no function above 20%% except main.f%d", i))
	}
	var text strings.Builder
	text.WriteString("cpu 10s\n")
	for i := range 1001 {
		fmt.Fprintf(&text, "main.main%s;main.f%d 1\n", strings.Repeat(";main.g", 100), i)
	}
	var data bytes.Buffer
	if err := folded.Must(text.String()).Write(&data); err != nil {
		t.Fatal(err)
	}
	_, err := Must(lines...).JudgeReader(&data, Facts{})
	if err == nil || !strings.Contains(err.Error(), "fewer budgets with an in, where or except of their own") {
		t.Errorf("%v", err)
	}
}
