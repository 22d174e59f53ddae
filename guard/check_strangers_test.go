package guard

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/evidence"
)

// compiles is a handler that does for each request, some times, what should be
// done once.
func compiles(times int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for range times {
			_ = regexp.MustCompile(`^/(order|basket|account)/([a-z0-9]{8,64})/(items|total)\.(json|html)$`)
		}
		_, _ = io.WriteString(w, "ok")
	}
}

// dear compiles for longer than mix takes. Cheap is so little more than allowed that
// what the server does is not beyond doubt by the time that work's own samples pass.
// The race detector makes compiling ten times as long.
func dear() http.HandlerFunc {
	if raceEnabled {
		return compiles(10)
	}
	return compiles(30)
}

func cheap() http.HandlerFunc {
	if raceEnabled {
		return compiles(3)
	}
	return compiles(10)
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

// A server that stood before the check works for it, and a check that does not
// see that must not pass. The same server within work is seen.
func TestCheckServer(t *testing.T) {
	if testing.Short() {
		t.Skip("six checks of servers, each of many blocks")
	}
	needProfiler(t)
	const compile = "regexp.compile below 20%"
	serve := func(t *testing.T, handler http.HandlerFunc) func(context.Context) {
		srv := httptest.NewServer(handler)
		t.Cleanup(srv.Close)
		return func(context.Context) {
			get(t, srv.Client(), srv.URL)
			mix(0) // what work does itself makes a verdict of the little that it sees
		}
	}
	for name, handler := range map[string]http.HandlerFunc{"before": dear(), "before, and cheap": cheap()} {
		t.Run(name, func(t *testing.T) {
			got := tryCheck(t, Checker{Max: ample}, budget.Must(compile), serve(t, handler))
			if got.verdict() != "open" {
				t.Fatalf("%s:\n%s", got.verdict(), got.text())
			}
			for _, want := range []string{"1 budget could not be judged", "INCONCLUSIVE " + compile, "net/http.(*conn).serve", "start them inside work"} {
				if !strings.Contains(got.text(), want) {
					t.Errorf("the text does not say %q:\n%s", want, got.text())
				}
			}
		})
	}
	t.Run("before, and harmless", func(t *testing.T) {
		idle := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }
		got := tryCheck(t, Checker{Max: ample}, budget.Must(compile, "process below 1s per call"), serve(t, idle))
		if got.verdict() != "pass" || strings.Contains(got.text(), "label") {
			t.Errorf("%s:\n%s", got.verdict(), got.text())
		}
	})
	t.Run("within", func(t *testing.T) {
		got := tryCheck(t, Checker{Max: ample}, budget.Must(compile), func(context.Context) {
			srv := httptest.NewServer(dear())
			defer srv.Close()
			for range 5 {
				get(t, srv.Client(), srv.URL)
			}
		})
		if got.verdict() != "fail" {
			t.Errorf("%s:\n%s", got.verdict(), got.text())
		}
	})
	t.Run("work that lasts as long as its context", func(t *testing.T) {
		call := serve(t, dear())
		got := tryCheck(t, Checker{Max: ample}, budget.Must(compile), func(ctx context.Context) {
			for ctx.Err() == nil {
				call(ctx)
			}
		})
		if got.verdict() != "pass" || !strings.Contains(got.text(), "It could not be found out") {
			t.Errorf("%s:\n%s", got.verdict(), got.text())
		}
	})
}

// Other tests have goroutines without a label as well, busy with what the budget
// forbids. That is not this check's doing, and it finds out, whether they are
// busy all the time or now and then.
func TestCheckNeighbour(t *testing.T) {
	needProfiler(t)
	for name, pauses := range map[string]time.Duration{"steady": 0, "unsteady": 30 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			stop, wg := make(chan struct{}), sync.WaitGroup{}
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(pauses):
					}
					for range 20 {
						mix(1)
					}
				}
			})
			got := tryCheck(t, Checker{Max: ample}, budget.Must("guard.burnGuilty below 20%", "guard.burnGuilty below 200us per call"), func(context.Context) { mix(0) })
			close(stop)
			wg.Wait()
			if got.verdict() != "pass" {
				t.Errorf("%s:\n%s", got.verdict(), got.text())
			}
			if got.run == nil || !got.run.cpu.strangers.asked || got.run.cpu.strangers.samples["github.com/profguard/profguard/guard.TestCheckNeighbour.func1.1"] < strangerLeast {
				t.Errorf("the neighbour was not seen: %v", got.run.cpu.strangers)
			}
		})
	}
}

// Work that puts other labels in the place of Check's is not seen by its label.
func TestCheckLostLabel(t *testing.T) {
	if testing.Short() {
		t.Skip("a check of many blocks")
	}
	got := tryCheck(t, Checker{Max: ample}, budget.Must("guard.burnGuilty below 20%"), func(context.Context) {
		pprof.Do(context.Background(), pprof.Labels("endpoint", "/x"), func(context.Context) { mix(1) })
		mix(0)
	})
	// On a crowded machine it is given up for want of samples, and says whose there were.
	known := strings.Contains(got.text(), "guard.burnGuilty at ")
	given := strings.Contains(got.text(), "goroutines without this check's label that began with github.com/profguard/profguard/guard.TestCheckLostLabel.func1")
	if got.verdict() != "open" || !known && !given {
		t.Errorf("%s:\n%s", got.verdict(), got.text())
	}
}

// Strangers who do as much as work are told of, and a few are not.
func TestStrangersAside(t *testing.T) {
	s := strangers{samples: map[string]int64{"net/http.(*conn).serve": 129, "shop.idle": 3}}
	if got := s.aside(200); !strings.Contains(got, "129 samples") || !strings.Contains(got, "(net/http.(*conn).serve)") || !strings.Contains(got, strangerRemedy) {
		t.Errorf("beside 200 of work's: %q", got)
	}
	if got := s.aside(300); got != "" {
		t.Errorf("beside 300 of work's: %q, want nothing", got)
	}
}

