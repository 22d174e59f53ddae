package judge_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/unit"
)

var long = flag.Bool("long", false, "simulate a month, which takes minutes")

// A load makes windows of n samples in which main.work has a share of its own
// and ten others have the rest.
type load struct {
	rng *rand.Rand
	n   int
}

// binomial draws hits.
func (l *load) binomial(n int, p float64) int {
	k := 0
	for range n {
		if l.rng.Float64() < p {
			k++
		}
	}
	return k
}

func (l *load) window(share float64) *profile.Profile {
	k := l.binomial(l.n, share)
	text := "cpu 10s\n"
	if k > 0 {
		text += fmt.Sprintf("main.main;main.run;main.work %d\n", k)
	}
	var rest [10]int
	for range l.n - k {
		rest[l.rng.IntN(len(rest))]++
	}
	for i, v := range rest {
		if v > 0 {
			text += fmt.Sprintf("main.main;main.run;main.f%d %d\n", i, v)
		}
	}
	return folded.Must(text)
}

// watcher feeds windows and says when the alarm first has a verdict.
func watcher(t *testing.T, sentence string) func(p *profile.Profile, facts ...judge.Facts) watched {
	t.Helper()
	w := newWatch(t, budget.Must(sentence), time.Minute)
	at := time.Duration(0)
	return func(p *profile.Profile, facts ...judge.Facts) watched {
		t.Helper()
		at += time.Minute
		return w.profile(t, p, at, facts...)[0]
	}
}

// TestWatchQuiet: a month of minutes at 0.8 of the limit and at the limit gives
// no alarm, on one function and on each. A naive threshold at the limit gives
// thousands. The month is scaled down to a day by default.
func TestWatchQuiet(t *testing.T) {
	windows := 24 * 60
	switch {
	case *long:
		windows = 30 * 24 * 60
	case testing.Short():
		windows /= 5
	}
	for _, sentence := range []string{"main.work below 20%", "no function above 20%"} {
		for _, n := range []int{4, 50} {
			for _, share := range []float64{0.16, 0.2} {
				l := &load{rand.New(rand.NewPCG(uint64(n), 7)), n}
				next := watcher(t, sentence)
				alarms, naive := 0, 0
				firing := budget.Inconclusive
				for range windows {
					r := next(l.window(share))
					if r.Proven == budget.Fail && firing != budget.Fail {
						alarms++
					}
					firing = r.Proven
					if r.Value > 0.2 {
						naive++
					}
				}
				if alarms > 0 || naive < windows/20 {
					t.Errorf("%s, share %g, %d samples: %d alarms in %d windows, want none (naive: %d, a comparison that means something has many)", sentence, share, n, alarms, windows, naive)
				}
				t.Logf("%s, share %g, %d samples: %d alarms in %d windows, naive %d", sentence, share, n, alarms, windows, naive)
			}
		}
	}
}

// TestWatchDelay: the windows until an alarm, from a process that was quiet for
// 300 windows. The bounds are twice VERDICTS' medians, which leave room for the
// stricter threshold of the budgets here.
func TestWatchDelay(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	for _, test := range []struct {
		n     int
		times float64
		limit int
	}{
		{1000, 1.25, 14}, {1000, 1.5, 12}, {1000, 2, 12},
		{50, 1.25, 400}, {50, 1.5, 60}, {50, 2, 20},
	} {
		for _, sentence := range []string{"main.work below 20%", "no function above 20%"} {
			l := &load{rand.New(rand.NewPCG(uint64(test.n), 11)), test.n}
			next := watcher(t, sentence)
			for range 300 {
				if r := next(l.window(0.1)); r.Proven == budget.Fail {
					t.Fatalf("%s: an alarm at half the limit:\n%s", sentence, r)
				}
			}
			delay := 0
			for {
				delay++
				if r := next(l.window(0.2 * test.times)); r.Proven == budget.Fail {
					break
				}
				if delay > 10*test.limit {
					break
				}
			}
			t.Logf("%s, %d samples, %g times the limit: %d windows", sentence, test.n, test.times, delay)
			if delay > test.limit {
				t.Errorf("%s, %d samples, %g times the limit: alarm after %d windows, want %d at the most", sentence, test.n, test.times, delay, test.limit)
			}
		}
	}
}

