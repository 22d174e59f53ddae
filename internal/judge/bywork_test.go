package judge_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
)

const perRequest = "http_requests_total by endpoint"

// An endpoint has so many requests in a window, each of which costs so many milliseconds.
type endpoint struct{ requests, cost float64 }

// served is a window of endpoints, and the requests of each. Those with a negative number are not counted.
func served(rng *rand.Rand, of map[string]endpoint) (*profile.Profile, judge.Facts) {
	text, work := "cpu 10s\nmain.main;main.idle 50\n", map[string]float64{}
	for _, name := range slices.Sorted(maps.Keys(of)) { // in one order, so that a test is the same each time
		e := of[name]
		if n := poisson(rng, math.Abs(e.requests)*e.cost/10); n > 0 {
			text += fmt.Sprintf("main.main;main.serve;main.report %d {endpoint=%s}\n", n, name)
		}
		if e.requests >= 0 {
			work[name] = e.requests
		}
	}
	return folded.Must(text), judge.Facts{WorkBy: map[string]map[string]float64{perRequest: work}}
}

func poisson(rng *rand.Rand, mean float64) (n int) {
	for p := rng.ExpFloat64(); p < mean; p += rng.ExpFloat64() {
		n++
	}
	return n
}

// quietly are twenty endpoints of 2 ms each, of which those behind have less and less requests.
func quietly() map[string]endpoint {
	all := map[string]endpoint{}
	for i := range 20 {
		all[fmt.Sprint("e", i)] = endpoint{1000 / float64(1+i*i), 2}
	}
	return all
}

// TestEachByWork: the one that costs more is found with its function, though it has the smallest share; its twins are
// quiet; those with too few requests are undecided by themselves and do not keep it from being found.
func TestEachByWork(t *testing.T) {
	const sentence = "no endpoint above 5ms per http_requests_total"
	rng := rand.New(rand.NewPCG(1, 2))
	dear := quietly()
	dear["report"] = endpoint{20, 40}
	next, quiet := watcher(t, sentence), watcher(t, sentence)
	var found, kept watched
	failed := 0
	for range 200 {
		p, facts := served(rng, dear)
		if found = next(p, facts); found.Verdict == budget.Pass {
			t.Fatalf("a window passes:\n%s", found.Result)
		}
		if found.Verdict == budget.Fail {
			failed++
			if len(found.Offenders) != 1 || found.Offenders[0].Function != "report" || found.Offenders[0].Within.Function != "main.report" || found.Value < 0.02 || found.Value > 0.08 {
				t.Fatalf("expected report at 40ms:\n%s", found.Result)
			}
		}
		p, facts = served(rng, quietly())
		if kept = quiet(p, facts); kept.Verdict == budget.Fail || kept.Proven == budget.Fail {
			t.Fatalf("quiet endpoints fail:\n%s", kept.Result)
		}
	}
	if failed < 190 || found.Proven != budget.Fail || kept.Proven != budget.Pass {
		t.Errorf("%d of 200 windows failed, proven %v; quiet ones %v\n%s\n%s", failed, found.Proven, kept.Proven, found.Result, kept.Result)
	}
	if !strings.Contains(kept.Reason, "values are undecided on their own") || kept.Verdict != budget.Inconclusive {
		t.Errorf("endpoints with one request a minute are decided by one window:\n%s", kept.Result)
	}
	// What has gone is no reason to fail for longer, and a counter alone is none.
	delete(dear, "report")
	for range 12 {
		p, facts := served(rng, dear)
		found = next(p, facts)
	}
	if found.Proven == budget.Fail {
		t.Errorf("twelve minutes after its end: %v\n%s", found.Proven, found.Result)
	}
}

