package judge_test

import (
	"fmt"
	"maps"
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

// costs are samples in a call, by function.
type costs map[string]float64

func (c costs) with(name string, cost float64) costs {
	c = maps.Clone(c)
	c[name] = cost
	return c
}

// times is the same work on a machine that needs so many times as long.
func (c costs) times(factor float64) costs {
	c = maps.Clone(c)
	for name := range c {
		c[name] *= factor
	}
	return c
}

// Works of two functions, and of many.
var (
	two  = costs{"a": 0.05, "b": 0.05}
	many = costs{"a": 0.04, "f0": 0.006, "f1": 0.006, "f2": 0.006, "f3": 0.006, "f4": 0.006, "f5": 0.006, "f6": 0.006, "f7": 0.006, "f8": 0.006, "f9": 0.006}
)

// of are the samples of so many calls.
func (c costs) of(r *rand.Rand, calls float64) *profile.Profile {
	var text strings.Builder
	text.WriteString("cpu 100ms\nruntime.goexit;main.work 0\n")
	for _, name := range slices.Sorted(maps.Keys(c)) {
		n := 0
		for range int(calls) {
			if r.Float64() < c[name] {
				n++
			}
		}
		if n > 0 {
			fmt.Fprintf(&text, "runtime.goexit;main.work;main.%s %d\n", name, n)
		}
	}
	return folded.Must(text.String())
}

// TestComposition: a check against a baseline fails where a function got dearer, and not where another one got
// cheaper, so that the shares of all others grew.
func TestComposition(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	const each, perCall = "no function grows above 5 points", "no function grows above 5 points per call"
	for _, tt := range []struct {
		name, budget string
		was, is      costs
		baseline     float64 // calls
		blocks       int     // at most
		noCalls      bool    // nobody counts them
		want         budget.Verdict
		decided      bool
		say          string
	}{
		{"two functions, one is gone", each, two, two.with("a", 0), 20000, 600, false, budget.Pass, true, "main.b costs "},
		{"two functions, one is dearer", each, two, two.with("a", 0.1), 20000, 400, false, budget.Fail, true, "main.a costs "},
		{"two functions, equal", each, two, two, 20000, 400, false, budget.Pass, true, "surely by less than"},
		{"two functions, one is gone, on a slower machine", each, two, two.with("a", 0).times(1.15), 20000, 600, false, budget.Pass, true, "surely by less than"},
		{"two functions, equal, on a slower machine", each, two, two.times(1.5), 20000, 400, false, budget.Pass, true, "surely by less than"},
		{"two functions, one is dearer, on a slower machine", each, two, two.with("a", 0.1).times(1.25), 20000, 400, false, budget.Fail, true, "main.a costs "},
		{"two functions, one is dearer, on a faster machine", each, two, two.with("a", 0.15).times(0.8), 20000, 400, false, budget.Fail, true, "main.a costs "},
		{"two functions, one is renamed", each, two, two.with("a", 0).with("c", 0.05), 20000, 400, false, budget.Pass, true, "main.b grew by "},
		{"nobody counts calls, one is gone", each, two, two.with("a", 0), 20000, 100, true, budget.Inconclusive, false, "too few functions have samples in both builds"},
		{"nobody counts calls, one is dearer", each, two, two.with("a", 0.15), 20000, 100, true, budget.Inconclusive, false, "too few functions have samples in both builds"},
		{"nobody counts calls, one is new", each, two, two.with("c", 0.05), 20000, 200, true, budget.Fail, true, "main.c costs "},
		{"many functions, equal", each, many, many, 20000, 400, false, budget.Pass, true, ""},
		{"many functions, one is gone", each, many, many.with("a", 0), 20000, 400, false, budget.Pass, true, ""},
		{"many functions, nobody counts calls, one is gone", each, many, many.with("a", 0), 30000, 600, true, budget.Pass, true, ""},
		{"many functions, nobody counts calls, one is dearer", each, many, many.with("a", 0.08), 30000, 600, true, budget.Fail, true, "main.a costs "},
		{"one is gone, another dearer", each, many, many.with("a", 0).with("f1", 0.12), 30000, 600, false, budget.Fail, true, "main.f1 costs "},
		{"per call, equal", perCall, two, two, 40000, 2000, false, budget.Pass, true, ""},
		{"per call, one is dearer", perCall, two, two.with("a", 0.08), 20000, 400, false, budget.Fail, true, "main.a costs "},
		{"the process, one is gone", "process grows below 10% per call", two, two.with("a", 0), 20000, 400, false, budget.Pass, true, "this build costs 49.5% less CPU per call"},
		{"the process, one is dearer", "process grows below 10% per call", two, two.with("a", 0.1), 20000, 400, false, budget.Fail, true, "this build costs 49.3% more CPU per call"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, blocks, decided := checked(t, 42, tt.budget, tt.was, tt.is, tt.baseline, tt.blocks, !tt.noCalls)
			t.Logf("%d blocks: %s", blocks, got)
			if got.Verdict != tt.want || (decided != budget.Inconclusive) != tt.decided || !strings.Contains(got.Reason, tt.say) {
				t.Errorf("after %d blocks: %v, decided %v, want %v, decided %v, saying %q: %s", blocks, got.Verdict, decided, tt.want, tt.decided, tt.say, got)
			}
			for _, o := range got.Offenders {
				if tt.budget[0] == 'p' {
					break // the largest parts of the process
				}
				if name := strings.TrimPrefix(o.Function, "main."); tt.is[name] <= tt.was[name] {
					t.Errorf("%s has not grown: %s", o.Function, got)
				}
			}
		})
	}
}

