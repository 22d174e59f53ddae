package budget_test

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/process"
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

// naive is what a program without this package would do to hold benchBudgets against
// a profile: parse it, and add up flat and cumulative shares of functions, cumulative
// ones of packages, those of the four names, and the whole.
func naive(data []byte) (int, error) {
	p, err := profile.Parse(bytes.NewReader(data))
	if err != nil {
		return 0, err
	}
	names := [...]string{"portlist.", "crypto/tls.", "encoding/json.", "runtime.gcBgMarkWorker"}
	flat, cum, pkg := map[string]int64{}, map[string]int64{}, map[string]int64{}
	var named [len(names)]int64
	var total int64
	for _, s := range p.Sample {
		v := s.Value[len(s.Value)-1]
		total += v
		seen, seenPkg, seenName := map[string]bool{}, map[string]bool{}, [len(names)]bool{}
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
				for n, prefix := range names {
					if !seenName[n] && strings.HasPrefix(name, prefix) {
						seenName[n] = true
						named[n] += v
					}
				}
			}
		}
	}
	return len(flat) + len(cum) + len(pkg) + len(named) + int(total), nil
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

// costsOf runs each of several things for a while, in turns, and returns the costs of
// all turns: costs[i][k] is that of the ith thing in the kth turn. It counts the
// process's CPU time, in which other processes have no part.
func costsOf(things ...func()) [][]cost {
	const turns = 9
	costs := make([][]cost, len(things))
	for range turns {
		for i, f := range things {
			f() // the caches hold the others' data
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			cpu := process.Read().CPU
			n := 0
			for ; n < 3 || time.Since(start) < 100*time.Millisecond; n++ {
				f()
			}
			d := process.Read().CPU - cpu
			runtime.ReadMemStats(&after)
			per := 1 / float64(n)
			costs[i] = append(costs[i], cost{
				time:   time.Duration(float64(d) * per),
				allocs: float64(after.Mallocs-before.Mallocs) * per,
				bytes:  float64(after.TotalAlloc-before.TotalAlloc) * per,
			})
		}
	}
	return costs
}

// fastest is the time of the fastest turn: the others were disturbed.
func fastest(turns []cost) time.Duration {
	return slices.MinFunc(turns, func(a, b cost) int { return cmp.Compare(a.time, b.time) }).time
}

// median is the middle of what ratio says of each turn.
func median(turns int, ratio func(k int) float64) float64 {
	values := make([]float64, turns)
	for k := range values {
		values[k] = ratio(k)
	}
	slices.Sort(values)
	return values[turns/2]
}

// BenchmarkJudge compares a window that is judged with the same window parsed
// and added up the usual way, in one run and in turns, and prints the median
// of what the turns say. With -profile it takes real ones:
//
//	go test ./budget -run - -bench Judge -profile '/path/*.pb.gz'
func BenchmarkJudge(b *testing.B) { benchJudge(b, benchBudgets) }

// BenchmarkExplain is BenchmarkJudge with budgets that are broken on most
// profiles, so that their offenders are explained.
func BenchmarkExplain(b *testing.B) {
	benchJudge(b, Must("no function above 20% cumulative", "no package above 60% cumulative", "encoding/json below 1%", "fmt absent"))
}

func benchJudge(b *testing.B, budgets Set) {
	for name, data := range benchData(b) {
		b.Run(name, func(b *testing.B) {
			j, err := newJudge(budgets)
			if err != nil {
				b.Fatal(err)
			}
			judge := func() {
				if _, err := j.Data(data); err != nil {
					b.Fatal(err)
				}
			}
			costs := costsOf(func() {
				if _, err := naive(data); err != nil {
					b.Fatal(err)
				}
			}, judge)
			usual, ours := costs[0], costs[1]
			b.ReportAllocs()
			for b.Loop() {
				judge()
			}
			b.ReportMetric(fastest(ours).Seconds()*1000, "cpu-ms/window")
			for unit, ratio := range map[string]func(k int) float64{
				"times-faster": func(k int) float64 { return float64(usual[k].time) / float64(ours[k].time) },
				"%-of-allocs":  func(k int) float64 { return 100 * ours[k].allocs / usual[k].allocs },
				"%-of-bytes":   func(k int) float64 { return 100 * ours[k].bytes / usual[k].bytes },
			} {
				b.ReportMetric(median(len(ours), ratio), unit)
			}
		})
	}
}

// BenchmarkManyBudgets judges a thousand budgets on a profile of 50,000
// functions, after the first window.
func BenchmarkManyBudgets(b *testing.B) {
	j, err := newJudge(manyPatterns(1000))
	if err != nil {
		b.Fatal(err)
	}
	data := encode(b, synthetic(6000, 50_000))
	start := time.Now()
	if _, err := j.Data(data); err != nil {
		b.Fatal(err)
	}
	first := time.Since(start)
	later := costsOf(func() {
		if _, err := j.Data(data); err != nil {
			b.Fatal(err)
		}
	})[0]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := j.Data(data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(first.Milliseconds()), "ms-first-window")
	b.ReportMetric(fastest(later).Seconds()*1000, "cpu-ms/window")
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
	j, err := newJudge(set)
	if err != nil {
		t.Fatal(err)
	}
	tooMany, many := hostile(t, 210_000, 1, 1, 1), hostile(t, 100_000, 1, 100_000, 1)
	// What google/pprof takes to read the profile: limits in multiples of it hold on
	// any machine, a busy one too. It is 0 where the system does not say.
	start := process.ProcessCPU()
	if _, err := profile.ParseData(many); err != nil {
		t.Fatal(err)
	}
	once := process.ProcessCPU() - start
	start = process.ProcessCPU()
	_, err = j.Data(tooMany)
	if limit := (*decode.LimitError)(nil); !errors.As(err, &limit) {
		t.Errorf("more functions than the decoder admits: %v, want them refused", err)
	}
	refused := process.ProcessCPU() - start
	start = process.ProcessCPU()
	results, err := j.Data(many)
	if err != nil {
		t.Fatal(err)
	}
	judged := process.ProcessCPU() - start
	t.Logf("%d budgets on 100,000 functions take %v, refusing 210,000 functions takes %v; google/pprof reads 100,000 in %v", len(results), judged, refused, once)
	if refused > 5*once || judged > 10*once { // one and two seconds
		t.Errorf("refused within %v, judged within %v; google/pprof takes %v", refused, judged, once)
	}
}
