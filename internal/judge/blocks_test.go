package judge_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
)

// trialBlocks makes blocks of a program: of n samples each, a share is in
// main.guilty, the rest is spread over main.other0 to main.other9.
type trialBlocks struct {
	rng *rand.Rand
	all []*profile.Profile

	base      *decode.Table
	baseCalls float64
}

func (b *trialBlocks) next(n int, share float64) *profile.Profile {
	p := &profile.Profile{
		SampleType:    []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:        1e7,
		DurationNanos: 1e8,
	}
	locations := map[string]*profile.Location{}
	at := func(name string) *profile.Location {
		if l := locations[name]; l != nil {
			return l
		}
		f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
		l := &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f, Line: 1}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		locations[name] = l
		return l
	}
	add := func(leaf string) {
		s := &profile.Sample{Value: []int64{1, 1e7}, Location: []*profile.Location{at(leaf), at("main.entry"), at("main.main"), at("runtime.main")}}
		p.Sample = append(p.Sample, s)
	}
	for range n {
		if b.rng.Float64() < share {
			add("main.guilty")
		} else {
			add(fmt.Sprintf("main.other%d", b.rng.IntN(10)))
		}
	}
	return p
}

// run feeds blocks until the trial is done, or max of them.
func (b *trialBlocks) run(t *testing.T, trial *trial, max int, share func(block int) float64, n int) (blocks int) {
	t.Helper()
	for blocks = 0; blocks < max && !trial.Done() && !trial.Failed(); blocks++ {
		p := b.next(n, share(blocks))
		b.all = append(b.all, p.Copy())
		if err := trial.Add(p, judge.Facts{Kind: "cpu", Elapsed: 100 * time.Millisecond, Work: map[string]float64{"call": 10}, Baseline: b.base, BaselineWork: map[string]float64{"call": b.baseCalls}}); err != nil {
			t.Fatal(err)
		}
	}
	return blocks
}

func (b *trialBlocks) close(t *testing.T, trial *trial) []budget.Result {
	t.Helper()
	sum, err := profile.Merge(b.all)
	if err != nil {
		t.Fatal(err)
	}
	results, err := trial.Close(sum, judge.Facts{Kind: "cpu", Elapsed: time.Duration(len(b.all)) * 100 * time.Millisecond,
		Work: map[string]float64{"call": 10 * float64(len(b.all))}, Baseline: b.base, BaselineWork: map[string]float64{"call": b.baseCalls}})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func trialOf(t *testing.T, seed uint64, lines ...string) (*trial, *trialBlocks) {
	t.Helper()
	return newTrial(t, lines...), &trialBlocks{rng: rand.New(rand.NewPCG(seed, 9))}
}

// What is within its limit passes and what is above it fails, by every rule.
func TestTrial(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	always := func(share float64) func(int) float64 { return func(int) float64 { return share } }
	late := func(block int) float64 { // is not there at all for two seconds
		if block < 15 {
			return 0
		}
		return 0.9
	}
	for _, tt := range []struct {
		name, budget string
		share        func(int) float64
		n            int
		want         budget.Verdict
		say          string
	}{
		{"each, innocent", "no function above 20% cumulative", always(0.1), 10, budget.Pass, "surely below"},
		{"each, guilty", "no function above 20% cumulative", always(0.5), 10, budget.Fail, "main.guilty at "},
		{"each, guilty later", "no function above 20% cumulative", late, 10, budget.Fail, "main.guilty at "},
		{"each, near", "no function above 20% cumulative", always(0.19), 10, budget.Pass, "main.guilty at "},
		{"each, excepted", "no function above 20% cumulative except main.guilty", always(0.5), 10, budget.Pass, ""},
		{"pattern, innocent", "main.guilty below 20%", always(0.05), 10, budget.Pass, "surely below"},
		{"pattern, guilty", "main.guilty below 20%", always(0.5), 10, budget.Fail, "surely above"},
		{"absent", "main.guilty absent", always(0.05), 10, budget.Fail, ""},
		{"absent and not there", "main.guilty absent", always(0), 10, budget.Pass, ""},
		{"per call, innocent", "main.guilty below 10ms per call", always(0.5), 10, budget.Pass, ""},
		{"per call, guilty", "main.guilty below 1ms per call", always(0.5), 10, budget.Fail, ""},
		{"per call, each", "no function above 2ms per call", always(0.5), 10, budget.Fail, "main.guilty at "},
		{"cores", "process below 0.2 cores", always(0.5), 10, budget.Fail, ""},
		{"cores without a sample", "process below 0.2 cores", always(0.5), 0, budget.Pass, ""},
		{"no samples", "no function above 20% cumulative", always(0.5), 0, budget.Inconclusive, "no"},
		{"gated", "main.guilty below 20% when process above 5 cores", always(0.5), 10, budget.Inconclusive, "idle"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			trial, fed := trialOf(t, 1, tt.budget)
			used := fed.run(t, trial, 400, tt.share, tt.n)
			decided := trial.Decided(0)
			res := fed.close(t, trial)[0]
			if res.Verdict != tt.want || decided != tt.want {
				t.Errorf("decided %v, closed %v after %d blocks, want %v: %s", decided, res.Verdict, used, tt.want, res.Reason)
			}
			if !strings.Contains(res.Reason, tt.say) {
				t.Errorf("the reason does not say %q: %s", tt.say, res.Reason)
			}
			if (res.Verdict == budget.Fail) != (len(res.Offenders) > 0) {
				t.Errorf("%v with %d offenders", res.Verdict, len(res.Offenders))
			}
		})
	}
}

