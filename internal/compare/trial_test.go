package compare

import (
	"testing"
	"time"

	"github.com/profguard/profguard/internal/compare/report"
	"github.com/profguard/profguard/internal/compare/slice"
)

// Allocations count from half of one, and bytes from 8, whether they are exact or not. What some
// calls allocate and others don't is not rounded away.
func TestTrialAllocations(t *testing.T) {
	budgets, err := ParseBudgets(DefaultBudgets)
	if err != nil {
		t.Fatal(err)
	}
	type call struct{ allocs, bytes, noise float64 }
	for _, c := range []struct {
		name         string
		before, now  call
		want         report.Verdict
		reason       string
		allocs, size float64 // of the head, as reported
	}{
		{"the same", call{12, 4096, 0}, call{12, 4096, 0}, report.Kept, "", 12, 4096},
		{"one of twelve more", call{12, 4096, 0}, call{13, 4096, 0}, report.Broken, "allocations above 5%", 13, 4096},
		{"4 bytes more", call{0, 0, 0}, call{0, 4, 0}, report.Kept, "", 0, 4},
		{"4 bytes more, and noise", call{0, 0, 3}, call{0, 4, 3}, report.Kept, "", 0, 0},
		{"4 bytes more than a few, and noise", call{0, 20, 3}, call{0, 24, 3}, report.Kept, "", 0, 0},
		{"8 bytes more", call{0, 0, 0}, call{0, 8, 0}, report.Broken, "bytes above 5%", 0, 8},
		{"16 bytes more, and noise", call{0, 20, 3}, call{0, 36, 3}, report.Broken, "bytes above 5%", 0, 0},
		{"0.98 allocations more", call{1, 1024, 0}, call{1.98, 1024, 0}, report.Broken, "allocations above 5%", 2, 1024},
		{"0.4 allocations more", call{1, 1024, 0}, call{1.4, 1024, 0}, report.Kept, "", 1.4, 1024},
		{"the runtime's", call{1, 1024, 0}, call{1.01, 1025, 0}, report.Kept, "", 1, 1025},
	} {
		tr := (&comparison{}).newTrial(&pkg{path: "example.com/a"}, "BenchmarkA", [2]slice.Record{})
		tr.judges(budgets, falseFailures)
		const n = 1000
		for i := 0; !tr.decided() && i < 1000; i++ {
			record := func(c call, turn int) slice.Record {
				return slice.Record{N: n, CPU: 100 * time.Millisecond, Allocs: int64(n * c.allocs), Bytes: int64(n * (c.bytes + c.noise*float64(turn%3)))}
			}
			tr.add([2]slice.Record{record(c.before, i), record(c.now, i/3)})
		}
		b := tr.close()
		if b.Verdict != c.want || b.Reason != c.reason {
			t.Errorf("%s: expected %s, %q, found %s, %q after %d pairs", c.name, c.want, c.reason, b.Verdict, b.Reason, b.Pairs)
		}
		if c.before.noise == 0 && (b.Allocs.Head != c.allocs || b.Bytes.Head != c.size || !b.Bytes.Exact) {
			t.Errorf("%s: found %+v, %+v", c.name, b.Allocs, b.Bytes)
		}
	}
}
