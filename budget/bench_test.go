package budget

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/figures"
	"github.com/profguard/profguard/internal/folded"
)

var benchProfiles = flag.String("profile", "", "profiles to benchmark with, a pattern: /path/*.pb.gz")

// benchBudgets are what a service might declare: they take every sort of
// counting, and hold. What it costs to explain those that don't, which a healthy
// service does not do, is BenchmarkExplain's.
var benchBudgets = Must(
	"no function above 99% cumulative",
	"no function above 99% flat except runtime/...",
	"no package above 99% cumulative",
	"portlist absent",
	"crypto/tls below 99%",
	"encoding/json below 5 cores",
	"process below 100 cores",
	"gc below 99%",
)

// synthetic is a profile of the shape of a service's: so many stacks of 15 to 45
// frames that share their roots, and so many functions of which a few are
// frequent.
func synthetic(stacks, functions int) *profile.Profile {
	rng := rand.New(rand.NewPCG(3, 5))
	var b strings.Builder
	b.WriteString("cpu 10s\n")
	for i := range stacks {
		b.WriteString("net/http.(*conn).serve;net/http.serverHandler.ServeHTTP;net/http.HandlerFunc.ServeHTTP;main.handle")
		for d := range 15 + rng.IntN(30) {
			n := (i*31 + d) % functions
			if rng.IntN(4) > 0 {
				n = int(float64(functions) * rng.Float64() * rng.Float64() * rng.Float64())
			}
			fmt.Fprintf(&b, ";example.com/app/pkg%d.(*Type%d).Method%d@file%d.go:%d", n%97, n%13, n, n%97, 1+rng.IntN(3))
		}
		fmt.Fprintf(&b, " %d\n", 1+rng.IntN(3))
	}
	return folded.Must(b.String())
}

// naive is what a program without this package would do: parse, and add up flat
// and cumulative shares of functions, cumulative ones of packages.
func naive(data []byte) (int, error) {
	p, err := profile.ParseData(data)
	if err != nil {
		return 0, err
	}
	flat, cum, pkg := map[string]int64{}, map[string]int64{}, map[string]int64{}
	for _, s := range p.Sample {
		v := s.Value[len(s.Value)-1]
		seen, seenPkg := map[string]bool{}, map[string]bool{}
		for i, l := range s.Location {
			for k, line := range l.Line {
				name := line.Function.Name
				if i == 0 && k == 0 {
					flat[name] += v
				}
				if !seen[name] {
					seen[name] = true
					cum[name] += v
				}
				path, _, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ".")
				if !seenPkg[path] {
					seenPkg[path] = true
					pkg[path] += v
				}
			}
		}
	}
	return len(flat) + len(cum) + len(pkg), nil
}

// benchData is the profiles to measure with.
func benchData(b *testing.B) map[string][]byte {
	b.Helper()
	if *benchProfiles == "" {
		return map[string][]byte{
			"10s": encode(b, synthetic(600, 800)),
			"60s": encode(b, synthetic(4000, 2000)),
		}
	}
	files, err := filepath.Glob(*benchProfiles)
	if err != nil || len(files) == 0 {
		b.Fatalf("no profiles %q: %v", *benchProfiles, err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		out[filepath.Base(f)] = data
	}
	return out
}

// cost is time and allocations of one call.
type cost struct {
	time   time.Duration
	allocs float64
	bytes  float64
}

// costOf runs f for a while, in rounds of which the fastest counts: others were
// disturbed. It counts the process's CPU time, which other processes have no part
// in, and which has the garbage collector's work for whoever made garbage.
func costOf(f func()) cost {
	reader := figures.NewReader()
	defer reader.Close()
	f()
	best := cost{time: time.Hour}
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		cpu := reader.Read().CPU
		n := 0
		for ; n < 3 || time.Since(start) < 100*time.Millisecond; n++ {
			f()
		}
		d := reader.Read().CPU - cpu
		runtime.ReadMemStats(&after)
		if d /= time.Duration(n); d < best.time {
			best = cost{d, float64(after.Mallocs-before.Mallocs) / float64(n), float64(after.TotalAlloc-before.TotalAlloc) / float64(n)}
		}
	}
	return best
}