// checked is a check of the work is by one budget, of so many blocks at most, against a baseline of was. counted
// says that both sides know how many calls there were.
func checked(t *testing.T, seed uint64, sentence string, was, is costs, baseline float64, most int, counted bool) (got budget.Result, blocks int, decided budget.Verdict) {
	t.Helper()
	const calls = 200 // in a block
	r := rand.New(rand.NewPCG(41, seed))
	trial := newTrial(t, sentence)
	facts := judge.Facts{Kind: "cpu", Elapsed: 100 * time.Millisecond, Baseline: tableOf(t, was.of(r, baseline))}
	if counted {
		facts.BaselineWork, facts.Work = map[string]float64{"call": baseline}, map[string]float64{"call": calls}
	}
	var all []*profile.Profile
	for len(all) < most && !trial.Done() && !trial.Failed() {
		p := is.of(r, calls)
		all = append(all, p.Copy())
		if err := trial.Add(p, facts); err != nil {
			t.Fatal(err)
		}
	}
	decided = trial.Decided(0)
	sum, err := profile.Merge(all)
	if err != nil {
		t.Fatal(err)
	}
	if counted {
		facts.Work = map[string]float64{"call": float64(calls * len(all))}
	}
	facts.Elapsed = time.Duration(len(all)) * 100 * time.Millisecond
	results, err := trial.Close(sum, facts)
	if err != nil {
		t.Fatal(err)
	}
	return results[0], len(all), decided
}

