package judge_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/unit"
)

// deep is a stack of as many frames as the runtime keeps, so that it was cut off.
func deep(frames int) string { return strings.Repeat("main.walk;", frames-1) + "main.leaf" }

// What was cut off decides nothing: neither that something is absent, nor that it has grown.
// It keeps nothing open that does not depend on who called, nor "no function", for which it counts
// as way in.
func TestCutOff(t *testing.T) {
	const whole = "runtime.main;main.main;main.rest"
	half := folded.Must("cpu 10s\n" + deep(64) + " 500\n" + whole + " 500\n")
	one := folded.Must("cpu 10s\n" + deep(64) + " 1\n" + whole + " 999\n")
	goroutines := folded.Must("goroutine\n" + deep(128) + " 500\nruntime.goexit;main.rest;runtime.gopark 10\n")
	worker := folded.Must("cpu 10s\nruntime.main;main.main;main.worker;main.leaf 900\n" + whole + " 100\n")
	called := folded.Must("cpu 10s\nruntime.main;main.main;main.worker;main.caller;main.leaf 900\n" + whole + " 100\n")
	base := judge.Facts{Baseline: tableOf(t, folded.Must("cpu 10s\n"+deep(64)+" 900\n"+whole+" 100\n"))}
	slightly := judge.Facts{Baseline: tableOf(t, one)}
	for _, tt := range []struct {
		budget  string
		p       *profile.Profile
		facts   judge.Facts
		verdict budget.Verdict
		reason  string
	}{
		{"main.worker absent", half, judge.Facts{}, budget.Inconclusive, "none of 1000 samples, or up to 50.30%; the runtime has cut off the stacks of 500 samples"},
		{"main.worker absent", one, judge.Facts{}, budget.Pass, "none of 1000 samples, so its share is below 0.40%"},
		{"main.leaf absent", half, judge.Facts{}, budget.Fail, "main.leaf shows in 500 of 1000 samples"},
		{"main.worker absent of goroutine", goroutines, judge.Facts{}, budget.Inconclusive, "none of 510 goroutines, or up to 98.04%; the runtime has cut off the stacks of 500 goroutines"},
		{"main.rest absent of goroutine", goroutines, judge.Facts{}, budget.Fail, "main.rest shows in 10 of 510 goroutines"},
		{"main.worker below 5% of goroutine", goroutines, judge.Facts{}, budget.Inconclusive, "main.worker at 0.00%, or up to 98.04% (510 goroutines)"},
		{"gc below 5%", half, judge.Facts{}, budget.Pass, "gc at 0.00%"},
		{"main.worker grows below 5 points", worker, base, budget.Inconclusive, "of 900 samples, including those of the baseline,"},
		{"main.worker grows below 5 points", worker, slightly, budget.Fail, "main.worker grew by 89.90 points"},
		{"no function grows above 5 points", worker, base, budget.Pass, "main.leaf grew by 0.00 points, surely by less than 5.04 points (1000 samples against 1000); the runtime has cut off the stacks of 900 samples, including those of the baseline,"},
		{"no function grows above 5 points", called, base, budget.Inconclusive, "of 900 samples, including those of the baseline,"},
		{"no function grows above 5 points in main.main", worker, base, budget.Inconclusive, "of 900 samples, including those of the baseline,"},
		{"no function grows above 5 points", worker, slightly, budget.Inconclusive, "main.leaf costs 90.00%, 0.10% before: +89.9 points"},
		{"no function grows above 5 points per call", called, judge.Facts{Baseline: base.Baseline, Work: map[string]float64{"call": 1000}, BaselineWork: map[string]float64{"call": 1000}},
			budget.Inconclusive, "more samples will tell; this build against the baseline; the runtime has cut off the stacks of 900 samples, so the callers are unknown"},
		{"no function grows above 5 points per call", called, judge.Facts{Baseline: slightly.Baseline, Work: map[string]float64{"call": 1000}, BaselineWork: map[string]float64{"call": 10000}}, budget.Fail, "main.leaf costs 9ms per call"},
		{"process grows below 10% per call", half, judge.Facts{Baseline: tableOf(t, half),
			Work: map[string]float64{"call": 4000}, BaselineWork: map[string]float64{"call": 1000}}, budget.Pass, "the process grew by -75.00%"},
	} {
		set := budget.Must(tt.budget)
		findings, err := judgeOf(t, []string{tt.budget}).Table(t.Context(), tableOf(t, tt.p), tt.facts)
		if err != nil {
			t.Fatal(err)
		}
		if r := bridge.Result[budget.Result](set[0], findings[0]); r.Verdict != tt.verdict || !strings.Contains(r.Reason, tt.reason) {
			t.Errorf("%s\nwant %v: %s", r, tt.verdict, tt.reason)
		}
	}
}