// What should be absent, and was not seen by the end, passes on what there was.
func TestTrialAbsent(t *testing.T) {
	for n, want := range map[int]budget.Verdict{2: budget.Inconclusive, 23: budget.Pass} {
		trial, fed := trialOf(t, 1, "main.guilty absent")
		fed.run(t, trial, n, func(int) float64 { return 0 }, 10)
		res := fed.close(t, trial)[0]
		if trial.Decided(0) != budget.Inconclusive || res.Verdict != want {
			t.Errorf("%d blocks: %v: %s", n, res.Verdict, res.Reason)
		}
		if want == budget.Pass && res.Reason != "none of 230 samples: below 1.29%" {
			t.Errorf("%d blocks: %s", n, res.Reason)
		}
	}
}

// A baseline of a few samples may have been anything: growth against it is not
// ruled out by what it may have been at the most.
func TestTrialSmallBaseline(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	for samples, want := range map[int]budget.Verdict{12: budget.Inconclusive, 2000: budget.Fail} {
		trial, fed := trialOf(t, 1, "main.guilty grows below 20 points")
		fed.base, fed.baseCalls = tableOf(t, (&trialBlocks{rng: fed.rng}).next(samples, 0.3)), 0.7/0.4*float64(samples) // the rest costs the same
		fed.run(t, trial, 400, func(int) float64 { return 0.6 }, 10)
		if got := fed.close(t, trial)[0]; got.Verdict != want {
			t.Errorf("a baseline of %d samples: %v, want %v: %s", samples, got.Verdict, want, got.Reason)
		}
	}
}

// Growth passes on a bound below 1.25 times its limit, and not on a number that
// happens to be: neither at the end, nor when the baseline was low or high by chance.
func TestTrialGrowth(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	for _, tt := range []struct {
		name, budget string
		base         int     // samples of the baseline, half of them guilty, in 10 calls for each 10
		share        float64 // now
		blocks       int
		want         budget.Verdict
		decided      bool
		say          string
	}{
		{"the same", "main.guilty grows below 10 points", 3000, 0.5, 600, budget.Pass, true, "surely by less than "},
		{"fell", "main.guilty grows below 10 points", 3000, 0.3, 600, budget.Pass, true, "main.guilty grew by -"},
		{"grew", "main.guilty grows below 10 points", 3000, 0.75, 600, budget.Fail, true, "main.guilty costs 7"},
		{"a tenth of a point is not told", "main.guilty grows below 0.1 points", 3000, 0.5, 60, budget.Inconclusive, false, "more samples will tell"},
		{"small baseline", "main.guilty grows below 0.1 points", 200, 0.5, 60, budget.Inconclusive, false, "more samples of the baseline will tell"},
		{"too short a time", "main.guilty grows below 10 points", 3000, 0.5, 8, budget.Inconclusive, false, "8 blocks are too few"},
		{"at the limit", "main.guilty grows below 20 points", 20000, 0.7, 100, budget.Pass, false, "surely by less than 2"},
		{"above the limit, in the zone", "main.guilty grows below 10 points", 3000, 0.62, 60, budget.Inconclusive, false, "more samples will tell"},
		{"each, the same", "no function grows above 10 points", 3000, 0.5, 600, budget.Pass, true, "surely by less than "},
		{"each, grew", "no function grows above 10 points", 3000, 0.75, 600, budget.Fail, true, "main.guilty costs "},
		{"all of it, as ever", "process grows below 30% per call", 3000, 0.5, 600, budget.Pass, true, "this build may cost 0.0% less"},
		{"twice as much", "process grows below 30% per call", 1500, 0.5, 600, budget.Fail, true, "this build costs 100.0% more"},
		{"in the zone per call", "process grows below 30% per call", 2200, 0.5, 60, budget.Inconclusive, false, "this build costs 36.4% more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			trial, fed := trialOf(t, 3, tt.budget)
			fed.base = tableOf(t, (&trialBlocks{rng: fed.rng}).next(tt.base, 0.5))
			fed.baseCalls = 3000
			if tt.name == "at the limit" || tt.name == "small baseline" {
				fed.baseCalls = float64(tt.base)
			}
			if tt.name == "each, grew" { // and a call costs more, or the others would have got cheaper
				fed.baseCalls = 6000
			}
			fed.run(t, trial, tt.blocks, func(int) float64 { return tt.share }, 10)
			got := fed.close(t, trial)[0]
			if got.Verdict != tt.want || (trial.Decided(0) != budget.Inconclusive) != tt.decided || !strings.Contains(got.Reason, tt.say) {
				t.Errorf("%v, decided %v after %d blocks, want %v, saying %q: %s", got.Verdict, trial.Decided(0), trial.blocks, tt.want, tt.say, got.Reason)
			}
			if got.Verdict == budget.Pass && got.High >= 1.5*got.Limit {
				t.Errorf("it passed, and may have grown by %g: %s", got.High, got.Reason)
			}
		})
	}
}

