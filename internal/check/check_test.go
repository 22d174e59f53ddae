package check

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
)

// A guilty function fails and an innocent one passes, whichever way the budget
// names them. The limits leave room: TestCheckFidelity is about the narrow ones.
func TestCheckVerdicts(t *testing.T) {
	t.Parallel()
	needProfiler(t)
	for _, tt := range []struct {
		name    string
		budgets []string
		share   float64
		want    string
		say     []string
	}{
		{"innocent", []string{"check.burnGuilty below 60% cumulative", "check.burnGuilty below 10s per call"}, 0.1, "pass", []string{"2 kept ("}},
		{"guilty", []string{"no function above 10% cumulative except burnInnocent"}, 1, "fail",
			[]string{"check.burnGuilty at ", "spin_test.go:", "surely above", "go tool pprof -http=: ", "what to do:", "except burnInnocent, "}},
		{"absent", []string{"check.burnGuilty absent"}, 0.5, "fail", []string{"shows in", "spin_test.go:"}},
		{"in double quotes", []string{`"check.burnGulty" absent`}, 0.5, "pass", []string{"not linked"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := tryCheck(t, Config{Max: ample}, budget.Must(tt.budgets...), func(ctx context.Context) { mixAndRest(ctx, tt.share) })
			if got.verdict() != tt.want {
				t.Fatalf("%s, want %s:\n%s\n%s", got.verdict(), tt.want, got.problem, got.text())
			}
			for _, s := range tt.say {
				if !strings.Contains(got.text(), s) {
					t.Errorf("the text does not say %q:\n%s", s, got.text())
				}
			}
		})
	}
}

