package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/compare/growth"
	"github.com/profguard/profguard/internal/compare/report"
	"github.com/profguard/profguard/internal/compare/slice"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/release"
)

// measured is a trial of some pairs, whose calls cost so much on each side.
func measured(t *testing.T, cost, wall [2]time.Duration, n int) *trial {
	t.Helper()
	budgets, err := ParseBudgets(DefaultBudgets)
	if err != nil {
		t.Fatal(err)
	}
	tr := (&comparison{}).newTrial(&pkg{path: "example.com/a"}, "BenchmarkA", [2]slice.Record{})
	tr.judges(budgets, falseFailures)
	tr.n = n
	for range 40 {
		var got [2]slice.Record
		for i := range got {
			got[i] = slice.Record{N: n, CPU: time.Duration(n) * cost[i]}
			tr.walls[i] = append(tr.walls[i], time.Duration(n*int(wall[i])).Seconds())
		}
		tr.add(got)
	}
	return tr
}

// A profile takes the time that it should, also where one side costs 360 times as much, or waits.
func TestProfileCalls(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		name       string
		cost, wall [2]time.Duration
		want       [2]int
	}{
		{"some more", [2]time.Duration{10 * us, 12 * us}, [2]time.Duration{10 * us, 12 * us}, [2]int{62_500, 62_500}},
		{"some less", [2]time.Duration{12 * us, 10 * us}, [2]time.Duration{12 * us, 10 * us}, [2]int{62_500, 62_500}},
		{"360 times", [2]time.Duration{10 * us, 3600 * us}, [2]time.Duration{10 * us, 3600 * us}, [2]int{75_000, 208}},
		{"waits", [2]time.Duration{10 * us, 15 * us}, [2]time.Duration{10 * us, 100_000 * us}, [2]int{200, 200}},
		{"a minute", [2]time.Duration{time.Minute, time.Minute}, [2]time.Duration{time.Minute, time.Minute}, [2]int{1, 1}},
	} {
		calls := measured(t, c.cost, c.wall, 10).profileCalls(0.75)
		if calls != c.want {
			t.Errorf("%s: expected %v, found %v", c.name, c.want, calls)
		}
	}
}

// Some of the time is left for profiles where benchmarks fail, and none where they do not.
func TestReserve(t *testing.T) {
	m := &comparison{}
	same := [2]time.Duration{time.Millisecond, time.Millisecond}
	dearer := [2]time.Duration{time.Millisecond, 2 * time.Millisecond}
	kept, broken := measured(t, same, same, 10), measured(t, dearer, dearer, 10)
	for _, c := range []struct {
		list  []*trial
		limit time.Duration
		want  time.Duration
	}{
		{[]*trial{kept}, time.Hour, 0},
		{[]*trial{kept, broken}, time.Hour, 4 * leastProfiled},
		{[]*trial{broken, broken, broken, broken, broken, broken}, time.Hour, explained * 4 * leastProfiled},
		{[]*trial{kept, broken}, 20 * time.Second, 5 * time.Second},
	} {
		if got := m.reserve(c.list, c.limit); got != c.want {
			t.Errorf("%d trials: expected %v, found %v", len(c.list), c.want, got)
		}
	}
}

// A profile that is too large is taken again with less in it, and another error is one.
func TestInDetail(t *testing.T) {
	tooLarge := fmt.Errorf("decode profile: %w", &decode.LimitError{What: "frames", Got: 4_800_000, Limit: 3_000_000})
	for n, d := range details {
		tries := 0
		err := inDetail(func(got detail) error {
			if tries++; tries <= n {
				return tooLarge
			}
			if got != d {
				t.Errorf("try %d: expected %v, found %v", tries, d, got)
			}
			return nil
		})
		if err != nil || tries != n+1 {
			t.Errorf("%v after %d tries", err, tries)
		}
		if says := strings.Contains(d.note(), "estimates"); says != (d.rate > 1) {
			t.Errorf("%v: %q", d, d.note())
		}
	}
	tries, broken := 0, errors.New("fails")
	if err := inDetail(func(detail) error { tries++; return broken }); err != broken || tries != 1 {
		t.Errorf("%v after %d tries", err, tries)
	}
}

// Each benchmark that fails says why, or how to find out.
func TestMostGrown(t *testing.T) {
	m := &comparison{report: &report.Report{}}
	var list []*trial
	for i := range explained + 1 {
		list = append(list, measured(t, [2]time.Duration{time.Millisecond, time.Duration(i+2) * time.Millisecond}, [2]time.Duration{}, 10))
		list[i].name = fmt.Sprintf("Benchmark%d", i)
		m.report.Benchmarks = append(m.report.Benchmarks, report.Benchmark{Package: "example.com/a", Name: list[i].name})
	}
	if got := m.mostGrown(list); len(got) != explained || got[0] != list[explained] || slices.Contains(got, list[0]) {
		t.Errorf("%d get profiles, want %d, the one that has grown most first", len(got), explained)
	}
	for i, b := range m.report.Benchmarks {
		if told := b.Why != nil && strings.HasPrefix(b.Why.Note, "not profiled: only the 5 benchmarks"); told != (i == 0) {
			t.Errorf("%s: %+v", b.Name, b.Why)
		}
	}
}

// A function without proof only seems to cost more, in its own row: what follows about allocations is exact.
func TestFunctionsProven(t *testing.T) {
	profile, err := new(decode.Decoder).Profile(folded.Must("cpu 1s\nm.scan@m/x.go:7 100\n"))
	if err != nil {
		t.Fatal(err)
	}
	side := &profiled{clock: time.Second, calls: 10, table: profile}
	m, tr := &comparison{}, measured(t, [2]time.Duration{time.Millisecond, 2 * time.Millisecond}, [2]time.Duration{}, 10)
	for proven, want := range map[bool]string{true: "m.scan costs 1ms a call, ", false: "m.scan seems to cost 1ms a call, "} {
		why := m.functions(tr, [2]*profiled{side, side}, growth.Result{Proven: proven, Functions: []growth.Function{{Function: release.Function{Name: "m.scan", Now: 1e-3, New: true}}}})
		if got := why.Rows[0].Text; !strings.HasPrefix(got, want) || strings.Contains(why.Note, "prove no single function") == proven {
			t.Errorf("got %q and %q, want %q", got, why.Note, want)
		}
	}
}

// A profile of allocations takes a second, also of calls that allocate much.
func TestAllocCalls(t *testing.T) {
	for _, c := range []struct {
		n           int
		before, now float64
		want        int
	}{
		{50, 0, 1, 50},
		{1e6, 0, 1, 10_000},
		{1e6, 134, 200, 1000},
		{1e6, 200, 134, 1000},
		{1e6, 1, 1e6, 100},
		{3, 1, 1e6, 3},
	} {
		tr := &trial{n: c.n}
		tr.allocs.each = [2][]float64{{c.before}, {c.now}}
		if got := tr.allocCalls(); got != c.want {
			t.Errorf("%+v: found %d", c, got)
		}
	}
}
