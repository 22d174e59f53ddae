package check

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
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