// TestWatchRecovers: fires, and is over when the share is back. In between,
// windows without samples change nothing.
func TestWatchRecovers(t *testing.T) {
	for _, sentence := range []string{"main.work below 20%", "no function above 20%", "no function above 0.2 cores", "main.work below 0.2 cores"} {
		l := &load{rand.New(rand.NewPCG(3, 3)), 1000}
		next := watcher(t, sentence)
		until := func(share float64, want budget.Verdict, limit int) {
			t.Helper()
			for i := 0; ; i++ {
				r := next(l.window(share))
				if r.Proven == want {
					return
				}
				if i > limit {
					t.Fatalf("%s: %s after %d windows at a share of %g, want %s\n%s", sentence, r.Proven, i, share, want, r)
				}
			}
		}
		until(0.1, budget.Pass, 20)
		// Only when the overdispersion is known is a step told from a bursty share:
		// package evidence holds it after 30 windows.
		for range 60 {
			next(l.window(0.1))
		}
		until(0.5, budget.Fail, 20)
		before := next(l.window(0.5))
		for range 10 {
			r := next(folded.Must("cpu 10s\n"))
			if r.Verdict != budget.Inconclusive || r.Proven != budget.Fail || r.Evidence != before.Evidence {
				t.Errorf("%s: a window without samples: %s, alarm %s, evidence %g (before %g)", sentence, r.Verdict, r.Proven, r.Evidence, before.Evidence)
			}
		}
		until(0.1, budget.Pass, 20)
	}
}

// TestWatchEachByItself: two functions take turns at 15%, together 30%; neither
// is above 20%, so there is no alarm. Then one goes to 40%.
func TestWatchEachByItself(t *testing.T) {
	next := watcher(t, "no function above 20%")
	for i := range 2000 {
		a := fmt.Sprintf("main.a%d", i%2)
		r := next(folded.Must("cpu 10s\nmain.main;main.run;" + a + " 300\nmain.main;main.run;main.b 100\nmain.main;main.run;main.c 150\nmain.main;main.run;main.d 150\nmain.main;main.run;main.e 150\nmain.main;main.run;main.f 150\n"))
		_ = r
		if i == 1999 && r.Evidence >= 0.5 {
			t.Errorf("an alarm on functions with 15%% each over time:\n%s", r)
		}
	}
}

// TestWatchAtOnce: what needs no statistics fires at once and is over at once.
func TestWatchAtOnce(t *testing.T) {
	clean, hit := folded.Must("cpu 10s\nmain.main;main.run 100\n"), folded.Must("cpu 10s\nmain.main;main.run 99\nmain.main;main.run;fmt.Println 1\n")
	next := watcher(t, "fmt.Println absent")
	for i, step := range []struct {
		p    *profile.Profile
		want budget.Verdict
	}{
		{clean, budget.Inconclusive}, {clean, budget.Inconclusive}, {clean, budget.Pass}, // 300 samples in three windows
		{hit, budget.Fail}, {clean, budget.Fail}, {clean, budget.Fail}, {clean, budget.Pass},
	} {
		if r := next(step.p); r.Proven != step.want {
			t.Errorf("absent, window %d: alarm %s, want %s", i, r.Proven, step.want)
		}
	}
	next = watcher(t, "goroutines below 100")
	for i, step := range []struct {
		goroutines float64
		want       budget.Verdict
	}{{100, budget.Pass}, {101, budget.Fail}, {99, budget.Pass}} {
		if r := next(clean, judge.Facts{Figures: map[string]float64{"goroutines": step.goroutines}}); r.Proven != step.want {
			t.Errorf("figure, window %d: alarm %s, want %s", i, r.Proven, step.want)
		}
	}
}

// TestWatchHeap: the live heap shows the same samples window after window, so
// that they must not be added up.
func TestWatchHeap(t *testing.T) {
	next := watcher(t, "main.cache below 20% of heap")
	p := folded.Must("heap rate=1\nmain.main;main.run;main.cache 25 25600\nmain.main;main.run;main.rest 75 76800\n")
	for range 1000 {
		if r := next(p); r.Proven == budget.Fail {
			t.Fatalf("an alarm from one look a thousand times:\n%s", r)
		}
	}
}

// TestWatchAbsentOfHeap: the same objects are no new samples, however often they are looked at.
func TestWatchAbsentOfHeap(t *testing.T) {
	for text, want := range map[string]evidence.Verdict{
		"heap\nmain.main;main.run;main.rest 30 15728640\n":   evidence.Inconclusive,
		"heap\nmain.main;main.run;main.rest 400 209715200\n": evidence.Pass,
	} {
		next := watcher(t, "main.cache absent of heap")
		var alarm budget.Verdict
		for range 100 {
			alarm = next(folded.Must(text)).Proven
		}
		if evidence.Verdict(alarm) != want {
			t.Errorf("%q a hundred times: %s, want %s", text, alarm, budget.Verdict(want))
		}
	}
}

// TestWatchSteady: nobody but a test judges "steady".
func TestWatchSteady(t *testing.T) {
	p, facts := folded.Must("cpu 10s\nmain.main;main.run 100\n"), judge.Facts{Figures: map[string]float64{"goroutines": 501}}
	if r := watcher(t, "goroutines steady")(p, facts); r.Verdict != budget.Inconclusive || r.Proven != budget.Inconclusive {
		t.Errorf("%v, proven %v: %s", r.Verdict, r.Proven, r.Reason)
	}
}

