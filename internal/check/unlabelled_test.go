package check

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
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

// A server that stood before the check works for it, and work that puts other labels in
// the place of Check's is not seen by its label. A check that does not see these must not
// pass. The same server within work is seen.
func TestCheckServer(t *testing.T) {
	if testing.Short() {
		t.Skip("four checks of servers, each of many blocks")
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
	t.Run("before, and a lost label", func(t *testing.T) {
		if !apart(t) {
			return
		}
		call := serve(t, serving(1))
		got := tryCheck(t, Config{Max: ample}, budget.Must(guilty), func(ctx context.Context) {
			pprof.SetGoroutineLabels(ctx) // the last call has lost them
			call(ctx)
			pprof.Do(context.Background(), pprof.Labels("endpoint", "/x"), func(context.Context) { mix(1) })
		})
		if got.verdict() != "open" {
			t.Fatalf("%s:\n%s", got.verdict(), got.text())
		}
		for _, want := range []string{"1 could not be judged", "INCONCLUSIVE " + guilty, "net/http.(*conn).serve",
			checkPackage + ".TestCheckServer.func2.1", "start them inside work"} {
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
	t.Run("within", func(t *testing.T) {
		if !apart(t) {
			return
		}
		got := tryCheck(t, Config{Max: ample}, budget.Must("check.burnGuilty below 10%"), func(ctx context.Context) {
			srv := httptest.NewServer(serving(1))
			defer srv.Close()
			for range restEvery {
				get(t, srv.Client(), srv.URL)
			}
			pause(ctx, restTime)
		})
		if got.verdict() != "fail" {
			t.Errorf("%s:\n%s", got.verdict(), got.text())
		}
	})
	// So little more than allowed that what the server does is not beyond doubt by the
	// time that work's own samples pass.
	t.Run("work that lasts as long as its context", func(t *testing.T) {
		if !apart(t) {
			return
		}
		call := serve(t, serving(0.54))
		got := tryCheck(t, Config{Max: ample}, budget.Must(guilty), func(ctx context.Context) {
			for ctx.Err() == nil {
				call(ctx)
				pause(ctx, 2*time.Millisecond)
			}
		})
		if got.verdict() != "skipped" || !strings.Contains(got.text(), "not known whether they work for this check") {
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

// Other tests have goroutines without a label as well, busy with what the budget
// forbids. That is not this check's doing, and it finds out, of one that is busy all
// the time and of one that is so now and then.
func TestCheckNeighbour(t *testing.T) {
	if !apart(t) {
		return
	}
	needProfiler(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // a block needs a sample, and no core of its own
	stop, wg := make(chan struct{}), sync.WaitGroup{}
	busy := func(pauses time.Duration) {
		for {
			select {
			case <-stop:
				return
			case <-time.After(pauses):
			}
			for range 100 {
				mix(1)
			}
		}
	}
	wg.Go(func() { busy(0) })
	wg.Go(func() { busy(30 * time.Millisecond) })
	got := tryCheck(t, Config{Max: ample}, budget.Must("check.burnGuilty below 12%", "check.burnGuilty below 500us per call"), func(context.Context) { mix(0) })
	close(stop)
	wg.Wait()
	if got.verdict() != "pass" {
		t.Errorf("%s:\n%s", got.verdict(), got.text())
	}
	if got.run == nil || got.run.cpu == nil {
		t.Fatalf("no CPU was sampled: %v", got.run)
	}
	if len(got.run.cpu.withUnlabelled(got.run, got.run.cpu.unlabelled.busiest())) == 0 {
		t.Error("no budget is exceeded with the neighbours")
	}
	if seen := work.OfRoots(got.run.cpu.unlabelled...); seen[checkPackage+".TestCheckNeighbour.func2"] < enough || seen[checkPackage+".TestCheckNeighbour.func3"] < enough {
		t.Errorf("a neighbour was not seen: %v", seen)
	}
}

// judgedWindows is a check of one budget, after n windows with a profile, each of 100 calls.
func judgedWindows(t *testing.T, sentence string, n int, p *profile.Profile) (*run, *cpuPhase) {
	t.Helper()
	r, c := replayed(t, budget.Must(sentence))
	w := windowOf(t, p, block)
	for range n {
		r.worker.Calls.Add(100)
		c.add(r, w)
	}
	if err := c.results(r); err != nil {
		t.Fatal(err)
	}
	return r, c
}

// Where the label is lost for good, no sample is work's, and it is said whose there were.
func TestCheckLostLabel(t *testing.T) {
	on(t, idle)
	p := labelledProfile("ours", 10, []string{checkPackage + ".burnGuilty", checkPackage + ".TestIt.func1", workPackage + ".(*Worker).loop", workPackage + ".(*Worker).run.func3"})
	p.Sample[0].Label = map[string][]string{"endpoint": {"/x"}}
	r, c := judgedWindows(t, "check.burnGuilty below 12%", 30, p)
	const whose = "goroutines without this check's label that began with " + checkPackage + ".TestIt.func1"
	if o := r.reported(0); o.Verdict != budget.Inconclusive || o.cause != mistake || !strings.Contains(o.Reason, whose) {
		t.Errorf("%v, cause %d, %s, want it to say %q", o.Verdict, o.cause, o.Reason, whose)
	}
	c.attribute(r, false)
	if o := r.reported(0); o.Verdict != budget.Inconclusive || o.cause != unknown || !strings.Contains(o.Reason, "check.burnGuilty") || !strings.Contains(o.Reason, whose) {
		t.Errorf("with what has no label: %v, cause %d, %s, want it to say %q", o.Verdict, o.cause, o.Reason, whose)
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
	if o := r.reported(0); o.Verdict != budget.Pass || len(c.unlabelled.busiest()) != 1 {
		t.Fatalf("%s, roots %v, want it to pass beside one root", o.Result, c.unlabelled.busiest())
	}
	c.attribute(r, false)
	if o := r.reported(0); o.Verdict != budget.Pass {
		t.Errorf("with what has no label: %s", o.Result)
	}
}

// A goroutine that may work for the check takes a verdict back, whether or not another one
// certainly does.
func TestTakeBack(t *testing.T) {
	const calm, guilty = checkPackage + ".serveCalm", checkPackage + ".serveGuilty"
	for _, tt := range []struct {
		name           string
		follow, unsure []string
		want           budget.Verdict
		why            cause
		says           string
	}{
		{"none", nil, nil, budget.Pass, noTime, ""},
		{"harmless", []string{calm}, nil, budget.Pass, noTime, ""},
		{"unsure", nil, []string{guilty}, budget.Inconclusive, unknown, "it is not known whether they work for this check"},
		{"unsure beside a harmless one", []string{calm}, []string{guilty}, budget.Inconclusive, unknown, "it is not known whether they work for this check"},
		{"certain", []string{guilty}, []string{calm}, budget.Inconclusive, mistake, "which run while work runs"},
	} {
		p := labelledProfile("ours", 10, []string{checkPackage + ".mix", checkPackage + ".TestIt.func1", workPackage + ".(*Worker).loop", workPackage + ".(*Worker).run.func3"},
			[]string{checkPackage + ".burnCalm", calm + ".inner", calm}, []string{checkPackage + ".burnGuilty", guilty + ".inner", guilty})
		p.Sample[1].Label, p.Sample[2].Label = nil, nil
		r, c := judgedWindows(t, "check.burnGuilty below 12%", 30, p)
		c.takeBack(r, tt.follow, tt.unsure)
		if o := r.reported(0); o.Verdict != tt.want || o.cause != tt.why || !strings.Contains(o.Reason, tt.says) {
			t.Errorf("%s: %v, cause %d, %s; want %v, %d and %q", tt.name, o.Verdict, o.cause, o.Reason, tt.want, tt.why, tt.says)
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
		r, c := judgedWindows(t, sentence, 30, p)
		c.attribute(r, true)
		if o := r.reported(0); o.Verdict != budget.Fail || strings.Contains(o.Reason, note) != noted || len(o.Offenders) == 0 {
			t.Errorf("%s: %v, %s, want a failure, and %q in it: %t", sentence, o.Verdict, o.Reason, note, noted)
		}
	}
}
