package compare

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/profguard/profguard/internal/compare/report"
	"github.com/profguard/profguard/internal/compare/slice"
	"github.com/profguard/profguard/internal/evidence"
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

// Too few pairs leave each cost undecided, for one reason.
func TestTrialTooFewPairs(t *testing.T) {
	budgets, err := ParseBudgets(DefaultBudgets)
	if err != nil {
		t.Fatal(err)
	}
	tr := (&comparison{}).newTrial(&pkg{path: "example.com/a"}, "BenchmarkA", [2]slice.Record{})
	tr.judges(budgets, falseFailures)
	for i := range 3 {
		tr.add([2]slice.Record{{N: 1000, CPU: 100 * time.Millisecond, Bytes: int64(i)}, {N: 1000, CPU: 110 * time.Millisecond, Bytes: int64(2 * i)}})
	}
	if b := tr.close(); b.Verdict != report.Undecided || strings.Count(b.Reason, "only 3 pairs") != 1 {
		t.Errorf("expected undecided, with one reason, found %s, %q", b.Verdict, b.Reason)
	}
}

// What seems dearer gets more pairs, until it is decided or seems so no more. Where the time was too short for verdicts,
// the report says how long takes.
func TestTrialSeemsDearer(t *testing.T) {
	budgets, err := ParseBudgets(DefaultBudgets)
	if err != nil {
		t.Fatal(err)
	}
	for name, now := range map[string]slice.Record{
		"dearer":         {N: 1000, CPU: 200 * time.Millisecond},
		"allocates more": {N: 1000, CPU: 100 * time.Millisecond, Allocs: 1000},
		"the same":       {N: 1000, CPU: 100 * time.Millisecond},
	} {
		tr := (&comparison{}).newTrial(&pkg{path: "example.com/a"}, "BenchmarkA", [2]slice.Record{{Wall: time.Second}, {Wall: time.Second}})
		tr.judges(budgets, falseFailures)
		for i := 0; !tr.decided(); i++ {
			if seems := tr.seemsDearer() > 0; i < fewPairs && seems || i == fewPairs && seems != (name != "the same") {
				t.Errorf("%s, after %d pairs: seems dearer: %t", name, i, seems)
			}
			if got := needs([]*trial{tr, tr}, time.Minute); i == 0 && got != 2*time.Minute || i >= leastPairs && got != 0 {
				t.Errorf("%s, after %d pairs: needs %v", name, i, got)
			}
			tr.add([2]slice.Record{{N: 1000, CPU: 100 * time.Millisecond}, now})
			tr.took += time.Second
		}
		if tr.seemsDearer() > 0 {
			t.Errorf("%s: seems dearer, but is decided", name)
		}
	}
}

// What is exact in the first pairs, and then varies by what the runtime allocates, goes on until it is decided.
func TestTrialNoLongerExact(t *testing.T) {
	budgets, err := ParseBudgets([]string{"process grows below 5% per call of allocs"})
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []int{exactPairs - 1, exactPairs, exactPairs + 1} { // the pair after which it varies
		tr := (&comparison{}).newTrial(&pkg{path: "example.com/a"}, "BenchmarkA", [2]slice.Record{})
		tr.judges(budgets, falseFailures)
		for i := 0; i <= from || !tr.decided(); i++ {
			noise := int64(0)
			if i >= from {
				noise = int64(16 + i%3*32)
			}
			tr.add([2]slice.Record{{N: 1, CPU: time.Millisecond, Bytes: 3e6 + noise}, {N: 1, CPU: time.Millisecond, Bytes: 6e6 + noise}})
		}
		if b := tr.close(); b.Verdict != report.Broken || b.Reason != "bytes above 5%" || b.Pairs < leastPairs {
			t.Errorf("from pair %d: found %s, %q after %d pairs", from, b.Verdict, b.Reason, b.Pairs)
		}
	}
}