// Go up to 1.22 keeps 32 frames of the stacks of other kinds, and profiles do not say so. Nothing is cut off where a
// stack is deeper, or ends in what nothing calls, as the first function of a goroutine.
func TestCutOffOld(t *testing.T) {
	const head = "heap\nruntime.main;main.main;main.rest 500 262144000\n"
	under := func(root string, frames int) string {
		return fmt.Sprintf("%s;%s;main.leaf 500 262144000\n", root, strings.TrimSuffix(strings.Repeat("main.step;", frames-2), ";"))
	}
	for name, x := range map[string]struct {
		text    string
		verdict budget.Verdict
	}{
		"old":                     {head + under("main.step", 32), budget.Inconclusive},
		"old, without its leaves": {head + under("main.step", 32) + under("main.step", 28), budget.Inconclusive},
		"old, another one calls":  {head + under("main.begin", 32) + "runtime.main;main.main;main.begin;main.leaf 1 1024\n", budget.Inconclusive},
		"a deeper one":            {head + under("main.step", 32) + under("main.step", 33), budget.Pass},
		"none as deep":            {head + under("main.step", 31), budget.Pass},
		"nothing calls it":        {head + under("main.begin", 32), budget.Pass},
		"the runtime calls it":    {head + under("runtime.main", 32), budget.Pass},
		"CPU":                     {"cpu 10s\nruntime.main;main.main;main.rest 500\n" + strings.TrimSuffix(under("main.step", 32), " 262144000\n"), budget.Pass},
	} {
		sentence := "main.worker below 5% of heap"
		if name == "CPU" {
			sentence = "main.worker below 5% cumulative"
		}
		findings, err := judgeOf(t, []string{sentence}).Table(t.Context(), tableOf(t, folded.Must(x.text)), judge.Facts{})
		if err != nil {
			t.Fatal(err)
		}
		if got := budget.Verdict(findings[0].Verdict); got != x.verdict {
			t.Errorf("%s: expected %v, found %v: %+v", name, x.verdict, got, findings[0])
		}
	}
}

