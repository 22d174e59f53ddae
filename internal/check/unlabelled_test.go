package check

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
	if !apart(t) {
		return
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
			got := tryCheck(t, Config{Max: ample}, budget.Must(compile), serve(t, handler))
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
		got := tryCheck(t, Config{Max: ample}, budget.Must(compile, "process below 1s per call"), serve(t, idle))
		if got.verdict() != "pass" || strings.Contains(got.text(), "label") {
			t.Errorf("%s:\n%s", got.verdict(), got.text())
		}
	})
	t.Run("within", func(t *testing.T) {
		got := tryCheck(t, Config{Max: ample}, budget.Must(compile), func(context.Context) {
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
		got := tryCheck(t, Config{Max: ample}, budget.Must(compile), func(ctx context.Context) {
			for ctx.Err() == nil {
				call(ctx)
			}
		})
		if got.verdict() != "skipped" || !strings.Contains(got.text(), "not known whether they work for this check") {
			t.Errorf("%s:\n%s", got.verdict(), got.text())
		}
	})
}

// Other tests have goroutines without a label as well, busy with what the budget
// forbids. That is not this check's doing, and it finds out, whether they are
// busy all the time or now and then.
func TestCheckNeighbour(t *testing.T) {
	if !apart(t) {
		return
	}
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
			got := tryCheck(t, Config{Max: ample}, budget.Must("check.burnGuilty below 20%", "check.burnGuilty below 200us per call"), func(context.Context) { mix(0) })
			close(stop)
			wg.Wait()
			if got.verdict() != "pass" {
				t.Errorf("%s:\n%s", got.verdict(), got.text())
			}
			if got.run == nil || got.run.cpu.unlabelled.why != unknown || got.run.cpu.unlabelled.samples[checkPackage+".TestCheckNeighbour.func1.1"] < unlabelledLeast {
				t.Errorf("the neighbour was not seen: %v", got.run.cpu.unlabelled)
			}
		})
	}
}

// Work that puts other labels in the place of Check's is not seen by its label.
func TestCheckLostLabel(t *testing.T) {
	if testing.Short() {
		t.Skip("a check of many blocks")
	}
	if !apart(t) {
		return
	}
	on(t, idle) // a busy machine alone would have it skipped
	got := tryCheck(t, Config{Max: ample}, budget.Must("check.burnGuilty below 20%"), func(context.Context) {
		pprof.Do(context.Background(), pprof.Labels("endpoint", "/x"), func(context.Context) { mix(1) })
		mix(0)
	})
	// On a crowded machine it is given up for want of samples, and says whose there were.
	known := strings.Contains(got.text(), "check.burnGuilty at ")
	given := strings.Contains(got.text(), "goroutines without this check's label that began with "+checkPackage+".TestCheckLostLabel.func1")
	if got.verdict() != "open" || !known && !given {
		t.Errorf("%s:\n%s", got.verdict(), got.text())
	}
}

// The function a goroutine began with says whose it is.
func TestRootOf(t *testing.T) {
	const g = checkPackage + "."
	for stack, want := range map[string]string{ // the leaf first
		"regexp.compile shop.handle net/http.(*conn).serve":                         "net/http.(*conn).serve",
		"shop.work shop.TestIt.func1 sync.(*WaitGroup).Go.func1":                    "shop.TestIt.func1",
		"shop.work shop.(*pool).run runtime/pprof.Do":                               "shop.(*pool).run",
		"shop.work shop.TestOther testing.tRunner":                                  "",
		"runtime.scanobject runtime.gcBgMarkWorker":                                 "",
		"runtime.futex runtime.mcall":                                               "",
		"runtime/pprof.(*profileBuilder).build runtime/pprof.profileWriter":         "",
		"shop.finalize runtime.runFinalizers":                                       "",
		"compress/flate.deflate " + guardPackage + ".(*Guard).loop":                 "",
		"encoding/json.Marshal " + profilerPackage + ".(*Hub).run":                  "",
		"shop.price shop.TestIt.func1 " + g + "runWork " + g + "startWorker.func1":  "shop.TestIt.func1",
		"sync/atomic.(*Int64).Add " + g + "runWork " + g + "startWorker.func1":      "",
		"runtime.chanrecv " + g + "startWorker.func1":                               "",
		"shop.total " + g + "(*cpuPhase).take " + g + "(*run).freely shop.on.func1": "",
		"": "",
	} {
		if got, ok := rootOf(strings.Fields(stack)); ok != (want != "") || ok && got != want {
			t.Errorf("rootOf(%s) = %s, %t; want %q", stack, got, ok, want)
		}
	}
}

// What is busy on its own account, and however unsteadily, is not taken for work's, and
// mostly found to be its own soon. What follows work is proven, also where many blocks
// show nothing.
func TestFollower(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const alpha = evidence.FailAlpha
	samples := func(mean float64) int64 { return int64(rng.ExpFloat64() * mean) } // bursty
	starved := func(share, mean float64) int64 {                                  // nothing in a share of the blocks
		if rng.Float64() < share {
			return 0
		}
		return 1 + samples(mean)
	}
	for _, tt := range []struct {
		name        string
		on, off     func(block int) int64
		works       bool
		soon        int // nine of ten are decided in so many pairs
		mostUnknown int // in a hundred, after all pairs
	}{
		{"steady", func(int) int64 { return 2 + samples(1) }, nil, false, 12, 0},
		{"bursty", func(int) int64 { return samples(2) }, nil, false, 20, 0},
		{"in phases", func(block int) int64 { return int64(block / 7 % 2 * 3) }, nil, false, 40, 0},
		{"rare", func(int) int64 { return starved(0.95, 20) }, nil, false, pairsMost, 40},
		{"work's", func(int) int64 { return 1 + samples(2) }, func(int) int64 { return starved(0.97, 1) }, true, 30, 1},
		{"work's, a third of the blocks show nothing", func(int) int64 { return starved(0.33, 2) }, func(int) int64 { return 0 }, true, 40, 1},
		{"work's, more than half", func(int) int64 { return starved(0.55, 2) }, func(int) int64 { return 0 }, true, pairsMost, 20},
	} {
		off := tt.off
		if off == nil {
			off = tt.on
		}
		const runs = 500
		var took []float64
		unknown := 0
		for range runs {
			var f follower
			pair := 0
			for ; pair < pairsMost && !f.follows(alpha) && !f.isOwn(); pair++ {
				if first := rng.IntN(2); first == 1 {
					on := tt.on(2 * pair)
					f.see(on, off(2*pair+1))
				} else {
					calm := off(2 * pair)
					f.see(tt.on(2*pair+1), calm)
				}
			}
			took = append(took, float64(pair))
			switch works, own := f.follows(alpha), f.isOwn(); {
			case !works && !own:
				unknown++
			case works != tt.works:
				t.Fatalf("%s: work's %t, want %t: %+v", tt.name, works, tt.works, f)
			}
		}
		t.Logf("%s: %v pairs, 90%% of them within %v; %d of %d unknown", tt.name, quantileOf(took, 0.5), quantileOf(took, 0.9), unknown, runs)
		if quantileOf(took, 0.9) > float64(tt.soon) || unknown*100 > tt.mostUnknown*runs {
			t.Errorf("%s: nine of ten took %v pairs, want %d; %d of %d are unknown", tt.name, quantileOf(took, 0.9), tt.soon, unknown, runs)
		}
	}
}
