package report

import (
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/compare/slice"
	"github.com/profguard/profguard/internal/golden"
)

func number(v float64) *float64 { return &v }

// sample has one benchmark of each kind.
func sample() *Report {
	return &Report{
		Base:    Side{Name: "origin/main", Revision: "1a2b3c4d5e", Go: "go1.26.8"},
		Head:    Side{Revision: "6f7a8b9c0d", Modified: true, Go: "go1.26.8"},
		Budgets: []string{"process grows below 5% per call"},
		Took:    95 * time.Second, TimeIsUp: true, Needs: 5 * time.Minute,
		System: System{OS: "linux", Arch: "amd64", Procs: 2, Load: "9.12"},
		Benchmarks: []Benchmark{
			{
				Package: "example.com/shop/parser", Name: "BenchmarkParse/large|1", Verdict: Broken, Reason: "CPU time above 5%", Pairs: 72, Took: 27 * time.Second,
				CPU:    Metric{Base: 1.23e-3, Head: 1.36e-3, Growth: number(0.104), Low: number(0.071), High: number(0.138)},
				Bytes:  Metric{Base: 4096, Head: 4096, Growth: number(0), Exact: true},
				Allocs: Metric{Base: 12, Head: 13, Growth: number(1.0 / 12), Exact: true},
				Why: &Why{Rows: []Row{{"parser.valid", "parser.valid costs 190us a call, 40us before: +24.0 points (at least +17.0), parser/valid.go:42"}},
					Command: "go tool pprof -diff_base base.pb.gz head.pb.gz", File: "parser/valid.go", Line: 42},
				Slices: [2][]slice.Record{
					{{N: 100, Wall: 200 * time.Millisecond, CPU: 123 * time.Millisecond, Bytes: 409600, Allocs: 1200}},
					{{N: 100, Wall: 190 * time.Millisecond, CPU: 136 * time.Millisecond, Bytes: 409600, Allocs: 1300}},
				},
			},
			{
				Package: "example.com/shop/parser", Name: "BenchmarkLex", Verdict: Kept, Improved: true, Pairs: 20, Took: 7 * time.Second,
				CPU:    Metric{Base: 2e-6, Head: 1.8e-6, Growth: number(-0.1), Low: number(-0.13), High: number(-0.07)},
				Bytes:  Metric{Base: 0, Head: 64, Exact: true},
				Allocs: Metric{Base: 0.4, Head: 0.424, Growth: number(0.06)},
			},
			{Package: "example.com/shop/store", Name: "BenchmarkGet", New: true, Verdict: Kept, Pairs: 40, Took: 15 * time.Second,
				Note: "a call takes 12µs of wall time, 6µs before, surely 90% more, and CPU time grows by at most 3%: it waits longer, as for a lock, a channel or a file",
				CPU:  Metric{Base: 5e-6, Head: 5e-6, Growth: number(0.001), Low: number(-0.03), High: number(0.03)}},
			{Package: "example.com/shop/store", Name: "BenchmarkPut", Verdict: Undecided, Reason: "only 3 pairs in the time, of some 31s each; at least 8 decide", Pairs: 3, Took: 93 * time.Second,
				CPU: Metric{Base: 15, Head: 15.2, Growth: number(0.013)}},
			{Package: "example.com/shop/store", Name: "BenchmarkNew", Verdict: Unjudged, Reason: "is new: the base does not have it"},
			{Package: "example.com/shop/store", Name: "BenchmarkDial", Verdict: Broken, Reason: "fails at the head", Output: "--- FAIL: BenchmarkDial\n    store_test.go:9: no <database>"},
		},
		Packages: []Package{
			{Path: "example.com/shop/old", Verdict: Unjudged, Reason: "does not compile at the base", Output: "old_test.go:5:35: undefined: missing"},
			{Path: "example.com/shop/work", Verdict: Kept, Reason: "the same code on both sides"},
		},
		Notes: []string{"the base is built by go1.25 and the head by go1.26"},
	}
}

func TestFormats(t *testing.T) {
	for _, format := range Formats() {
		var b strings.Builder
		if err := sample().Write(&b, format); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, format+".txt", b.String())
	}
}

func TestVerdict(t *testing.T) {
	with := func(verdicts ...Verdict) *Report {
		r := &Report{}
		for _, v := range verdicts {
			r.Benchmarks = append(r.Benchmarks, Benchmark{Verdict: v})
		}
		return r
	}
	stopped := with(Kept)
	stopped.Stopped = true
	for _, c := range []struct {
		name string
		r    *Report
		want Verdict
	}{
		{"all kept", with(Kept, Kept), Kept},
		{"one is not compared", with(Kept, Unjudged), Kept},
		{"none is compared", with(Unjudged), Undecided},
		{"none at all", with(), Undecided},
		{"undecided", with(Kept, Undecided), Undecided},
		{"broken", with(Kept, Undecided, Broken), Broken},
		{"stopped", stopped, Undecided},
		{"a package does not compile at the head", &Report{Packages: []Package{{Verdict: Broken}}}, Broken},
		{"a package is the same", &Report{Packages: []Package{{Verdict: Kept}}}, Kept},
	} {
		if got := c.r.Verdict(); got != c.want {
			t.Errorf("%s: expected %s, found %s", c.name, c.want, got)
		}
	}
}

// TestGitHubUndecided: where nothing was decided, a step ends without an error, so that a warning says so.
func TestGitHubUndecided(t *testing.T) {
	for want, list := range map[int][]*Report{
		1: {{}, {Benchmarks: []Benchmark{{Verdict: Unjudged}}}, {Benchmarks: []Benchmark{{Verdict: Undecided}}}, {Benchmarks: []Benchmark{{Verdict: Kept}}, Stopped: true}},
		0: {{Benchmarks: []Benchmark{{Verdict: Kept}, {Verdict: Unjudged}}}, {Packages: []Package{{Verdict: Kept}}}},
	} {
		for _, r := range list {
			var b strings.Builder
			if err := r.Write(&b, "github"); err != nil || strings.Count(b.String(), "::warning ") != want {
				t.Errorf("expected %d warnings, found %v\n%s", want, err, b.String())
			}
		}
	}
}

// Packages whose paths end in the same element are told apart in titles, and only these.
func TestShorten(t *testing.T) {
	r := &Report{}
	for _, path := range []string{"example.com/shop/a/parser", "example.com/shop/b/parser", "example.com/shop/b/parser", "example.com/shop/x/a/lexer", "example.com/shop/y/a/lexer", "lexer", "example.com/shop"} {
		r.Benchmarks = append(r.Benchmarks, Benchmark{Package: path, Name: "BenchmarkA"})
	}
	r.Shorten()
	for i, want := range []string{"a/parser.A", "b/parser.A", "b/parser.A", "x/a/lexer.A", "y/a/lexer.A", "lexer.A", "shop.A"} {
		if got := r.Benchmarks[i].Title(); got != want {
			t.Errorf("expected %s, found %s", want, got)
		}
	}
}