// Each of these would say nothing if it passed.
func TestCheckNotIneffective(t *testing.T) {
	for _, tt := range []struct {
		name    string
		budgets budget.Set
		checker Config
		noWork  bool
		want    string
	}{
		{name: "no budgets", want: "expected budgets, found none"},
		{name: "no work", budgets: budget.Must("portlist absent"), noWork: true, want: "expected a function to call"},
		{name: "negative Max", budgets: budget.Must("portlist absent"), checker: Config{Max: -1}, want: "expected a Max above zero"},
		{name: "nil counter", budgets: budget.Must("process below 1s per row"), checker: Config{Work: map[string]func() float64{"row": nil}},
			want: `Work["row"]: expected a function that reads the counter, found nil`},
		{name: "invalid", budgets: budget.Set{{Subject: "process"}}, want: "budget"},
		{name: "not linked", budgets: budget.Must("portlist below 5%"), want: "no function linked into this test matches portlist"},
		{name: "misspelt", budgets: budget.Must("check.burnGuity below 5%"), want: "matches check.burnGuity: did you mean github.com/profguard/profguard/internal/check.burnGuilty?"},
		{name: "misspelt absent", budgets: budget.Must("check.burnGulty absent"), want: `did you mean github.com/profguard/profguard/internal/check.burnGuilty? If check.burnGulty is right, write it in double quotes: "check.burnGulty"`},
		{name: "in is not linked", budgets: budget.Must("fmt.Println absent in portlist"), want: "matches portlist"},
		{name: "unit of work", budgets: budget.Must("process below 5ms per request"), want: `write "per call", or set Checker.Work["request"]`},
		{name: "work of each value", budgets: budget.Must("no endpoint above 5ms per http_requests_total"), want: `as in "process below 5ms per call where endpoint=..."`},
		{name: "two mistakes, the second", budgets: budget.Must("process below 5ms per request", "portlist below 5%"), want: "linked into this test matches portlist"},
		{name: "no baseline", budgets: budget.Must("no function grows above 5 points"), want: "set Checker.BaselineFile"},
		{name: "baseline is missing", budgets: budget.Must("no function grows above 5 points"), checker: Config{BaselineFile: "testdata/none.pprof"}, want: "write one with Checker.Update"},
		{name: "growth of allocs", budgets: budget.Must("no function grows above 5 points of allocs"), checker: Config{BaselineFile: "x"}, want: "limit allocs by an amount"},
		{name: "growth of goroutines", budgets: budget.Must("no function grows above 5 points of goroutine"), checker: Config{BaselineFile: "x"}, want: "limit goroutine by an amount"},
		{name: "steady under a condition", budgets: budget.Must("heap steady when process above 1 cores"), want: `drop "when"`},
		{name: "labels of heap", budgets: budget.Must("no function above 5% of heap where a=b"), want: `drop "where"`},
		{name: "no window", budgets: budget.Must("process below 5MiB of allocs"), want: `"per call"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tb := &fakeTB{name: t.Name()}
			work := func(context.Context) { t.Error("work was called") }
			if tt.noWork {
				work = nil
			}
			_, returned := tb.on(func() { Run(tb, tt.checker, tt.budgets, work) })
			if returned || !tb.Failed() {
				t.Errorf("returned %v, failed %v: want the test to end there", returned, tb.Failed())
			}
			if !strings.Contains(tb.text(), tt.want) || !strings.HasPrefix(tb.text(), "guard.Check: ") {
				t.Errorf("the text does not say %q:\n%s", tt.want, tb.text())
			}
		})
	}
}

// Work of which there are few samples because it is too small is a mistake of the test. Work
// that sleeps is in TestCheckBusy.
func TestCheckTooFewSamples(t *testing.T) {
	if currentTestRun().race {
		t.Skip("the race detector takes longer than Check's loop does")
	}
	if !apart(t) {
		return
	}
	on(t, idle)
	for _, tt := range []struct {
		name, want string
		budgets    []string
		work       func(context.Context)
	}{
		{"tiny", "func(ctx context.Context) { for range 1000 { ... } }",
			[]string{"no function above 20% cumulative", "no function above 20% except none"}, func(context.Context) { tiny++ }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := tryCheck(t, Config{Max: ample}, budget.Must(tt.budgets...), tt.work)
			if got.verdict() != "open" || strings.Count(got.text(), tt.want) != len(tt.budgets) || !strings.Contains(got.text(), "could not be judged") {
				t.Errorf("%s, want it open, saying %q:\n%s", got.verdict(), tt.want, got.text())
			}
		})
	}
}

// What no sample is in the scope of is given up after 300 samples, long before time is
// up, and what there was instead is said.
func TestCheckScope(t *testing.T) {
	on(t, idle)
	tests := []struct{ budget, want string }{
		{"check.burnGuilty below 20% where endpoint=/x", "no sample within endpoint=/x; nothing was judged"},
		{"check.burnGuilty below 20% where tenant=x", "no sample within tenant=x; nothing was judged"},
		{"check.burnGuilty below 20% in check.mixAndRest", "no sample within check.mixAndRest; nothing was judged"},
		{"check.burnGuilty below 20% when process above 900 cores", `idle: judged only when process above 900 cores`},
	}
	var lines []string
	for _, tt := range tests {
		lines = append(lines, tt.budget)
	}
	r, c := replayed(t, budget.Must(lines...))
	p := labelledProfile("ours", 10, []string{checkPackage + ".burnGuilty", checkPackage + ".mix", workPackage + ".(*Worker).loop", workPackage + ".(*Worker).run.func3"})
	p.Sample[0].Label["endpoint"] = []string{"/a"}
	w := windowOf(t, p, block)
	for blocks := range 30 {
		if open := c.open(r, false); open != len(tests) {
			t.Fatalf("after %d blocks only %d budgets are open", blocks, open)
		}
		r.worker.Calls.Add(500)
		c.add(r, w)
	}
	if open := c.open(r, false); open > 0 || c.broken != nil {
		t.Errorf("%d are still open after 300 samples, %v", open, c.broken)
	}
	r.decided(t)
	for i, tt := range tests {
		if o := r.reported(i); o.Verdict != budget.Inconclusive || o.cause != mistake || !strings.Contains(o.Reason, tt.want) || strings.Contains(o.Reason, "raise Checker.Max") {
			t.Errorf("%s: %v, cause %d, %s, want it to say %q", tt.budget, o.Verdict, o.cause, o.Reason, tt.want)
		}
	}
}

var tiny int

// Nobody is named who is not proven to be over the limit, as on a handful of samples.
func TestCheckNamesNobodyEarly(t *testing.T) {
	got := tryCheck(t, Config{Max: 60 * time.Millisecond}, budget.Must("no function above 20% except burnInnocent"), func(context.Context) { mix(0.5) })
	if got.run == nil || got.run.cpu == nil {
		t.Fatalf("%s %s", got.problem, got.text())
	}
	if o := got.run.reported(0); o.Verdict != budget.Inconclusive || len(o.Offenders) > 0 {
		t.Errorf("%s", o)
	}
}

// What there was no time for is said, and is no pass.
func TestCheckNoTimeLeft(t *testing.T) {
	if !apart(t) {
		return
	}
	on(t, idle)
	takes := 100 * time.Millisecond // of the first call, and of the next more than is left on any machine
	got := tryCheckAs(newFakeTB(t), Config{Max: 500 * time.Millisecond}, budget.Must("process below 1GiB per call of allocs", "check.burnGuilty below 20%"),
		func(ctx context.Context) {
			pause(ctx, takes)
			takes = time.Second
		})
	if got.verdict() != "open" || !strings.Contains(got.text(), "no time was left for it. Raise Checker.Max") {
		t.Errorf("%s:\n%s %s", got.verdict(), got.problem, got.text())
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// What ends work ends the test in the same way, on the test's own goroutine.
func TestCheckWorkEnds(t *testing.T) {
	cause := errors.New("disk on fire")
	set := budget.Must("no goroutine leaked")
	for _, tt := range []struct {
		name  string
		work  func(*fakeTB)
		check func(t *testing.T, tb *fakeTB, panicked any)
	}{
		{"panic", func(*fakeTB) { panic(cause) }, func(t *testing.T, _ *fakeTB, panicked any) {
			err, ok := panicked.(error)
			if !ok || !errors.Is(err, cause) || !strings.Contains(err.Error(), "check_test.go") {
				t.Errorf("panicked with %v; want the cause, and work's stack", panicked)
			}
		}},
		{"FailNow", func(tb *fakeTB) { tb.Errorf("wrong answer"); tb.FailNow() }, func(t *testing.T, tb *fakeTB, panicked any) {
			if panicked != nil || !tb.Failed() || !strings.HasSuffix(tb.text(), "wrong answer") {
				t.Errorf("panicked %v, text:\n%s", panicked, tb.text())
			}
		}},
		{"Skip", func(tb *fakeTB) { tb.Skipf("not today") }, func(t *testing.T, tb *fakeTB, panicked any) {
			if panicked != nil || tb.Failed() || !tb.Skipped() {
				t.Errorf("panicked %v, failed %v, skipped %v", panicked, tb.Failed(), tb.Skipped())
			}
		}},
		{"Goexit", func(*fakeTB) { runtime.Goexit() }, func(t *testing.T, tb *fakeTB, panicked any) {
			if panicked != nil || !strings.Contains(tb.text(), "it must return") {
				t.Errorf("panicked %v, text:\n%s", panicked, tb.text())
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tb := &fakeTB{name: t.Name()}
			calls := 0
			panicked, returned := tb.on(func() {
				check(tb, set, func(context.Context) {
					if calls++; calls == 3 {
						tt.work(tb)
					}
				})
			})
			if returned {
				t.Error("the test went on")
			}
			tt.check(t, tb, panicked)
		})
	}
}

func TestCheckBlockedWork(t *testing.T) {
	t.Parallel()
	for _, b := range []string{"process below 5 per call of allocs", "no goroutine leaked"} {
		t.Run(b, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			defer close(release)
			tb := &fakeTB{name: t.Name(), deadline: time.Now().Add(3 * time.Second)}
			_, returned := tb.on(func() {
				check(tb, budget.Must(b), func(context.Context) { <-release })
			})
			if returned || !strings.Contains(tb.text(), "work has not returned") {
				t.Errorf("returned %v:\n%s", returned, tb.text())
			}
		})
	}
}

// Work that lasts as long as its context does is one call, and judged.
func TestCheckWorkOfOneCall(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes as long as its calls")
	}
	got := tryCheck(t, Config{Max: ample}, budget.Must("check.burnGuilty below 10% cumulative"), func(ctx context.Context) {
		for ctx.Err() == nil {
			mixAndRest(ctx, 1)
		}
	})
	if got.verdict() != "fail" {
		t.Errorf("%s:\n%s", got.verdict(), got.text())
	}
}

// What goroutines that work starts do is work's doing.
func TestCheckStartedGoroutines(t *testing.T) {
	if !apart(t) { // from checks that these goroutines might work for
		return
	}
	got := tryCheck(t, Config{Max: ample}, budget.Must("check.burnGuilty below 10% cumulative"), func(ctx context.Context) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			mixAndRest(ctx, 1)
		}()
		<-done
	})
	if got.verdict() != "fail" {
		t.Errorf("%s:\n%s", got.verdict(), got.text())
	}
}

// The last call of work ends well, unless it waits for the end of its context.
func TestCheckLetsTheLastCallReturn(t *testing.T) {
	t.Parallel()
	canceled := 0
	got := tryCheck(t, Config{Max: ample}, budget.Must("heap below 4GiB"), func(ctx context.Context) {
		mix(0)
		select {
		case <-ctx.Done():
			canceled++ // after which nothing is read before the check has ended
		case <-time.After(10 * time.Millisecond):
		}
	})
	if got.verdict() != "pass" || canceled > 0 {
		t.Errorf("%s, %d calls were cut short:\n%s", got.verdict(), canceled, got.text())
	}
}

// The last call has time to return however late it is, up to the deadline of the test.
func TestGrace(t *testing.T) {
	now := time.Now()
	r := &run{harness: harness{t: &fakeTB{}}, subject: subject{usual: time.Second}}
	if got := r.grace(); got != 3*time.Second {
		t.Errorf("%v when time is up", got)
	}
	r.t = &fakeTB{deadline: now.Add(time.Millisecond)}
	if got := r.grace(); got != 0 {
		t.Errorf("%v at the deadline", got)
	}
}

// Where the time of the check is over before it begins, as on a busy machine, that is said
// of its Max and not of a deadline that nobody has set.
func TestCheckOverBeforeItBegins(t *testing.T) {
	t.Parallel()
	got := tryCheck(t, Config{Max: time.Nanosecond}, budget.Must("check.burnGuilty below 50% cumulative"), func(context.Context) { mix(0.5) })
	if got.verdict() == "pass" || strings.Contains(got.problem+got.text(), "deadline") {
		t.Errorf("%s:\n%s %s", got.verdict(), got.problem, got.text())
	}
}