// Of budgets that are kept it is said when others did more than work; of those that are
// not, there is more to say.
func TestStrangersBesides(t *testing.T) {
	for _, tt := range []struct {
		own     int64
		verdict budget.Verdict
		asked   bool
		want    string
	}{
		{100, budget.Pass, false, "no figure here has the 129 samples of goroutines without this check's label (net/http.(*conn).serve), beside 100 of work"},
		{130, budget.Pass, false, ""},
		{100, budget.Fail, false, ""},
		{100, budget.Pass, true, ""}, // what they have been asked is said elsewhere
	} {
		c := cpuPhase{trial: &budget.Trial{Samples: tt.own}, strangers: strangers{asked: tt.asked, samples: map[string]int64{"net/http.(*conn).serve": 129}}}
		r := checkRun{plan: plan{cpu: []int{0}}, results: []budget.Result{{Verdict: tt.verdict}}}
		if got := strings.Join(c.besides(&r), ""); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

func TestStrangerRoot(t *testing.T) {
	const g = guardPackage + "."
	for stack, want := range map[string]string{ // the leaf first
		"regexp.compile shop.handle net/http.(*conn).serve":                              "net/http.(*conn).serve",
		"shop.work shop.TestIt.func1 sync.(*WaitGroup).Go.func1":                         "shop.TestIt.func1",
		"shop.work shop.(*pool).run runtime/pprof.Do":                                    "shop.(*pool).run",
		"shop.work shop.TestOther testing.tRunner":                                       "",
		"runtime.scanobject runtime.gcBgMarkWorker":                                      "",
		"runtime.futex runtime.mcall":                                                    "",
		"runtime/pprof.(*profileBuilder).build runtime/pprof.profileWriter":              "",
		"shop.finalize runtime.runFinalizers":                                            "",
		"compress/flate.deflate " + g + "(*Guard).loop":                                  "",
		"encoding/json.Marshal " + hubPackage + ".(*Hub).run":                            "",
		"shop.price shop.TestIt.func1 " + g + "runWork " + g + "startWorker.func1":       "shop.TestIt.func1",
		"sync/atomic.(*Int64).Add " + g + "runWork " + g + "startWorker.func1":           "",
		"runtime.chanrecv " + g + "startWorker.func1":                                    "",
		"shop.total " + g + "(*cpuPhase).take " + g + "(*checkRun).freely shop.on.func1": "",
		"": "",
	} {
		if got, ok := strangerRoot(strings.Fields(stack)); ok != (want != "") || ok && got != want {
			t.Errorf("strangerRoot(%s) = %s, %t; want %q", stack, got, ok, want)
		}
	}
}

// Nobody who is busy on their own account is proven to be work's, however
// unsteadily, and those who are steady are acquitted soon; who is busy with work
// only is proven, in few blocks, also where many of those show nothing.
func TestSuspect(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const enough = 1 / evidence.FailAlpha
	samples := func(mean float64) int64 { // bursty
		return int64(rng.ExpFloat64() * mean)
	}
	starved := func(share, mean float64) int64 { // nothing in a share of the blocks
		if rng.Float64() < share {
			return 0
		}
		return 1 + samples(mean)
	}
	for _, tt := range []struct {
		name     string
		on, off  func(block int) int64
		proven   bool
		soon     int // nine of ten are decided in so many blocks
		runs     int
		mostOpen int // in a hundred, after all blocks
	}{
		{"steady", func(int) int64 { return 2 + samples(1) }, nil, false, 25, 2000, 0},
		{"bursty", func(int) int64 { return samples(2) }, nil, false, 50, 2000, 2},
		{"in phases", func(block int) int64 { return int64(block / 7 % 2 * 3) }, nil, false, 50, 2000, 2},
		{"rare", func(int) int64 { return starved(0.95, 20) }, nil, false, restBlocks, 2000, 100},
		{"work's", func(int) int64 { return 1 + samples(2) }, func(int) int64 { return starved(0.97, 1) }, true, 45, 500, 1},
		{"work's, a third of the blocks show nothing", func(int) int64 { return starved(0.33, 2) }, func(int) int64 { return 0 }, true, 80, 500, 1},
		{"work's, more than half", func(int) int64 { return starved(0.55, 2) }, func(int) int64 { return 0 }, true, 130, 500, 10},
	} {
		off := tt.off
		if off == nil {
			off = tt.on
		}
		var took []float64
		open := 0
		for range tt.runs {
			s, block := newSuspect("", 2), 0
			for ; block < restBlocks && s.capital() > restHopeless && s.capital() < enough; block++ {
				if rng.IntN(2) == 1 {
					s.see(tt.on(block), true)
				} else {
					s.see(off(block), false)
				}
			}
			took = append(took, float64(block))
			switch proven, hopeless := s.capital() >= enough, s.capital() <= restHopeless; {
			case !proven && !hopeless:
				open++
			case proven != tt.proven:
				t.Fatalf("%s: proven %t, want %t: %+v", tt.name, proven, tt.proven, s)
			}
		}
		t.Logf("%s: %v blocks, 90%% of them within %v; %d of %d open", tt.name, quantileOf(took, 0.5), quantileOf(took, 0.9), open, tt.runs)
		if quantileOf(took, 0.9) > float64(tt.soon) || open*100 > tt.mostOpen*tt.runs {
			t.Errorf("%s: nine of ten took %v blocks, want %d; %d of %d are open", tt.name, quantileOf(took, 0.9), tt.soon, open, tt.runs)
		}
	}
}
