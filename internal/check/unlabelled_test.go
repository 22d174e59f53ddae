package check

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/work"
)

// serving spends a share of what a request takes in burnGuilty.
func serving(share float64) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		mix(share)
		_, _ = io.WriteString(w, "ok")
	}
}

func get(t *testing.T, client *http.Client, url string) {
	resp, err := client.Get(url)
	if err != nil {
		t.Error(err)
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
}

// A server that stood before the check works for it, and is not seen by its label. A check that
// does not see it must not pass, unless it does nothing that matters.
func TestCheckServer(t *testing.T) {
	if testing.Short() {
		t.Skip("two checks of servers, each of many blocks")
	}
	t.Parallel()
	const guilty = "check.burnGuilty below 20%"
	serve := func(t *testing.T, handler http.HandlerFunc) func(context.Context) {
		srv := httptest.NewServer(handler)
		t.Cleanup(srv.Close)
		return func(context.Context) {
			get(t, srv.Client(), srv.URL)
			mix(0) // what work does itself makes a verdict of the little that it sees
		}
	}
	t.Run("before", func(t *testing.T) {
		if !apart(t) {
			return
		}
		call := serve(t, serving(1))
		got := tryCheck(t, Config{Max: ample}, budget.Must(guilty), call)
		if got.verdict() != "skipped" {
			t.Fatalf("%s:\n%s", got.verdict(), got.text())
		}
		for _, want := range []string{"1 not decided", "INCONCLUSIVE " + guilty, "net/http.(*conn).serve", "start them inside work"} {
			if !strings.Contains(got.text(), want) {
				t.Errorf("the text does not say %q:\n%s", want, got.text())
			}
		}
	})
	t.Run("before, and harmless", func(t *testing.T) {
		if !apart(t) {
			return
		}
		call := serve(t, serving(0))
		got := tryCheck(t, Config{Max: ample}, budget.Must(guilty, "process below 1s per call"), func(ctx context.Context) {
			for range restEvery / 2 {
				call(ctx)
			}
			pause(ctx, restTime)
		})
		if got.verdict() != "pass" || strings.Contains(got.text(), "label") {
			t.Errorf("%s:\n%s", got.verdict(), got.text())
		}
	})
}

// Goroutines that a server leaves which was started before the check have no label. No budget on
// goroutines is kept because they are not seen. A server that leaves none changes nothing.
func TestCheckLeakingServer(t *testing.T) {
	if !apart(t) { // from tests that start goroutines without a label meanwhile
		return
	}
	for _, leaks := range []bool{true, false} {
		requests, stop := make(chan chan bool), make(chan bool)
		defer close(requests)
		defer close(stop)
		go func() {
			for answer := range requests {
				if leaks {
					go func() { <-stop }()
				}
				answer <- true
			}
		}()
		got := tryCheck(t, Config{Max: ample}, budget.Must("no goroutine leaked", "goroutines steady", "goroutines below 100", "heap below 4GiB"), func(context.Context) {
			answer := make(chan bool)
			requests <- answer
			<-answer
			time.Sleep(time.Millisecond) // or each look at the goroutines takes long
		})
		want, says := "pass", "kept"
		if leaks {
			want, says = "skipped", "began with "+checkPackage+".TestCheckLeakingServer.func"
		}
		if got.verdict() != want || strings.Count(got.text(), says) != map[bool]int{true: 3, false: 1}[leaks] {
			t.Errorf("a server that leaks (%v): %s, want %s:\n%s", leaks, got.verdict(), want, got.text())
		}
	}
}

// judgedWindows is a check of one budget, after n windows with a profile, each of 100 calls.
func judgedWindows(t *testing.T, sentence string, n int, p *profile.Profile) (*run, *cpuPhase) {
	t.Helper()
	r, c := replayed(t, budget.Must(sentence))
	p.DurationNanos = block.Nanoseconds() // also after a merge
	w := windowOf(t, p, min(block, time.Duration(10*tableOf(p).Count())*time.Millisecond))
	for range n {
		r.worker.Calls.Add(100)
		c.add(r, w)
	}
	r.decided(t)
	return r, c
}

// ownStack is a stack of work that [replayed] gives to its worker, the leaf first.
func ownStack(leaf string) []string {
	return []string{checkPackage + "." + leaf, replayedWork, workPackage + ".(*Worker).loop", workPackage + ".(*Worker).run.func3"}
}

// Work that has lost the label is told so, on a busy machine too, and the check does not wait for
// samples that cannot come. If another check calls the same function, it is not known whose the
// samples are.
func TestCheckLostLabel(t *testing.T) {
	for _, tt := range []struct {
		name    string
		kept    int64 // samples with the label in a window, beside 10 without it
		machine func() time.Duration
		twin    bool
		verdict budget.Verdict
		why     cause
		says    string
	}{
		{"all", 0, idle, false, budget.Inconclusive, mistake, "work replaces this check's label: 300 CPU samples of " + replayedWork + " do not have it, and 0 do. Pass ctx"},
		{"all, on a busy machine", 0, crowded, false, budget.Inconclusive, mistake, "work replaces this check's label"},
		{"a part", 20, crowded, false, budget.Inconclusive, mistake, "and 600 do. Pass ctx"},
		{"so little that it does not matter", 2000, idle, false, budget.Pass, noTime, ""},
		{"or that of a subtest beside it", 20, idle, true, budget.Inconclusive, unknown, "that began with " + replayedWork},
	} {
		t.Run(tt.name, func(t *testing.T) {
			on(t, tt.machine)
			if tt.twin {
				twin := work.New(t.Context(), "twin", calledWork)
				defer twin.Stop(0, 0)
			}
			p := labelledProfile("ours", 10, ownStack("burnGuilty"))
			p.Sample[0].Label = map[string][]string{"endpoint": {"/x"}}
			if tt.kept > 0 {
				p = merged(p, labelledProfile("ours", tt.kept, ownStack("burnInnocent")))
			}
			r, c := judgedWindows(t, "check.burnGuilty below 12%", 30, p)
			if open := c.open(r, false); tt.kept == 0 && open > 0 {
				t.Error("it waits for samples that cannot come")
			}
			if o := r.reported(0); o.Verdict != tt.verdict || o.cause != tt.why || !strings.Contains(o.Reason, tt.says) {
				t.Errorf("%v, cause %d, %s; want %v, %d and %q", o.Verdict, o.cause, o.Reason, tt.verdict, tt.why, tt.says)
			}
		})
	}
}

// Samples of others that keep the budget, by all that they show, take no verdict back because
// they are few.
func TestFewUnlabelled(t *testing.T) {
	for own, want := range map[int64]budget.Verdict{2: budget.Pass, 1: budget.Inconclusive} { // with the others, a third or half is guilty
		p := merged(labelledProfile("ours", own, ownStack("burnInnocent")), labelledProfile("", 1, []string{checkPackage + ".burnGuilty", checkPackage + ".serve"}))
		r, _ := judgedWindows(t, "check.burnGuilty below 40%", 20, p)
		if o := r.reported(0); o.Verdict != want {
			t.Errorf("%d of %d samples: %s, want %v", 1, own+1, o.Result, want)
		}
	}
}

// A few samples without the label are proof that a function is not absent. A few of something else are none.
func TestFewUnlabelledAbsent(t *testing.T) {
	on(t, idle)
	for others, want := range map[string]budget.Verdict{"burnGuilty": budget.Inconclusive, "burnInnocent": budget.Pass} {
		p := merged(labelledProfile("ours", 100, ownStack("burnInnocent")), labelledProfile("", 1, []string{checkPackage + "." + others, checkPackage + ".serve"}))
		r, _ := judgedWindows(t, "check.burnGuilty absent", 4, p)
		if o := r.reported(0); o.Verdict != want || want == budget.Inconclusive && !strings.Contains(o.Reason, "4 samples of goroutines without this check's label that began with "+checkPackage+".serve") {
			t.Errorf("four samples of %s: expected %v, found %s", others, want, o.Result)
		}
	}
}

// While a baseline is being written, samples without the label take nothing back.
func TestUpdateBesideUnlabelled(t *testing.T) {
	p := merged(labelledProfile("ours", 10, ownStack("burnInnocent")), labelledProfile("", 10, []string{checkPackage + ".burnGuilty", checkPackage + ".serve"}))
	for _, update := range []bool{true, false} {
		r, _ := judgedWindows(t, "check.burnGuilty below 12%", 30, p)
		r.Update = update
		r.outcomes = r.decide()
		if o := r.reported(0); (o.Verdict == budget.Pass) != update {
			t.Errorf("with Update %t: %s", update, o.Result)
		}
	}
}

// Samples without the label that are of something else take no verdict back. With them there
// are too few for a fixed number of samples to pass, which blocks had.
func TestHarmlessUnlabelled(t *testing.T) {
	on(t, idle)
	ours := labelledProfile("ours", 10, []string{checkPackage + ".burnInnocent", checkPackage + ".TestIt.func1", workPackage + ".(*Worker).loop", workPackage + ".(*Worker).run.func3"})
	others := labelledProfile("", 1, []string{checkPackage + ".burnInnocent", checkPackage + ".TestMain.func1"})
	others.Sample[0].Label = nil
	both, err := profile.Merge([]*profile.Profile{ours, others})
	if err != nil {
		t.Fatal(err)
	}
	r, c := judgedWindows(t, "check.burnGuilty absent", 20, both)
	if len(c.busiest(enough)) != 1 {
		t.Fatalf("roots %v, want one", c.busiest(enough))
	}
	if o := r.reported(0); o.Verdict != budget.Pass {
		t.Errorf("with what has no label: %s", o.Result)
	}
}

// Goroutines that may work for the check take a pass back, and the report names them: those
// without a label, those that the runtime calls finalizers and cleanups with, C threads that call
// back, and those that another running check has started (fault 77). What that check itself calls
// is its own.
func TestFault_77_84_OthersGoroutines(t *testing.T) {
	const calm, guilty, other = checkPackage + ".serveCalm", checkPackage + ".serveGuilty", "TestOther#01"
	running := work.New(t.Context(), other+"#0badcafe", nil)
	defer running.Stop(0, 0)
	for _, tt := range []struct {
		name, label string
		stack       []string // above it, the leaf burns
		whose       string   // "": nobody's that matters
	}{
		{"a pool", "", []string{guilty + ".inner", guilty}, guilty},
		{"a finalizer", "", []string{checkPackage + ".finalize", "runtime.runFinalizers"}, checkPackage + ".finalize"},
		{"a cleanup", "", []string{checkPackage + ".release", "runtime.AddCleanup[go.shape.int].func1", "runtime.runCleanups"}, checkPackage + ".release"},
		{"a C thread calls back", "", []string{checkPackage + ".goWork", "_cgoexp_0123456789ab_goWork", "runtime.cgocallbackg1", "runtime.cgocallbackg", "runtime.cgocallback"}, checkPackage + ".goWork"},
		{"a pool of a check that is over", "TestOver#01", []string{guilty}, guilty},
		{"a pool of a running check", other + "#0badcafe", []string{guilty}, guilty + " of the check in " + other},
		{"the work of a running check", other + "#0badcafe", []string{checkPackage + ".TestOther.func1", workPackage + ".(*Worker).loop", workPackage + ".(*Worker).run.func3"}, ""},
		{"the work of a check that has just ended", "TestOver#01", []string{checkPackage + ".TestOther.func1", workPackage + ".(*Worker).loop", workPackage + ".(*Worker).run.func3"}, ""},
		{"another test", "", []string{checkPackage + ".TestOther", "testing.tRunner"}, ""},
	} {
		for _, leaf := range []string{"burnGuilty", "burnCalm"} {
			p := labelledProfile(tt.label, 10, append([]string{checkPackage + "." + leaf}, tt.stack...))
			p = merged(labelledProfile("ours", 10, ownStack("mix")), p, labelledProfile("", 10, []string{checkPackage + ".burnCalm", calm}))
			r, _ := judgedWindows(t, "check.burnGuilty below 12%", 30, p)
			o := r.reported(0)
			if leaf == "burnCalm" || tt.whose == "" {
				if o.Verdict != budget.Pass {
					t.Errorf("%s, %s: %s", tt.name, leaf, o.Result)
				}
				continue
			}
			if o.Verdict != budget.Inconclusive || o.cause != unknown || !strings.Contains(o.Reason, tt.whose) || !strings.Contains(o.Reason, "Check cannot tell whether these work for it") {
				t.Errorf("%s: %v, cause %d, %s; want it undecided, naming %q", tt.name, o.Verdict, o.cause, o.Reason, tt.whose)
			}
		}
	}
}

// Most of the work is done by goroutines without the label, and the rest breaks the budget. The
// failure stays, and says at what share it is with them, if that keeps the budget.
func TestFailureBesideUnlabelled(t *testing.T) {
	const calm = checkPackage + ".serveCalm"
	const note = "; with 120 samples of goroutines without this check's label that began with " + calm + ", check.burnGuilty at 33.33%: if they work for this check"
	for sentence, noted := range map[string]bool{
		"check.burnGuilty below 40%":          true,
		"no function above 40%":               false, // another one is above it with them
		"check.burnGuilty below 30%":          false,
		"check.burnGuilty absent":             false,
		"check.burnGuilty below 1us per call": false,
	} {
		busy := []string{checkPackage + ".burnCalm", calm + ".inner", calm}
		p := labelledProfile("ours", 2, []string{checkPackage + ".burnGuilty", checkPackage + ".TestIt.func1", workPackage + ".(*Worker).loop", workPackage + ".(*Worker).run.func3"}, busy, busy)
		p.Sample[1].Label, p.Sample[2].Label = nil, nil
		r, _ := judgedWindows(t, sentence, 30, p)
		if o := r.reported(0); o.Verdict != budget.Fail || strings.Contains(o.Reason, note) != noted || len(o.Offenders) == 0 {
			t.Errorf("%s: %v, %s, want a failure, and %q in it: %t", sentence, o.Verdict, o.Reason, note, noted)
		}
	}
}