// TestWatchGrows: against a baseline.
func TestWatchGrows(t *testing.T) {
	base := tableOf(t, folded.Must("cpu 10s\nmain.main;main.run;main.work 2000\nmain.main;main.run;main.rest 8000\n"))
	for _, sentence := range []string{"no function grows above 5 points except main.rest", "main.work grows below 5 points", "main.work grows below 20% per request", "no function grows above 20% per request except main.rest"} {
		l := &load{rand.New(rand.NewPCG(9, 9)), 10000}
		next := watcher(t, sentence)
		facts := judge.Facts{Baseline: base, Work: map[string]float64{"request": 10000}, BaselineWork: map[string]float64{"request": 10000}}
		sameAs := func(share float64) *profile.Profile {
			k := l.binomial(10000, share)
			return folded.Must(fmt.Sprintf("cpu 10s\nmain.main;main.run;main.work %d\nmain.main;main.run;main.rest %d\n", k, 10000-l.binomial(10000, 0.2)))
		}
		for range 30 {
			if r := next(sameAs(0.2), facts); r.Proven == budget.Fail {
				t.Fatalf("%s: an alarm without growth:\n%s", sentence, r)
			}
		}
		if r := next(sameAs(0.5), facts); r.Proven != budget.Fail {
			t.Errorf("%s: no alarm at 50%%: %s", sentence, r)
		}
	}
}

// TestWindowVerdicts: how often one window fails at the limit and at 1.5 and 2
// times the limit, beside a naive comparison.
func TestWindowVerdicts(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	const windows = 400
	set := budget.Must("main.work below 20%")
	for _, test := range []struct {
		times    float64
		n        int
		min, max int // windows that fail
	}{
		{1, 1000, 0, 0}, {1, 50, 0, 0},
		{1.5, 1000, 370, windows}, // 557 samples are what it takes on the average
		{2, 1000, windows, windows}, {2, 200, 300, windows},
	} {
		l := &load{rand.New(rand.NewPCG(1, uint64(test.n))), test.n}
		failed, naive, passed := 0, 0, 0
		for range windows {
			r := judged(t, set, l.window(0.2*test.times))[0]
			switch r.Verdict {
			case budget.Fail:
				failed++
			case budget.Pass:
				passed++
			}
			if r.Value > 0.2 {
				naive++
			}
		}
		t.Logf("%g times the limit, %d samples: %d of %d windows fail, %d pass; naive %d", test.times, test.n, failed, windows, passed, naive)
		if failed < test.min || failed > test.max {
			t.Errorf("%g times the limit, %d samples: %d of %d windows fail, want %d to %d", test.times, test.n, failed, windows, test.min, test.max)
		}
		if test.times >= 1.5 && passed > windows/100 { // ten times what PassAlpha promises
			t.Errorf("%g times the limit, %d samples: %d windows pass", test.times, test.n, passed)
		}
	}
	if evidence.Zone != 1.25 {
		t.Error("the documentation says that the zone ends at 1.25 times the limit")
	}
}

// TestWatchGrowthEnds: against a small baseline no window passes, and one within the limit ends what others have proven.
func TestWatchGrowthEnds(t *testing.T) {
	next := watcher(t, "main.work grows below 5 points in main.run")
	facts := judge.Facts{Baseline: tableOf(t, folded.Must("cpu 10s\nmain.main;main.run;main.work 30\nmain.main;main.run;main.rest 70\n"))}
	for i, tt := range []struct {
		work int
		want budget.Verdict
	}{{30, budget.Inconclusive}, {90, budget.Fail}, {45, budget.Fail}, {30, budget.Inconclusive}} {
		r := next(folded.Must(fmt.Sprintf("cpu 10s\nmain.main;main.run;main.work %d\nmain.main;main.run;main.rest %d\n", 10*tt.work, 1000-10*tt.work)), facts)
		if r.Proven != tt.want {
			t.Errorf("window %d: proven %s, want %s\n%s", i, r.Proven, tt.want, r.Reason)
		}
	}
}

// TestWatchBounded gives a watch thousands of function names that come and go.
func TestWatchBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	w := judge.NewWatch([]judge.Rule{
		{Class: judge.EachFunction, Limit: 0.2, Dimension: unit.Share, Kind: "cpu"},
		{Class: judge.EachFunction, Limit: 1, Dimension: unit.Cores, Kind: "cpu"},
	}, time.Minute)
	name := 0
	var decoder decode.Decoder
	for i := range 300 {
		text := "cpu 10s\n"
		for range 50 {
			name++
			text += fmt.Sprintf("main.main;main.run;main.f%d 20\n", name)
		}
		table, err := decoder.Profile(folded.Must(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Table(t.Context(), table, time.Duration(i)*time.Minute, judge.Facts{}); err != nil {
			t.Fatal(err)
		}
		for k := range 2 {
			if got := w.Remembered(k); got > judge.MaxStreams {
				t.Fatalf("window %d: %d functions are remembered, want %d at the most", i, got, judge.MaxStreams)
			}
		}
	}
}