// The bounds of an offender are its own. What was cut off may belong to a pattern, but not what
// others have; for "no function" it belongs to the way in.
func TestCutOffOffender(t *testing.T) {
	p := folded.Must("cpu 10s\n" + deep(64) + " 2\nruntime.main;main.main;main.entry;main.mid;main.small 300\nruntime.main;main.main;main.entry;main.mid 400\nruntime.main;main.main;main.entry;main.rest 298\n")
	set := []string{"no function above 20% cumulative", "main.small below 20% cumulative"}
	findings, err := judgeOf(t, set).Table(t.Context(), tableOf(t, p), judge.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	each, one := findings[0], findings[1]
	for _, o := range each.Offenders {
		if o.High < o.Share || o.High > o.Share+0.07 {
			t.Errorf("%s is at %v, and at most at %v", o.Function, o.Share, o.High)
		}
	}
	if first := each.Offenders[0]; first.Function != "main.small" || each.High != first.High || each.High >= one.High {
		t.Errorf("the first offender %s is at most at %v, and the budget at %v; alone it is at most at %v", first.Function, first.High, each.High, one.High)
	}
}

// A check passes "absent" neither early nor at its end if the stacks were cut off, and growth
// is not proven against a baseline whose stacks were.
func TestCutOffBlocks(t *testing.T) {
	for _, n := range []int{10, 60} {
		var blocks []*profile.Profile
		for range n {
			blocks = append(blocks, folded.Must("cpu 100ms\n"+deep(64)+" 10\n"))
		}
		trial := newTrial(t, "main.worker absent")
		if r := trial.judged(t, blocks)[0]; r.Verdict != budget.Inconclusive || trial.Decided(0) != budget.Inconclusive || budget.Verdict(trial.Verdict(0, true)) != budget.Inconclusive {
			t.Errorf("%d blocks: %s\ndecided: %v, closing: %v", n, r, trial.Decided(0), trial.Verdict(0, true))
		}
	}
	each := newTrial(t, "no function above 50%")
	var blocks []*profile.Profile
	for range 60 {
		blocks = append(blocks, folded.Must("cpu 100ms\n"+deep(64)+" 3\nruntime.main;main.main;main.a 3\nruntime.main;main.main;main.b 4\n"))
	}
	if r := each.judged(t, blocks)[0]; r.Verdict != budget.Pass || !strings.Contains(r.Reason, "; the runtime has cut off the stacks of 180 samples") {
		t.Errorf("%s", r)
	}
	facts := judge.Facts{Kind: "cpu", Baseline: tableOf(t, folded.Must("cpu 10s\n"+deep(64)+" 900\nruntime.main;main.rest 100\n"))}
	for _, sentence := range []string{"main.worker grows below 5 points", "no function grows above 5 points"} {
		trial := newTrial(t, sentence)
		block := "ms\nruntime.main;main.worker 9\nruntime.main;main.rest 1\n"
		for range 60 {
			if err := trial.Add(folded.Must("cpu 100"+block), facts); err != nil {
				t.Fatal(err)
			}
		}
		results, err := trial.Close(folded.Must("cpu 6s\nruntime.main;main.worker 540\nruntime.main;main.rest 60\n"), facts)
		if err != nil {
			t.Fatal(err)
		}
		if r := results[0]; r.Verdict != budget.Inconclusive || !strings.Contains(r.Reason, "the runtime has cut off") {
			t.Errorf("%s: %s", sentence, r)
		}
	}
}

// A check that passes counts what was cut off into its upper bound: it may all belong to the pattern, or
// for "no function" to one function.
func TestCutOffBound(t *testing.T) {
	for _, sentence := range []string{"main.hot below 70%", "no function above 70% in main.main"} {
		for cut, atLeast := range map[int]float64{0: 0.3, 2: 0.5} { // of 10 samples, beside 3 of main.hot
			var blocks []*profile.Profile
			for range 200 {
				blocks = append(blocks, folded.Must(fmt.Sprintf("cpu 100ms\n%s %d\nruntime.main;main.main;main.hot 3\nruntime.main;main.main;main.a 2\nruntime.main;main.main;main.b 2\nruntime.main;main.main;main.c %d\n",
					deep(64), cut, 3-cut)))
			}
			r := newTrial(t, sentence).judged(t, blocks)[0]
			if r.Verdict != budget.Pass || r.High < atLeast || cut == 0 && r.High > atLeast+0.2 || !strings.Contains(r.Reason, "below "+unit.Format(r.High, unit.Share)) {
				t.Errorf("%s, %d of 10 cut off: expected a bound of %v or more, found %v: %s", sentence, cut, atLeast, r.High, r)
			}
		}
	}
}

// A guard whose stacks are deep proves what does not depend on who called: the whole process,
// and its figures. Of functions it proves an excess that shows, and a pass that is true however
// much of each function was cut off. For "absent" it needs windows that are whole.
func TestCutOffWindows(t *testing.T) {
	const hot = "runtime.main;main.main;main.hot 19\nruntime.main;main.main;main.a 9\nruntime.main;main.main;main.b 9\nruntime.main;main.main;main.c 9\n"
	cores := func(at float64) judge.Facts { return judge.Facts{Figures: map[string]float64{"cores": at}} }
	for _, tt := range []struct {
		budget, stacks string
		facts          judge.Facts
		want           budget.Verdict
	}{
		{"process below 1 core", deep(64) + " 500\nruntime.main;main.rest 100\n", cores(0.6), budget.Pass},
		{"process below 1 core", deep(64) + " 100\nruntime.main;main.rest 300\n", judge.Facts{}, budget.Pass},
		{"gc below 20%", deep(64) + " 500\nruntime.main;main.rest 500\n", judge.Facts{Figures: map[string]float64{"gc": 0.1}}, budget.Pass},
		{"no function above 25%", deep(64) + " 4\n" + hot, judge.Facts{}, budget.Fail},
		{"main.hot below 25%", deep(64) + " 4\n" + hot, judge.Facts{}, budget.Fail},
		{"no function above 60%", deep(64) + " 4\n" + hot, judge.Facts{}, budget.Pass},
		{"main.hot below 60%", deep(64) + " 4\n" + hot, judge.Facts{}, budget.Pass},
		{"no function above 50%", deep(64) + " 30\n" + hot, judge.Facts{}, budget.Pass},
		{"no function above 70% except none", deep(64) + " 30\n" + hot, judge.Facts{}, budget.Inconclusive},
		{"no function above 50% in main.main", deep(64) + " 30\n" + hot, judge.Facts{}, budget.Inconclusive},
		{"main.hot below 50%", deep(64) + " 30\n" + hot, judge.Facts{}, budget.Inconclusive},
		{"main.worker absent", deep(64) + " 500\nruntime.main;main.rest 500\n", judge.Facts{}, budget.Inconclusive},
		{"main.worker absent", deep(64) + " 1\nruntime.main;main.rest 999\n", judge.Facts{}, budget.Pass},
		{"main.worker grows below 5 points", "runtime.main;main.worker 40\nruntime.main;main.rest 960\n",
			judge.Facts{Baseline: tableOf(t, folded.Must("cpu 10s\n"+deep(64)+" 100\nruntime.main;main.rest 900\n"))}, budget.Inconclusive},
	} {
		see := watcher(t, tt.budget)
		var last watched
		for range 40 {
			last = see(folded.Must("cpu 10s\n"+tt.stacks), tt.facts)
		}
		if last.Proven != tt.want {
			t.Errorf("%s: proven %v, want %v: %s", tt.budget, last.Proven, tt.want, last.Reason)
		}
	}
}

// An excess that was proven by what shows ends by what shows, and is no pass then.
func TestCutOffEnds(t *testing.T) {
	see := watcher(t, "main.hot below 20%")
	proven := func(hot, windows int, until budget.Verdict) (last budget.Verdict) {
		for i := 0; i < windows && (i == 0 || last != until); i++ {
			last = see(folded.Must(fmt.Sprintf("cpu 10s\n%s 30\nruntime.main;main.main;main.hot %d\nruntime.main;main.main;main.rest %d\n", deep(64), hot, 70-hot)), judge.Facts{}).Proven
		}
		return last
	}
	if v := proven(28, 60, budget.Fail); v != budget.Fail {
		t.Errorf("at 28%%: %v", v)
	}
	if v := proven(0, 30, budget.Inconclusive); v != budget.Inconclusive {
		t.Errorf("when it is fixed: %v", v)
	}
	if v := proven(0, 300, budget.Pass); v != budget.Inconclusive {
		t.Errorf("30%% were cut off: %v", v)
	}
}

// Windows with many stacks that were cut off are no evidence that a function is absent, and leave
// that of whole windows as it is.
func TestCutOffAbsent(t *testing.T) {
	see := watcher(t, "main.worker absent")
	see(folded.Must("cpu 10s\nruntime.main;main.worker 1\nruntime.main;main.rest 49\n"), judge.Facts{})
	windows := 0
	for last := budget.Fail; last != budget.Pass && windows < 100; windows++ {
		text := "runtime.main;main.rest 50\n"
		if windows%3 == 0 {
			text = "runtime.main;main.rest 35\n" + deep(64) + " 15\n"
		}
		last = see(folded.Must("cpu 10s\n"+text), judge.Facts{}).Proven
	}
	if windows > 12 {
		t.Errorf("absent after %d windows, of which a third is cut off; six whole ones prove it", windows)
	}
}

// "absent" is not proven by windows of which each hides nearly a hundredth.
func TestCutOffALittle(t *testing.T) {
	see := watcher(t, "main.worker absent")
	if r := see(folded.Must("cpu 10s\n" + deep(64) + " 9\nruntime.main;main.rest 991\n")); r.Verdict != budget.Inconclusive || r.Proven != budget.Inconclusive {
		t.Errorf("%v, proven %v: %s", r.Verdict, r.Proven, r.Reason)
	}
}

// When an alert has ended, the next windows have proven nothing yet.
func TestEndedProvesNothing(t *testing.T) {
	w := newWatch(t, budget.Must("no function above 20%"), time.Minute)
	hot := folded.Must("cpu 10s\nruntime.main;main.main;main.x 600\nruntime.main;main.main;main.y 400\n")
	var few strings.Builder
	few.WriteString("cpu 10s\n")
	for i := range 5 {
		fmt.Fprintf(&few, "runtime.main;main.main;main.f%d 20\n", i)
	}
	if r := w.profile(t, hot, time.Minute)[0]; r.Proven != budget.Fail {
		t.Fatalf("%v: %s", r.Proven, r.Reason)
	}
	w.Ended(0)
	if r := w.profile(t, folded.Must(few.String()), 2*time.Minute)[0]; r.Verdict != budget.Inconclusive || r.Proven != budget.Inconclusive {
		t.Errorf("%v, proven %v: %s", r.Verdict, r.Proven, r.Reason)
	}
}

// A baseline with a few stacks that were cut off, of many, does not keep the proof of
// growth going when it is over.
func TestCutBaselineEndsGrowth(t *testing.T) {
	window := func(grown, rest, cut int) *profile.Profile {
		return folded.Must(fmt.Sprintf("cpu 10s\nruntime.main;main.main;main.f %d\nruntime.main;main.main;main.g %d\n%s %d\n", grown, rest, deep(64), cut))
	}
	rules, err := bridge.Rules(budget.Must("main.f grows below 5 points"))
	if err != nil {
		t.Fatal(err)
	}
	w := judge.NewWatch(rules, time.Minute)
	facts := judge.Facts{Baseline: tableOf(t, window(10_000, 39_900, 100))}
	alarm := func(minute, share int) string {
		findings, err := w.Table(t.Context(), tableOf(t, window(share, 998-share, 2)), time.Duration(minute)*time.Minute, facts)
		if err != nil {
			t.Fatal(err)
		}
		return findings[0].Proven.String()
	}
	last := ""
	for minute := range 15 {
		last = alarm(minute+1, 500)
	}
	if last != "fail" {
		t.Fatalf("grown from 20%% to 50%%: %s", last)
	}
	for minute := range 60 {
		last = alarm(minute+16, 200)
	}
	if last == "fail" {
		t.Errorf("an hour after the growth is over: %s", last)
	}
}

// What was cut off decides how one alarm ends, and not how the next one does.
func TestCutOffOnce(t *testing.T) {
	w := newWatch(t, budget.Must("no function above 20% in main.main"), time.Minute)
	step, minute := 0, 0
	// next adds windows of 200 samples until what is proven is not what it was, but at most 60. In
	// each step another function may be near the limit, and too unsteady for a proof.
	next := func(what string, was, want budget.Verdict, f, g, cut, near int) {
		t.Helper()
		step++
		now := was
		for i := 0; now == was && i < 60; i++ {
			minute++
			near := near/2 + i%2*near
			text := fmt.Sprintf("cpu 10s\nruntime.main;main.main;main.f %d\nruntime.main;main.main;main.g %d\nruntime.main;main.main;main.near%d %d\n%s %d\n", f, g, step, near, deep(64), cut)
			for i := range 8 {
				text += fmt.Sprintf("runtime.main;main.main;main.rest%d %d\n", i, (200-near-f-g-cut)/8)
			}
			now = w.profile(t, folded.Must(text), time.Duration(minute)*time.Minute)[0].Proven
		}
		if now != want {
			t.Errorf("step %d, %s: proven %v, want %v", step, what, now, want)
		}
	}
	const open, fail, pass = budget.Inconclusive, budget.Fail, budget.Pass
	next("f is over the limit", open, fail, 80, 0, 0, 40)
	next("f may be in what is cut off", fail, open, 0, 0, 40, 40)
	next("f is over it again", open, fail, 80, 0, 0, 40)
	next("f is below it", fail, pass, 0, 0, 0, 40)

	next("f is over it, with some cut off", pass, fail, 80, 0, 0, 40)
	next("f is over it, with some cut off", fail, fail, 80, 0, 40, 40)
	next("both are", fail, fail, 80, 80, 0, 0)
	next("g is over it alone", fail, fail, 0, 80, 0, 0)
	next("none is", fail, pass, 0, 0, 0, 0)
	next("f is over it", pass, fail, 80, 0, 0, 40)
	next("f is below it", fail, pass, 0, 0, 0, 40)

	next("f is over it", pass, fail, 80, 0, 0, 40)
	next("f may be in what is cut off, and g is over it", fail, fail, 0, 80, 40, 40)
	w.Ended(0)
	next("g is over it", open, fail, 0, 80, 0, 40)
	next("g is below it", fail, pass, 0, 0, 0, 40)
}

// After a hit, what was cut off before it is no doubt about the windows that follow.
func TestCutOffBeforeHit(t *testing.T) {
	see := watcher(t, "main.worker absent")
	rest := "runtime.main;main.rest 50\n"
	for range 20 {
		see(folded.Must("cpu 10s\n" + deep(64) + " 9\nruntime.main;main.rest 991\n"))
	}
	if r := see(folded.Must("cpu 10s\nruntime.main;main.worker 1\n" + rest)); r.Proven != budget.Fail {
		t.Fatalf("a hit: %v", r.Proven)
	}
	windows := 0
	for last := budget.Fail; last != budget.Pass && windows < 20; windows++ {
		last = see(folded.Must("cpu 10s\n" + rest)).Proven
	}
	if windows != 6 {
		t.Errorf("absent after %d windows of 50 samples, want 6", windows)
	}
}