// The printed values and the difference agree, also where the medians of the sides differ the other way.
func TestTrialAgrees(t *testing.T) {
	budgets, err := ParseBudgets(DefaultBudgets)
	if err != nil {
		t.Fatal(err)
	}
	tr := (&comparison{}).newTrial(&pkg{path: "example.com/a"}, "BenchmarkA", [2]slice.Record{})
	tr.judges(budgets, falseFailures)
	for i := range 41 { // the machine gets slower, and the pairs with a cheaper head are more
		cost := time.Duration(100+i) * time.Millisecond
		ratio := 0.988
		if i >= 17 && i <= 23 { // the ones in the middle decide the medians
			ratio = 1.06
		}
		tr.add([2]slice.Record{{N: 1000, CPU: cost}, {N: 1000, CPU: time.Duration(float64(cost) * ratio)}})
	}
	if median(tr.cpu.each[head]) <= median(tr.cpu.each[base]) {
		t.Fatal("the medians do not differ the other way")
	}
	m := tr.close().CPU
	if m.Growth == nil || *m.Growth >= 0 || m.Head >= m.Base || *m.Growth < *m.Low || *m.Growth > *m.High {
		t.Errorf("found %v -> %v, %v (%v to %v)", m.Base, m.Head, *m.Growth, *m.Low, *m.High)
	}
}

// A calibration during which the machine stalled finds too few calls. The trial starts again with more,
// and does not end as one that costs too little. One that waits does, and one that costs nothing.
func TestTrialStalled(t *testing.T) {
	budgets, err := ParseBudgets(DefaultBudgets)
	if err != nil {
		t.Fatal(err)
	}
	const start = 10 * time.Millisecond // of a process
	for _, c := range []struct {
		name      string
		n         int
		cpu, wall time.Duration // of a call
		stalls    bool          // in each restart
		want      report.Verdict
		calls     int
	}{
		{"calibrated", 5000, 20 * time.Microsecond, 20 * time.Microsecond, false, report.Kept, 5000},
		{"stalled", 1, 20 * time.Microsecond, 20 * time.Microsecond, false, report.Kept, 5000},
		{"stalled, with little noise in the first pairs", 100, 20 * time.Microsecond, 20 * time.Microsecond, false, report.Kept, 5000},
		{"a call takes long", 1, 5 * time.Second, 5 * time.Second, false, report.Kept, 1},
		{"waits", 6, 10 * time.Microsecond, 300 * time.Millisecond, false, report.Unjudged, 6},
		{"costs nothing", mostCalls, 0, 0, false, report.Unjudged, mostCalls},
		{"the machine stalls and stalls", 1, 10 * time.Microsecond, 10 * time.Microsecond, true, report.Undecided, 1},
	} {
		tr := (&comparison{}).newTrial(&pkg{path: "example.com/a"}, "BenchmarkA", [2]slice.Record{})
		tr.judges(budgets, falseFailures)
		tr.n = c.n
		for i := 0; !tr.decided() && i < 1000; i++ {
			r := slice.Record{N: tr.n, CPU: time.Duration(tr.n) * c.cpu, Wall: time.Duration(tr.n) * c.wall}
			wall := start + r.Wall
			tr.walls[base], tr.walls[head] = append(tr.walls[base], wall.Seconds()), append(tr.walls[head], wall.Seconds())
			tr.add([2]slice.Record{r, r})
			if n := tr.longer(sliceCPU); n > 0 && tr.restarts < mostRestarts && !c.stalls {
				tr.restart(n)
			}
		}
		if b := tr.close(); b.Verdict != c.want || tr.n < c.calls*9/10 || tr.n > c.calls*11/10 {
			t.Errorf("%s: expected %s with %d calls, found %s, %q, with %d", c.name, c.want, c.calls, b.Verdict, b.Reason, tr.n)
		}
	}
}