// BenchmarkJudge compares a window that is judged with the same window parsed
// and added up the usual way, in one run. With -profile it takes real ones:
//
//	go test -run - -bench Judge -profile '/path/*.pb.gz' ./budget
func BenchmarkJudge(b *testing.B) { benchJudge(b, benchBudgets) }

// BenchmarkExplain is BenchmarkJudge with budgets that are broken on most
// profiles, so that their offenders are explained.
func BenchmarkExplain(b *testing.B) {
	benchJudge(b, Must("no function above 20% cumulative", "no package above 60% cumulative", "encoding/json below 1%", "fmt absent"))
}

func benchJudge(b *testing.B, budgets Set) {
	for name, data := range benchData(b) {
		b.Run(name, func(b *testing.B) {
			j, err := NewJudge(budgets)
			if err != nil {
				b.Fatal(err)
			}
			judge := func() {
				if _, err := j.Reader(bytes.NewReader(data)); err != nil {
					b.Fatal(err)
				}
			}
			usual := costOf(func() {
				if _, err := naive(data); err != nil {
					b.Fatal(err)
				}
			})
			ours := costOf(judge)
			b.ReportAllocs()
			for b.Loop() {
				judge()
			}
			b.ReportMetric(ours.time.Seconds()*1000, "cpu-ms/window")
			b.ReportMetric(float64(usual.time)/float64(ours.time), "times-faster")
			b.ReportMetric(100*ours.allocs/usual.allocs, "%-of-allocs")
			b.ReportMetric(100*ours.bytes/usual.bytes, "%-of-bytes")
		})
	}
}

// BenchmarkManyBudgets judges a thousand budgets on a profile of 50,000
// functions, after the first window.
func BenchmarkManyBudgets(b *testing.B) {
	j, err := NewJudge(manyPatterns(1000))
	if err != nil {
		b.Fatal(err)
	}
	data := encode(b, synthetic(6000, 50_000))
	start := time.Now()
	if _, err := j.Reader(bytes.NewReader(data)); err != nil {
		b.Fatal(err)
	}
	first := time.Since(start)
	later := costOf(func() {
		if _, err := j.Reader(bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
	})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := j.Reader(bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(first.Milliseconds()), "ms-first-window")
	b.ReportMetric(later.time.Seconds()*1000, "cpu-ms/window")
}

// manyPatterns are budgets of all sorts, most of them on patterns.
func manyPatterns(n int) Set {
	var lines []string
	for i := range n {
		switch i % 10 {
		case 0:
			lines = append(lines, fmt.Sprintf("all%d: no function above %d%%", i, 20+i%60))
		case 1:
			lines = append(lines, fmt.Sprintf("example.com/app/pkg%d/sub%d absent", i%97, i))
		default:
			lines = append(lines, fmt.Sprintf("example.com/app/pkg%d.(*Type%d).Method%d below 50%%", i%97, i%13, i))
		}
	}
	return Must(lines...)
}

// TestFault_48 is about ten thousand budgets on very many functions: a million
// are refused, as is anything above the decoder's limit of 200,000, and what it
// admits is judged.
func TestFault_48(t *testing.T) {
	if testing.Short() {
		t.Skip("judges large profiles")
	}
	set := manyPatterns(10_000)
	j, err := NewJudge(set)
	if err != nil {
		t.Fatal(err)
	}
	tooMany, many := wide(t, 210_000), wide(t, 100_000)
	start := time.Now()
	_, err = j.Reader(bytes.NewReader(tooMany))
	if limit := (*decode.LimitError)(nil); !errors.As(err, &limit) {
		t.Errorf("more functions than the decoder admits: %v, want them refused", err)
	}
	t.Logf("refused after %v: %v", time.Since(start), err)
	start = time.Now()
	results, err := j.Reader(bytes.NewReader(many))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d budgets on 100,000 functions take %v", len(results), time.Since(start))
}

// wide is a profile with so many functions, each of which is a leaf.
func wide(t *testing.T, functions int) []byte {
	t.Helper()
	p := folded.Must("cpu 10s\n")
	for i := range functions {
		f := &profile.Function{ID: uint64(i + 1), Name: fmt.Sprintf("example.com/app/pkg%d.F%d", i%97, i)}
		l := &profile.Location{ID: uint64(i + 1), Line: []profile.Line{{Function: f}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{1, 1e7}})
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err == nil {
		if err = p.WriteUncompressed(z); err == nil {
			err = z.Close()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