// TestEachByWorkAtLimit: fifty values at 0.8 of the limit, and at it, are no failure in a day.
func TestEachByWorkAtLimit(t *testing.T) {
	for _, cost := range []float64{4, 5} {
		rng, next, all := rand.New(rand.NewPCG(3, 4)), watcher(t, "no endpoint above 5ms per http_requests_total"), map[string]endpoint{}
		for i := range 50 {
			all[fmt.Sprint("e", i)] = endpoint{10 * float64(1+i%20), cost}
		}
		for range 400 {
			p, facts := served(rng, all)
			if r := next(p, facts); r.Proven == budget.Fail || r.Verdict == budget.Fail {
				t.Fatalf("at %v ms:\n%s", cost, r.Result)
			}
		}
	}
}

// TestEachByWorkUnknown: a value without a series of its own is never passed, whatever the others are, and
// does not hide one that fails. Where nobody counts, nothing is judged.
func TestEachByWorkUnknown(t *testing.T) {
	const sentence = "no endpoint above 5ms per http_requests_total"
	rng := rand.New(rand.NewPCG(5, 6))
	counted := map[string]endpoint{"a": {1000, 1}, "b": {1000, 1}}
	unknown := map[string]endpoint{"a": {1000, 1}, "b": {1000, 1}, "c": {-100, 10}}
	next, twin := watcher(t, sentence), watcher(t, sentence)
	for range 20 {
		p, facts := served(rng, unknown)
		if r := next(p, facts); r.Verdict != budget.Inconclusive || r.Proven != budget.Inconclusive || !strings.Contains(r.Reason, "endpoint c has no http_requests_total by endpoint: it has no series of its own") {
			t.Fatalf("one value is not counted: proven %v\n%s", r.Proven, r.Result)
		}
		p, facts = served(rng, counted)
		if r := twin(p, facts); r.Verdict != budget.Pass {
			t.Fatalf("all are counted:\n%s", r.Result)
		}
	}
	unknown["d"] = endpoint{1000, 20}
	p, facts := served(rng, unknown)
	if r := next(p, facts); r.Verdict != budget.Fail || r.Offenders[0].Function != "d" || !strings.Contains(r.Reason, "1 of them without a series") {
		t.Errorf("one that fails beside one that is not counted:\n%s", r.Result)
	}
	for name, facts := range map[string]judge.Facts{"nothing": {}, "why": {NoWork: map[string]string{perRequest: "it hangs"}}, "none": {WorkBy: map[string]map[string]float64{perRequest: {}}}} {
		if r := next(p.Copy(), facts); r.Verdict != budget.Inconclusive || len(r.Offenders) > 0 {
			t.Errorf("%s is counted:\n%s", name, r.Result)
		}
	}
	// Whoever judges a profile gives the work by the unit and its value.
	set := budget.Must(sentence)
	r, err := set.Judge(p, budget.Facts{Work: map[string]float64{`http_requests_total{endpoint="d"}`: 1000, `http_requests_total{endpoint="a"}`: 1000}})
	if err != nil || r[0].Verdict != budget.Fail || r[0].Offenders[0].Function != "d" {
		t.Errorf("%v\n%v", err, r)
	}
}

// TestEachByWorkMany: 10,000 values and those that clients choose bound what is remembered, and nothing passes.
func TestEachByWorkMany(t *testing.T) {
	w := newWatch(t, budget.Must("no user above 5ms per http_requests_total"), time.Minute)
	for window := range 20 {
		text, by := "cpu 100s\n", map[string]float64{}
		for i := range 1500 {
			name := fmt.Sprintf("u%d-%d", window, i)
			text += fmt.Sprintf("main.main;main.serve 1 {user=%s}\n", name)
			by[name] = 1000
		}
		facts := judge.Facts{WorkBy: map[string]map[string]float64{"http_requests_total by user": by}}
		if r := w.profile(t, folded.Must(text), time.Duration(window+1)*time.Minute, facts)[0]; r.Verdict != budget.Inconclusive || r.Proven != budget.Inconclusive {
			t.Fatalf("1,500 values: proven %v\n%s", r.Proven, r.Result)
		}
		if n := w.Remembered(0); n > 1000 {
			t.Fatalf("%d are remembered", n)
		}
	}
	// Fewer than a thousand in each window, and others each time.
	for window := range 20 {
		text, by := "cpu 100s\n", map[string]float64{}
		for i := range 900 {
			name := fmt.Sprintf("v%d-%d", window, i)
			text += fmt.Sprintf("main.main;main.serve 1 {user=%s}\n", name)
			by[name] = 1000
		}
		facts := judge.Facts{WorkBy: map[string]map[string]float64{"http_requests_total by user": by}}
		w.profile(t, folded.Must(text), time.Duration(window+21)*time.Minute, facts)
		if n := w.Remembered(0); n > 1000 {
			t.Fatalf("%d are remembered", n)
		}
	}
}

