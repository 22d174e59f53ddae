package check

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/work"
)

// labelledProfile has so many samples of each stack, the leaf first, with a check's id.
func labelledProfile(id string, n int64, stacks ...[]string) *profile.Profile {
	p := &profile.Profile{
		SampleType:    []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:        1e7,
		DurationNanos: block.Nanoseconds(),
	}
	at := map[string]*profile.Location{}
	for _, stack := range stacks {
		s := &profile.Sample{Value: []int64{n, n * 1e7}, Label: map[string][]string{"profguard.check": {id}}}
		for _, name := range stack {
			if at[name] == nil {
				f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
				at[name] = &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f, Line: 1}}}
				p.Function, p.Location = append(p.Function, f), append(p.Location, at[name])
			}
			s.Location = append(s.Location, at[name])
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// tableOf and merged are profiles as a check has them, and as a test gives them to it.
func tableOf(p *profile.Profile) *decode.Table {
	table, err := new(decode.Decoder).Profile(p)
	if err != nil {
		panic(err)
	}
	return table
}

func merged(profiles ...*profile.Profile) *profile.Profile {
	p, err := profile.Merge(profiles)
	if err != nil {
		panic(err)
	}
	return p
}

// calledWork is the work of checks that make no call, and replayedWork its name.
func calledWork(context.Context) {}

const replayedWork = checkPackage + ".calledWork"

// replayed is a check of CPU budgets, whose windows a test makes.
func replayed(t *testing.T, set budget.Set) (*run, *cpuPhase) {
	t.Helper()
	r := &run{budgets: budgets{set: set, rules: rulesOf(t, set)}, subject: subject{id: "ours", worker: work.New(t.Context(), "ours", calledWork)}, judged: map[string]*decode.Table{}}
	t.Cleanup(func() { r.worker.Stop(0, 0) })
	r.ways = make([]way, len(set)) // sampled
	r.cpu = r.newCPUPhase()
	return r, r.cpu
}

// decided ends the phase, and decides.
func (r *run) decided(t *testing.T) {
	t.Helper()
	if err := r.cpu.close(r); err != nil {
		t.Fatal(err)
	}
	r.outcomes = r.decide()
}

// windowOf is a window of 100 ms in which the process used so much CPU.
func windowOf(t *testing.T, p *profile.Profile, cpu time.Duration) profiler.Window {
	t.Helper()
	var data bytes.Buffer
	if err := p.Write(&data); err != nil {
		t.Fatal(err)
	}
	return profiler.Window{Source: decode.Source{Data: data.Bytes()}, Elapsed: block, CPU: cpu, Slices: 1}
}

// A block holds what this check's work did: nothing of other checks, nothing of the loop,
// which is counted, and a function that was interrupted is still at work itself.
func TestBlocksAreOfWork(t *testing.T) {
	set := budget.Must("no package above 30% flat except example.com/shop", "example.com/shop.work below 60% flat", "example.com/other absent",
		"runtime below 20%") // interrupts are no work of the runtime
	blocks := judge.NewBlocks(rulesOf(t, set), evidence.Options{})
	c := &cpuPhase{blocks: blocks, roots: map[string]int64{}}
	r := &run{subject: subject{id: "ours", worker: work.New(t.Context(), "ours", calledWork)}}
	base := []string{workPackage + ".(*Worker).loop", workPackage + ".(*Worker).run.func3"}
	interrupt := []string{"runtime.asyncPreempt2", "runtime.asyncPreempt"}
	ours := labelledProfile("ours", 5,
		append(append(interrupt, "example.com/shop.work", "example.com/shop.TestIt.func1"), base...),
		append([]string{"example.com/shop.rest", "example.com/shop.TestIt.func1"}, base...),
		base)
	others := labelledProfile("others", 50, append([]string{"example.com/other.work", "example.com/other.TestIt.func1"}, base...))
	both := tableOf(merged(ours, others))
	for range 60 {
		if err := c.group.add(&c.decoder, both, block, nil); err != nil {
			t.Fatal(err)
		}
		if err := c.flush(r); err != nil {
			t.Fatal(err)
		}
	}
	if c.blocks.Samples() != 600 || c.loop != 300 {
		t.Errorf("%d samples are work's and %d the loop's, want 600 and 300", c.blocks.Samples(), c.loop)
	}
	for i, b := range set {
		if got := c.blocks.Verdict(i, false); got != evidence.Pass {
			t.Errorf("%s: %v", b, got)
		}
	}
}

