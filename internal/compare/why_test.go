package compare

import (
	"slices"
	"strings"
	"testing"

	"github.com/profguard/profguard/internal/compare/report"
)

// Where a benchmark fails, the function and the line are named that the change made dearer: by CPU time
// and by allocations, in one comparison.
func TestRunPlaces(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for half a minute")
	}
	t.Parallel()
	const test = `package NAME

import "testing"

var sink *[64]byte

func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		run()
	}
}
`
	const work = `
//go:noinline
func spin(n int) (sum int) {
	for i := range n {
		sum += i ^ sum<<1
	}
	return sum
}
`
	pack := func(name, code string) string {
		return "-- " + name + "/x_test.go --\n" + strings.ReplaceAll(test, "NAME", name) +
			"-- " + name + "/" + name + ".go --\npackage " + name + "\n" + work + code
	}
	const mod = "-- go.mod --\nmodule example.com/shop\n\ngo 1.26\n"
	const deep = "\nfunc run() { parse() }\n\n//go:noinline\nfunc parse() { spin(20_000); scan() }\n\n//go:noinline\nfunc scan() { spin(5_000)NEXT }\n"
	const next = "\n//go:noinline\nfunc next() (sum int) {\n\tfor i := range 60_000 {\n\t\tsum += i ^ sum<<2\n\t}\n\treturn sum\n}\n"
	const inline = "\nfunc run() int { return small() }\n\nfunc small() (sum int) {\n\tfor i := range STEPS {\n\t\tsum += i ^ sum<<1\n\t}\n\treturn sum\n}\n"
	const heap = "\nvar kept *[64]byte\n\nfunc run() {\n\tvar block [64]byte\n\tfill(&block)\n\tspin(20_000)\n}\n\n//go:noinline\nfunc fill(to *[64]byte) { to[3]++KEEP }\n"
	before := mod + pack("deep", strings.Replace(deep, "NEXT", "", 1)) + pack("inline", strings.Replace(inline, "STEPS", "20_000", 1)) + pack("heap", strings.Replace(heap, "KEEP", "", 1))
	now := mod + pack("deep", strings.Replace(deep, "NEXT", "; next()", 1)+next) + pack("inline", strings.Replace(inline, "STEPS", "60_000", 1)) + pack("heap", strings.Replace(heap, "KEEP", "; kept = to", 1))
	c := quickBeside(t, changed(t, before, now), "./...")
	_, found := compared(t, c)
	for _, w := range []struct{ title, function, text, file string }{
		{"deep.Run", "example.com/shop/deep.next", " before: +", "deep/deep.go"},
		{"inline.Run", "example.com/shop/inline.small", "before: +", "inline/inline.go"},
		{"heap.Run", "example.com/shop/heap.run", ", heap/heap.go:14, a line that did not change: now the compiler says moved to heap: block", "heap/heap.go"},
	} {
		b := found[w.title]
		if b.Verdict != report.Broken || b.Why == nil || b.Why.File != w.file || !slices.ContainsFunc(b.Why.Rows, func(r report.Row) bool {
			return r.Function == w.function && strings.Contains(r.Text, w.text)
		}) {
			t.Errorf("%s: expected %s with %q, found %s, %q, %+v", w.title, w.function, w.text, b.Verdict, b.Reason, b.Why)
		}
	}
	if rows := found["deep.Run"].Why; rows != nil && len(rows.Rows) > 1 {
		t.Errorf("expected one function, found %+v", rows)
	}
}
