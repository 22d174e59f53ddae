package pattern_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/profguard/profguard/internal/names"
	. "github.com/profguard/profguard/internal/pattern"
)

func mustParse(t testing.TB, texts ...string) []*Pattern {
	t.Helper()
	var patterns []*Pattern
	for _, text := range texts {
		p, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		patterns = append(patterns, p)
	}
	return patterns
}

// spellings are the names of functions with which package names is tested.
func spellings(t *testing.T) (full []string) {
	b, err := os.ReadFile("../names/testdata/names.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		name, _, _ := strings.Cut(line, "\t")
		full = append(full, name)
	}
	return full
}

// matchAll is what an Index must be equal to.
func matchAll(patterns []*Pattern, name string, dst []int32) []int32 {
	for i, p := range patterns {
		if p.Match(name) {
			dst = append(dst, int32(i))
		}
	}
	return dst
}

func TestIndexEqualsPatterns(t *testing.T) {
	var texts, functions []string
	for _, test := range matchTests {
		texts = append(texts, test.pattern)
		functions = append(append(functions, test.match...), test.miss...)
	}
	for _, full := range spellings(t) {
		functions = append(functions, full)
		if _, err := Parse(full); err == nil {
			texts = append(texts, full)
		}
	}
	patterns := mustParse(t, texts...)
	ix := NewIndex(patterns)
	for _, name := range functions {
		if diff := cmp.Diff(matchAll(patterns, name, nil), ix.Match(name, nil)); diff != "" {
			t.Errorf("%q: -patterns +index\n%s", name, diff)
		}
	}
}

// TestIndexEqualsPatternsRandom puts few words together at random, so that
// patterns and names meet often.
func TestIndexEqualsPatternsRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	path := func(extra ...string) string {
		s := pick(append(extra, "a", "b", "main")...)
		for r.IntN(2) == 0 {
			s += "/" + pick(append(extra, "a", "b", "v2", "a.v3")...)
		}
		return s
	}
	word := func(extra ...string) string { return pick(append(extra, "a", "b", "T", "F")...) }
	item := func(extra ...string) string {
		s := pick(word(extra...), "(*"+word(extra...)+")")
		for r.IntN(2) == 0 {
			s += pick("."+word(extra...), ".(*T)", ".func1", ".2", "-range1", "[int]", "-fm")
		}
		return s
	}
	var patterns []*Pattern
	for len(patterns) < 250 {
		text := pick(path("...", "*"), item("*"), path("...")+"."+item(), path()+"."+item("*", "a*"), "/"+word("a|b", "[ab]F")+"/")
		if p, err := Parse(text); err == nil {
			patterns = append(patterns, p)
		}
	}
	ix := NewIndex(patterns)
	matches := 0
	for range 1000 {
		name := path() + "." + item()
		want := matchAll(patterns, name, []int32{-1})
		matches += len(want) - 1
		if diff := cmp.Diff(want, ix.Match(name, []int32{-1})); diff != "" {
			t.Fatalf("%q: -patterns +index\n%s", name, diff)
		}
	}
	if matches < 2_000 {
		t.Errorf("only %d matches: the words are too rare to show anything", matches)
	}
}

func TestIndexZero(t *testing.T) {
	var ix Index
	if got := ix.Match("main.main", nil); len(got) != 0 {
		t.Errorf("the zero index matches %v", got)
	}
}

func TestIndexKeepsDestination(t *testing.T) {
	ix := NewIndex(mustParse(t, "main", "fmt", "main.main"))
	if diff := cmp.Diff([]int32{7, 0, 0, 2}, ix.Match("main.main", []int32{7, 0})); diff != "" {
		t.Error(diff)
	}
}

func TestIndexDoesNotAllocate(t *testing.T) {
	ix := NewIndex(mustParse(t, "main", "net/http/...", "(*conn).serve", ".../http", "net/http.(*conn)", "/serve/"))
	dst := make([]int32, 0, 16)
	allocs := math.Inf(1)
	for range 3 { // what else the process does is counted as well
		allocs = min(allocs, testing.AllocsPerRun(100, func() { dst = ix.Match("net/http.(*conn).serve.func1", dst[:0]) }))
	}
	if len(dst) != 5 || allocs != 0 {
		t.Errorf("%v allocations for the matches %v, want none for five", allocs, dst)
	}
}

// corpus is as many names as a large program has, in 500 packages.
func corpus() []string {
	var names []string
	for i := range 50_000 {
		names = append(names, fmt.Sprintf(
			[]string{"example.com/org/repo/pkg%d.Func%d", "example.com/org/repo/pkg%d.(*Type%d).Method", "example.com/org/repo/pkg%d.(*Type%d).Method.func1", "example.com/org/repo/pkg%d.Generic%d[go.shape.struct { A int }]"}[i%4], i%500, i/8))
	}
	return names
}

func BenchmarkIndex(b *testing.B) {
	names := corpus()
	for _, bench := range []struct {
		name   string
		count  int
		format []string // filled in with a number
	}{
		{"literal", 1000, []string{"pkg%d", "example.com/org/repo/pkg%d", "pkg%d.(*Type%[1]d).Method", "example.com/org/repo/pkg%d.Func%[1]d", "(*Type%d).Method", "Type%d.Method", "Func%d", "example.com/org/repo/pkg%d/..."}},
		{"same function", 1000, []string{"example.com/org/other/pkg%d.(*Type1).Method"}},
		{"glob", 100, []string{"pkg%d.Func*", "example.com/*/repo/pkg%d"}},
		{"regexp", 100, []string{`/pkg%d\.Func\d+$/`, `/(Type%d|Generic%[1]d)\b/`, `/^[a-z.\/]+%d[0-9]*[.][A-E]/`}},
	} {
		var patterns []*Pattern
		for i := range bench.count {
			patterns = append(patterns, mustParse(b, fmt.Sprintf(bench.format[i%len(bench.format)], i))...)
		}
		ix := NewIndex(patterns)
		b.Run(fmt.Sprintf("%d %s", bench.count, bench.name), func(b *testing.B) {
			some := slices.Clone(names)
			if bench.name == "regexp" {
				some = some[:2500] // a twentieth: the whole takes seconds
			}
			var dst []int32
			b.ReportAllocs()
			for b.Loop() {
				for _, name := range some {
					dst = ix.Match(name, dst[:0])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(some)), "ns/name")
		})
	}
}

func BenchmarkParseName(b *testing.B) {
	functions := corpus()
	for b.Loop() {
		for _, name := range functions {
			names.PackageOf(name)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(functions)), "ns/name")
}

// A pattern is tried once on a name, however often the name has its word.
func TestIndexTriesOnce(t *testing.T) {
	ix := NewIndex(mustParse(t, "b.b"))
	if hits := ix.Match("a.b.b.b.b.func1", nil); len(hits) != 1 || ix.Cost != 1 {
		t.Errorf("cost %d, hits %v, want one of each", ix.Cost, hits)
	}
}