// A unit may be counted more rarely than blocks end: the CPU of the blocks without any is its
// own. Here 2,500 rows are counted in every fifth window, and take 200us each.
func TestBlocksWaitForUnits(t *testing.T) {
	stack := []string{checkPackage + ".burnGuilty", checkPackage + ".TestIt.func1", workPackage + ".(*Worker).loop", workPackage + ".(*Worker).run.func3"}
	for _, tt := range []struct {
		name    string
		usual   time.Duration // of a call; 0 in a benchmark
		counted float64       // rows of the fifth window
		verdict budget.Verdict
		says    string
	}{
		{"guilty", time.Millisecond, 2500, budget.Fail, "at 200µs, surely above"},
		{"guilty, in a benchmark", 0, 2500, budget.Fail, "at 200µs, surely above"},
		{"clean", time.Millisecond, 10_000, budget.Pass, ""},
		{"not counted", time.Millisecond, 0, budget.Inconclusive, `no "row" was counted in`},
	} {
		r, c := replayed(t, budget.Must("check.burnGuilty below 100us per row", "check.burnInnocent below 50%"))
		rows := 0.0
		r.usual, r.Work = tt.usual, map[string]func() float64{"row": func() float64 { return rows }}
		c.last = r.done()
		w := windowOf(t, labelledProfile("ours", 10, stack), block)
		for i := range 600 {
			r.worker.Calls.Add(5)
			if i%5 == 4 {
				rows += tt.counted
			}
			c.add(r, w)
		}
		r.decided(t)
		if o := r.reported(0); o.Verdict != tt.verdict || !strings.Contains(o.Reason, tt.says) {
			t.Errorf("%s: %s, want %v, saying %q", tt.name, o.Result, tt.verdict, tt.says)
		}
		if o := r.reported(1); o.Verdict != budget.Pass {
			t.Errorf("%s: the other budget: %s", tt.name, o.Result)
		}
	}
}

// TestBlocksWaitForLongUnits has a job of 8 s of CPU: no block ends within one.
func TestBlocksWaitForLongUnits(t *testing.T) {
	stack := []string{checkPackage + ".burnGuilty", checkPackage + ".TestIt.func1", workPackage + ".(*Worker).loop", workPackage + ".(*Worker).run.func3"}
	for sentence, want := range map[string]budget.Verdict{"check.burnGuilty below 4s per job": budget.Fail, "check.burnGuilty below 10s per job": budget.Pass} {
		r, c := replayed(t, budget.Must(sentence))
		jobs := 0.0
		r.usual, r.Work = time.Millisecond, map[string]func() float64{"job": func() float64 { return jobs }}
		c.last = r.done()
		w := windowOf(t, labelledProfile("ours", 10, stack), block)
		for i := range 2400 {
			r.worker.Calls.Add(5)
			if i%80 == 79 {
				jobs++
			}
			c.add(r, w)
		}
		r.decided(t)
		if o := r.reported(0); o.Verdict != want {
			t.Errorf("%s, want %v", o.Result, want)
		}
	}
}

// A lost window ends the block before it: a block is of windows that follow each other.
func TestBlocksEndAtALostWindow(t *testing.T) {
	r, c := replayed(t, budget.Must("check.burnGuilty below 20%"))
	r.usual = 5 * block / 2 // so that a block has three windows
	w := windowOf(t, labelledProfile("ours", 10, ownStack("burnGuilty")), block)
	for i, want := range []int64{0, 0, 0, 0, 0, 30} {
		r.worker.Calls.Add(1)
		if i == 2 {
			c.add(r, profiler.Window{Outcome: profiler.Busy, Reason: "somebody else profiles"})
		} else {
			c.add(r, w)
		}
		if got := c.blocks.Samples(); got != want {
			t.Errorf("after window %d blocks have %d samples, want %d", i+1, got, want)
		}
	}
}

// Without a window that could be used, it is said why the last was lost.
func TestNoWindow(t *testing.T) {
	r, c := replayed(t, budget.Must("main.f below 20%"))
	c.add(r, profiler.Window{Outcome: profiler.Busy, Reason: "somebody else profiles"})
	r.decided(t)
	if o := r.reported(0); o.Verdict != budget.Inconclusive || o.Reason != "no window of the profiler could be used: busy: somebody else profiles" {
		t.Error(o.Result)
	}
}

// Work that is smaller than the loop around it has no share, at any length of the check: that
// is a mistake. An amount of it is only undecided, and more time decides it.
func TestCheckSmallWork(t *testing.T) {
	for _, tt := range []struct {
		sentence string
		want     cause
		say      string
	}{
		{"main.f below 20%", mistake, "work is too small"},
		{"main.f below 30ns per call", noTime, "work is too small"},
		{"main.f below 1us per row", mistake, `no "row" was counted in`},
	} {
		r, c := replayed(t, budget.Must(tt.sentence))
		c.loop = 1000
		r.worker.Calls.Add(1000)
		c.all.work = map[string]float64{work.Call: 1000}
		why, found := c.explain(r, 0, judge.NoSamples{})
		reason := bridge.CheckResult[budget.Result](r.set[0], judge.Finding{Reason: found}).Reason
		if why != tt.want || !strings.Contains(reason, tt.say) {
			t.Errorf("%s: cause %v, want %v, saying %q: %s", tt.sentence, why, tt.want, tt.say, reason)
		}
	}
}