// Calls that take longer by much more than they compute get a sentence, and no verdict.
func TestTrialWaits(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name      string
		wall, cpu time.Duration // of the head; the base takes 100 ms of each
		noise     time.Duration // of wall time
		want      string
	}{
		{"a lock", 200 * ms, 102 * ms, 0, "a call takes 200µs of wall time, 100µs before, surely "},
		{"a bit longer", 115 * ms, 100 * ms, 0, ""},
		{"computes longer", 200 * ms, 200 * ms, 0, ""},
		{"computes and waits, not twice as much", 180 * ms, 150 * ms, 0, ""},
		{"cheaper, and waits", 200 * ms, 80 * ms, 0, "a call takes 200µs of wall time, 100µs before, surely "},
		{"a busy machine", 110 * ms, 100 * ms, 90 * ms, ""},
	} {
		cost := [2]time.Duration{100 * ms, c.cpu}
		tr := measured(t, cost, cost, 1)
		for side, list := range tr.slices {
			for i := range list {
				list[i].N, list[i].Wall = 1000, [2]time.Duration{100 * ms, c.wall}[side]+c.noise*time.Duration(i%3)+ms/10*time.Duration(i%5)
			}
		}
		before := tr.close().Verdict
		note := tr.waits()
		if !strings.HasPrefix(note, c.want) || (note == "") != (c.want == "") {
			t.Errorf("%s: expected %q, found %q", c.name, c.want, note)
		}
		for _, list := range tr.slices {
			for i := range list {
				list[i].Wall = 100 * ms
			}
		}
		if b := tr.close(); b.Verdict != before || b.Note != "" {
			t.Errorf("%s: the verdict changed from %s to %s, %q", c.name, before, b.Verdict, b.Note)
		}
	}
}

// Allocations that vary are never broken by chance: they come in what a sync.Pool has lost, in one of two
// ways a process, and in bursts. What is planted on top is found in a few slices.
func TestTrialCounted(t *testing.T) {
	budgets, err := ParseBudgets(DefaultBudgets)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]func(r *rand.Rand) float64{
		"parallel": func(r *rand.Rand) float64 { return 100 + r.NormFloat64() },
		"pool": func(r *rand.Rand) float64 {
			n := 1.0
			for range 40 {
				if r.IntN(20) == 0 {
					n += 0.7
				}
			}
			return n
		},
		"rare": func(r *rand.Rand) float64 { return 3 + 40*float64(r.IntN(10)/9) },
		"two ways": func(r *rand.Rand) float64 {
			return 10 + 5*float64(r.IntN(2)) + 0.1*r.NormFloat64()
		},
		"heavy tails": func(r *rand.Rand) float64 { return 20 + math.Exp(2*r.NormFloat64()) },
	}
	for name, draw := range kinds {
		r := rand.New(rand.NewPCG(1, 2))
		const runs = 300
		failed, found, pairs := 0, 0, 0
		for _, factor := range []float64{1, 2.52} {
			for range runs {
				tr := (&comparison{}).newTrial(&pkg{path: "example.com/a"}, "BenchmarkA", [2]slice.Record{})
				tr.judges(budgets, falseFailures)
				for range 30 {
					record := func(factor float64) slice.Record {
						return slice.Record{N: 1000, CPU: time.Duration(1e8 * (1 + 0.3*r.NormFloat64())), Allocs: int64(1000 * factor * draw(r))}
					}
					tr.add([2]slice.Record{record(1), record(factor)})
					if !tr.is(evidence.Fail, true, &tr.allocs) {
						continue
					}
					if factor == 1 {
						failed++
					} else {
						found, pairs = found+1, pairs+tr.pairs
					}
					break
				}
			}
		}
		t.Logf("%s: %d of %d equal ones failed, %d of those with 152%% more found, after %.1f pairs", name, failed, runs, found, float64(pairs)/max(float64(found), 1))
		if failed > 0 || found < runs*9/10 && name != "rare" && name != "pool" {
			t.Errorf("%s: %d of %d equal ones failed, %d of those with 152%% more found", name, failed, runs, found)
		}
	}
}