// TestTrialGrowthOffender: where all that a function calls has grown, it is named. All numbers are its, and the offender
// has its callers.
func TestTrialGrowthOffender(t *testing.T) {
	trial, _ := trialOf(t, 1, "no function grows above 5 points")
	block := func(child, other, rest int) *profile.Profile {
		return folded.Must(fmt.Sprintf("cpu 10s\nmain.main;main.run;main.parent;main.child %d\nmain.main;main.run;main.parent;main.other %d\nmain.main;main.run;main.rest %d\n", child, other, rest))
	}
	facts := judge.Facts{Kind: "cpu", Baseline: tableOf(t, block(1000, 1000, 8000)), BaselineWork: map[string]float64{"call": 10000}, Work: map[string]float64{"call": 11 / 0.8}} // the rest costs the same per call
	var all []*profile.Profile
	for range 60 {
		p := block(5, 4, 11)
		all = append(all, p.Copy())
		if err := trial.Add(p, facts); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := profile.Merge(all)
	if err != nil {
		t.Fatal(err)
	}
	findings, err := trial.Blocks.Close(tableOf(t, sum), facts)
	if err != nil {
		t.Fatal(err)
	}
	f, res := findings[0], bridge.Result[budget.Result](trial.set[0], findings[0])
	if res.Verdict != budget.Fail || len(res.Offenders) != 1 || len(res.Offenders[0].Callers) != 2 {
		t.Fatalf("want a fail of main.parent, with its callers: %s", res)
	}
	const grown = 9.0/20*20/(11/0.8) - 0.2
	if f.Who != "main.parent" || res.Offenders[0].Function != f.Who || math.Abs(f.Value-grown) > 1e-9 || f.Low <= 0.05 || f.Hits != 540 {
		t.Errorf("the finding is of %s, by %v above %v, %d hits: %s", f.Who, f.Value, f.Low, f.Hits, res)
	}
	if want := "main.parent costs 6.545ms per call, 2ms before: +45.5 points"; !strings.HasPrefix(res.Reason, want) {
		t.Errorf("the reason is %q, want %q", res.Reason, want)
	}
}

// TestTrialHits: the hits are those of the function that the finding is of, although all
// samples together name another one, which is deeper.
func TestTrialHits(t *testing.T) {
	trial := newTrial(t, "no function above 20%")
	block := func(times int) *profile.Profile {
		return folded.Must(fmt.Sprintf("cpu 10s\nmain.main;main.run;main.outer;main.inner %d\nmain.main;main.run;main.outer %d\nmain.main;main.run;main.a %d\nmain.main;main.run;main.b %[3]d\n",
			10*times, 4*times, 3*times))
	}
	for range 5 {
		if err := trial.Add(block(1), judge.Facts{Kind: "cpu"}); err != nil {
			t.Fatal(err)
		}
	}
	findings, err := trial.Blocks.Close(tableOf(t, block(5)), judge.Facts{Kind: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	if f := findings[0]; f.Who != "main.outer" || f.Hits != 70 || f.Value != 0.7 {
		t.Errorf("%s at %v with %d hits, want main.outer at 0.7 with 70", f.Who, f.Value, f.Hits)
	}
}

// TestTrialNamed: once the limit is exceeded for sure, whoever is likely above it is named,
// and the reason does not say of it what is proven of its caller only. Who is above the
// limit by its measured number alone is not named.
func TestTrialNamed(t *testing.T) {
	const caller, callee = "cpu 10s\nmain.main;main.run;main.caller", ";main.callee 1"
	for _, tt := range []struct {
		name   string
		blocks []string // stacks, in turn
		number int
		first  string
		over   int
		say    string
	}{
		{"7 of 12", []string{callee, callee, " 1", callee, " 1", callee, " 1", callee, " 1", callee, " 1", callee}, 12, "main.callee", 2, "main.callee at 58.33%, likely above 2"},
		{"all of 12", []string{callee}, 12, "main.callee", 2, "main.callee at 100.00%, surely above "},
		{"60 of 120", []string{callee, " 1"}, 120, "main.callee", 2, "main.callee at 50.00%, surely above "},
		{"27 of 117", []string{callee, " 1", " 1", " 1", callee, " 1", " 1", " 1", callee, " 1", " 1", " 1", " 1"}, 117, "main.caller", 1, "main.caller at 100.00%, surely above "},
	} {
		trial := newTrial(t, "no function above 20% except main.run")
		var all []*profile.Profile
		for i := range tt.number {
			all = append(all, folded.Must(caller+tt.blocks[i%len(tt.blocks)]+"\n"))
		}
		results := trial.judged(t, all)
		r := results[0]
		if r.Verdict != budget.Fail || r.Over != tt.over || r.Offenders[0].Function != tt.first || !strings.HasPrefix(r.Reason, tt.say) {
			t.Errorf("%s: want %d named, %s first, saying %q:\n%s", tt.name, tt.over, tt.first, tt.say, r)
		}
		if proven := "; main.caller is surely above "; strings.Contains(r.Reason, "likely") != strings.Contains(r.Reason, proven) {
			t.Errorf("%s: want what is likely with what is proven: %s", tt.name, r.Reason)
		}
	}
}

// At the end, what is not decided passes only if 1.5 times the limit would have
// been caught.
func TestTrialClose(t *testing.T) {
	trial, fed := trialOf(t, 2, "main.guilty below 20%")
	fed.run(t, trial, 15, func(int) float64 { return 0.2 }, 10)
	if res := fed.close(t, trial)[0]; res.Verdict != budget.Inconclusive || !strings.Contains(res.Reason, "too few CPU samples: 150 came") {
		t.Errorf("after 15 blocks: %v: %s", res.Verdict, res.Reason)
	}
	trial, fed = trialOf(t, 2, "main.guilty below 20%")
	fed.run(t, trial, 120, func(int) float64 { return 0.235 }, 10)
	if res := fed.close(t, trial)[0]; res.Verdict != budget.Pass || trial.Decided(0) != budget.Inconclusive || !strings.Contains(res.Reason, "too close to the limit") {
		t.Errorf("after 120 blocks at 1.17 times the limit: %v, decided %v: %s", res.Verdict, trial.Decided(0), res.Reason)
	}
	// Far below the limit, but over before there were blocks enough to be certain.
	trial, fed = trialOf(t, 2, "process below 300ms per call")
	fed.run(t, trial, 15, func(int) float64 { return 0.2 }, 10)
	if res := fed.close(t, trial)[0]; res.Verdict != budget.Pass || trial.Decided(0) != budget.Inconclusive || strings.Contains(res.Reason, "too close") || !strings.Contains(res.Reason, "likely below ") {
		t.Errorf("after 15 blocks at 10ms of 300ms: %v, decided %v: %s", res.Verdict, trial.Decided(0), res.Reason)
	}
}

// Nothing within its limit fails and nothing above it passes, whichever function it is.
func TestTrialSimulation(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	const runs = 20
	for _, x := range []float64{0.5, 0.95, 2} {
		var pass, fail, blocks int
		for run := range runs {
			trial, b := trialOf(t, uint64(100+run), "no function above 20% cumulative")
			blocks += b.run(t, trial, 300, func(int) float64 { return x * 0.2 }, 10)
			switch trial.Decided(0) {
			case budget.Pass:
				pass++
			case budget.Fail:
				fail++
			}
		}
		t.Logf("%v times the limit: %d pass, %d fail, %.1f blocks in the mean", x, pass, fail, float64(blocks)/float64(runs))
		if x < 1 && fail > 0 || x > 1 && pass > 0 || pass+fail < runs*9/10 {
			t.Errorf("%v times the limit: %d pass, %d fail of %d", x, pass, fail, runs)
		}
	}
}