// TestCompositionNeverFails: no check of 30 s on a core fails because a function got cheaper, also on a machine
// that is a little slower, and those of a function that is dearer do.
func TestCompositionNeverFails(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	seeds := 10
	if *long {
		seeds = 30
	}
	for _, tt := range []struct {
		name    string
		was, is costs
		want    budget.Verdict
		at      int // the least number of 30 that have the verdict; the others are undecided
	}{
		{"gone", two, two.with("a", 0), budget.Pass, 29},
		{"gone, on a slower machine", two, two.with("a", 0).times(1.1), budget.Inconclusive, 0},
		{"many, gone", many, many.with("a", 0), budget.Pass, 27},
		{"equal", two, two, budget.Pass, 24},
		{"equal, on a slower machine", two, two.times(1.5), budget.Pass, 24},
		{"a little dearer, on a slower machine", two, two.with("a", 0.0535).times(1.5), budget.Pass, 20},
		{"a little dearer, on a slower machine, many", many, many.with("a", 0.043).times(1.5), budget.Pass, 20},
		{"renamed", two, two.with("a", 0).with("c", 0.05), budget.Pass, 20},
		{"renamed, and half as dear again, many", many, many.with("a", 0).with("c", 0.06), budget.Fail, 0},
		{"renamed, and a little dearer, many", many, many.with("a", 0).with("c", 0.0405), budget.Pass, 20},
		{"renamed, on a slower machine, many", many, many.with("a", 0).with("c", 0.04).times(1.5), budget.Pass, 20},
		{"moved, on a slower machine", two, two.with("a", 0.035).with("b", 0.065).times(1.2), budget.Inconclusive, 0},
		{"moved, on a slower machine, many", many, many.with("a", 0.028).with("f1", 0.018).times(1.3), budget.Pass, 20},
		{"half as dear again", two, two.with("a", 0.075), budget.Fail, 0},
		{"twice as dear, on a slower machine", two, two.with("a", 0.1).times(1.3), budget.Fail, 27},
		{"three times as dear, many", many, many.with("f1", 0.018), budget.Fail, 0},
		{"twice as dear", two, two.with("a", 0.1), budget.Fail, 27},
	} {
		verdicts := map[budget.Verdict]int{}
		blocks := 0
		for seed := range uint64(seeds) {
			got, n, _ := checked(t, seed, "no function grows above 5 points", tt.was, tt.is, 20000, 300, true)
			verdicts[got.Verdict]++
			blocks += n
			if got.Verdict == budget.Fail && tt.want != budget.Fail || got.Verdict == budget.Pass && tt.want == budget.Fail {
				t.Errorf("%s: %s", tt.name, got)
			}
		}
		t.Logf("%s: %v, %d blocks on average", tt.name, verdicts, blocks/seeds)
		if verdicts[tt.want] < tt.at*seeds/30-1 {
			t.Errorf("%s: %v, want at least %d of 30 with %v", tt.name, verdicts, tt.at, tt.want)
		}
	}
}

// Blocks without a sample decide nothing, and a function whose cost may have been in stacks of the baseline that
// were cut off has not been shown to cost no more.
func TestCompositionUnknown(t *testing.T) {
	const rest = "runtime.goexit;main.work;main.rest "
	for _, tt := range []struct {
		name, budget, was, is string
		want                  budget.Verdict
	}{
		{"no samples", "no function grows above 5 points", rest + "1000\n", "", budget.Inconclusive},
		{"no samples, per call", "no function grows above 5 points per call", rest + "1000\n", "", budget.Inconclusive},
		{"cut off before", "no function grows above 5 points", deep(64) + " 3000\n" + rest + "7000\n", "runtime.goexit;main.work;main.new 3\n" + rest + "7\n", budget.Inconclusive},
		{"whole before", "no function grows above 5 points", "runtime.goexit;main.work;main.new 3000\n" + rest + "7000\n", "runtime.goexit;main.work;main.new 3\n" + rest + "7\n", budget.Pass},
	} {
		trial := newTrial(t, tt.budget)
		facts := judge.Facts{Kind: "cpu", Baseline: tableOf(t, folded.Must("cpu 10s\n"+tt.was)), BaselineWork: map[string]float64{"call": 10000}, Work: map[string]float64{"call": 10}}
		for range 200 {
			if err := trial.Add(folded.Must("cpu 100ms\n"+tt.is), facts); err != nil {
				t.Fatal(err)
			}
		}
		if v := budget.Verdict(trial.Verdict(0, true)); v == budget.Fail || tt.is == "" && v != budget.Inconclusive {
			t.Errorf("%s: decided %v", tt.name, v)
		}
		facts.Work = map[string]float64{"call": 2000}
		results, err := trial.Close(folded.Must("cpu 20s\n"+strings.NewReplacer(" 3\n", " 600\n", " 7\n", " 1400\n").Replace(tt.is)), facts)
		if err != nil {
			t.Fatal(err)
		}
		if results[0].Verdict != tt.want {
			t.Errorf("%s: %v, want %v: %s", tt.name, results[0].Verdict, tt.want, results[0])
		}
	}
}