// TestEachByWorkRare: an endpoint with a request in every second to sixth window is not forgotten between them and then
// passed by the others; its cheap twin passes.
func TestEachByWorkRare(t *testing.T) {
	for _, rate := range []float64{0.5, 0.17} {
		rng := rand.New(rand.NewPCG(7, 8))
		passed := map[float64]int{}
		for _, cost := range []float64{1, 100} {
			next := watcher(t, "no endpoint above 5ms per http_requests_total")
			for range 400 {
				p, facts := served(rng, map[string]endpoint{"a": {1000, 1}, "rare": {float64(poisson(rng, rate)), cost}})
				if r := next(p, facts); r.Proven == budget.Pass {
					passed[cost]++
				}
			}
		}
		if passed[1] < 150 || passed[100] > 20 {
			t.Errorf("at %v requests a window, 1 ms are proven to be kept in %d of 400 windows, 100 ms in %d", rate, passed[1], passed[100])
		}
	}
}

// TestEachByWorkLate: one with a request in every second window that comes after an hour in which the others have passed
// does not have their pass while it is undecided itself; its cheap twin passes.
func TestEachByWorkLate(t *testing.T) {
	for cost, most := range map[float64]int{1: 400, 7: 40, 20: 40} {
		rng, next, passed := rand.New(rand.NewPCG(11, 12)), watcher(t, "no endpoint above 5ms per http_requests_total"), 0
		all := map[string]endpoint{"a": {1000, 1}}
		for i := range 460 {
			if i >= 60 {
				all["late"] = endpoint{float64(poisson(rng, 0.5)), cost}
			}
			p, facts := served(rng, all)
			if r := next(p, facts); i >= 60 && r.Proven == budget.Pass {
				passed++
			}
		}
		if passed > most || cost == 1 && passed < 150 {
			t.Errorf("at %v ms, %d of 400 windows are proven to be kept", cost, passed)
		}
	}
}

// TestEachByWorkLong: reports that last as long as a window begin in one and are counted in another. Of 8 s each, a window
// with one at its end has 5 s on average, and the rest is in windows without any: that is no pass.
func TestEachByWorkLong(t *testing.T) {
	const sentence = "no endpoint above 6s per http_requests_total"
	for _, lasts := range []float64{1, 8} {
		rng, next, passed, began := rand.New(rand.NewPCG(9, 10)), watcher(t, sentence), 0, []float64{}
		for at := 0.0; at < 500*60; at += rng.ExpFloat64() * 60 {
			began = append(began, at)
		}
		for i := range 500 {
			from, cpu, done := 60*float64(i), 0.0, 0.0
			for _, b := range began {
				cpu += max(0, min(from+10, b+lasts)-max(from, b))
				if end := b + lasts - from; end >= 0 && end < 10 {
					done++
				}
			}
			text := "cpu 10s\nmain.main;main.idle 1 {endpoint=idle}\n"
			if n := int(100 * cpu); n > 0 {
				text += fmt.Sprintf("main.main;main.report %d {endpoint=report}\n", n)
			}
			if r := next(folded.Must(text), judge.Facts{WorkBy: map[string]map[string]float64{perRequest: {"idle": 10, "report": done}}}); r.Proven == budget.Pass {
				passed++
			}
		}
		if isLong := lasts == 8; isLong && passed > 0 || !isLong && passed < 300 {
			t.Errorf("reports of %v s: %d of 500 windows are proven to be kept", lasts, passed)
		}
	}
}