// Each cost is judged by itself, and a broken one breaks the benchmark whatever CPU time does.
func TestTrialFigures(t *testing.T) {
	budgets, err := ParseBudgets(DefaultBudgets)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name         string
		allocs       [2]int64
		noise        int64
		verdict      report.Verdict
		reason       string
		cpu, counted report.Verdict
	}{
		{"more", [2]int64{100, 252}, 0, report.Broken, "allocations above 5%; undecided: CPU time too near the limit for the noise of 9 pairs", report.Undecided, report.Broken},
		{"more, and noise", [2]int64{100, 252}, 1, report.Broken, "allocations above 5%; undecided: CPU time too near the limit for the noise of 9 pairs", report.Undecided, report.Broken},
		{"the same", [2]int64{100, 100}, 0, report.Undecided, "CPU time too near the limit for the noise of 9 pairs", report.Undecided, report.Kept},
	} {
		tr := (&comparison{}).newTrial(&pkg{path: "example.com/a"}, "BenchmarkA", [2]slice.Record{})
		tr.judges(budgets, falseFailures)
		for i := range int64(9) {
			record := func(cpu, allocs int64) slice.Record {
				return slice.Record{N: 1, CPU: time.Duration(cpu) * time.Millisecond, Allocs: allocs + i%3*c.noise}
			}
			tr.add([2]slice.Record{record(100+20*(i%2), c.allocs[base]), record(100+20*(i/2%2), c.allocs[head])})
		}
		b := tr.close()
		if b.Verdict != c.verdict || b.Reason != c.reason || b.CPU.Verdict != c.cpu || b.Allocs.Verdict != c.counted || b.Bytes.Verdict != report.Kept {
			t.Errorf("%s: expected %s, %q, found %s, %q; CPU time %s, allocations %s, bytes %s", c.name, c.verdict, c.reason, b.Verdict, b.Reason, b.CPU.Verdict, b.Allocs.Verdict, b.Bytes.Verdict)
		}
	}
}

// TestMatchFailedParent: what a benchmark that fails has not come to is not gone. What is gone by itself is.
func TestMatchFailedParent(t *testing.T) {
	m := &comparison{report: &report.Report{}}
	of := func(name string, state slice.State) found {
		return found{Record: slice.Record{Name: name, State: state}}
	}
	failing := of("BenchmarkSum", slice.Failed)
	failing.failure = &failure{side: head}
	m.match(&pkg{path: "shop"}, [2][]found{
		{of("BenchmarkSum/small", slice.Ran), of("BenchmarkSums/small", slice.Ran), of("BenchmarkGone", slice.Ran)},
		{failing},
	})
	got := map[string]string{}
	for _, b := range m.report.Benchmarks {
		got[b.Name] = b.Reason
	}
	want := map[string]string{
		"BenchmarkSum": failing.failure.Error(), "BenchmarkSum/small": "BenchmarkSum fails at the head",
		"BenchmarkSums/small": "is gone: the head does not have it", "BenchmarkGone": "is gone: the head does not have it",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestFailsBelow: a sub-benchmark fails with its parents, which are counted once.
func TestFailsBelow(t *testing.T) {
	list := []found{{Record: slice.Record{Name: "BenchmarkSum/a/b", State: slice.Failed}}, {Record: slice.Record{Name: "BenchmarkSum/c", State: slice.Ran}}}
	for name, want := range map[string]bool{"BenchmarkSum": true, "BenchmarkSum/a": true, "BenchmarkSum/a/b": false, "BenchmarkSum/c": false, "BenchmarkSu": false, "": false} {
		if failsBelow(list, name) != want {
			t.Errorf("%q: expected %v", name, want)
		}
	}
}
