package guard

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/foreign"
)

// What a host may do to a guard, and what was seen to kill, brick or mute it.

func TestHostWritesItsMaps(t *testing.T) {
	noLeaks(t)
	where := map[string]string{"endpoint": "/checkout"}
	g, err := Start(Config{
		Registerer: prometheus.NewRegistry(),
		Budgets:    budget.Set{{Subject: "no function", Limit: budget.Amount{Value: 20, Unit: "%"}, Where: where}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Stop()
	var writer sync.WaitGroup
	writer.Go(func() {
		for range 1000 {
			where["endpoint"] = "/elsewhere" // the race detector sees it if the guard reads this map
		}
	})
	for range 100 {
		s := g.Status()
		if got := s.Budgets[0].Result.Budget.Where["endpoint"]; got != "/checkout" {
			t.Fatalf("the budget became %q", got)
		}
		s.Budgets[0].Result.Budget.Where["endpoint"] = "mine" // a Status is the caller's
		_ = s.Budgets[0].Result.Budget.String()
	}
	writer.Wait()
}

type goexitRegistry struct{ *prometheus.Registry }

func (goexitRegistry) Register(prometheus.Collector) error { runtime.Goexit(); return nil }

func TestRegistryEndsTheGoroutine(t *testing.T) {
	var starter sync.WaitGroup
	starter.Go(func() { _, _ = Start(Config{Registerer: goexitRegistry{prometheus.NewRegistry()}}) })
	starter.Wait()
	g, err := Start(Config{Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatalf("after a start that did not return: %v", err)
	}
	g.Stop()
}

type hungRegistry struct {
	*prometheus.Registry
	let chan struct{}
}

func (r hungRegistry) Register(c prometheus.Collector) error {
	<-r.let
	return r.Registry.Register(c)
}

// A registry that hangs does not hang the host's start, and what it does when it
// comes to counts.
func TestRegistryHangs(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		r := hungRegistry{prometheus.NewRegistry(), make(chan struct{})}
		before := time.Now()
		g := w.start(t, Config{Budgets: simple, Registerer: r})
		if d := time.Since(before); d != startWithin {
			t.Errorf("Start took %v, want %v", d, startWithin)
		}
		pass(minute)
		if s := g.Status(); !strings.Contains(s.Reason, "Register has not returned") || s.Windows["ok"] == 0 {
			t.Errorf("reason %q, windows %v", s.Reason, s.Windows)
		}
		wantEvents(t, w, EventDegraded)
		close(r.let)
		pass(second)
		if s := g.Status(); s.Reason != "" || !strings.Contains(scrape(t, r, "text/plain"), "profguard_paused 0") {
			t.Errorf("reason %q after all, and no metrics", s.Reason)
		}
		g.Stop()
	})
}

// A callback that ends its goroutine three times is called no more, and Stop does not wait for it.
func TestCallbackEndsItsGoroutine(t *testing.T) {
	noLeaks(t)
	var delivered atomic.Int64
	queued, said := make(chan bool), ""
	s := newSink("callback", func(Event) {
		<-queued
		delivered.Add(1)
		runtime.Goexit()
	}, func(part string, err error) { said = part + ": " + err.Error() })
	for range 5 {
		s.offer(Event{})
	}
	close(queued)
	finish(s)
	if delivered.Load() != 3 || s.dropped.Load() != 5 || said != "sink callback: its code has failed three times in a row: ended its goroutine" {
		t.Errorf("delivered %d, dropped %d, and said %q; want three delivered, and all dropped and counted", delivered.Load(), s.dropped.Load(), said)
	}
}

// A counter that hangs for minutes and then returns has not used CPU for so long.
func TestHangingCounterCostsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		let, calls := make(chan struct{}), 0.0
		g := w.start(t, Config{Budgets: budget.Must("process below 1s per job"), Every: minute, Window: 10 * second,
			Work: map[string]func() float64{"job": func() float64 {
				if calls++; calls == 2 {
					<-let
				}
				return calls
			}}})
		pass(5 * minute)
		close(let)
		pass(2 * minute)
		if s := g.Status(); s.State != ActivityRunning || s.CPU > second {
			t.Errorf("%s after %v of CPU: %s", s.State, s.CPU, s.Reason)
		}
		g.Stop()
	})
}

func TestBodyIsNotRead(t *testing.T) {
	noLeaks(t)
	g, err := Start(Config{Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Stop()
	t.Setenv("TMPDIR", t.TempDir())
	body := "--x\r\nContent-Disposition: form-data; name=\"seconds\"\r\n\r\n1\r\n--x--\r\n"
	r := httptest.NewRequest("GET", "/profile?seconds=99", strings.NewReader(body))
	r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	r.Host = "localhost"
	w := httptest.NewRecorder()
	g.Handler().ServeHTTP(w, r)
	if w.Code != 400 || !bytes.Contains(w.Body.Bytes(), []byte("99")) {
		t.Errorf("status %d, %s; want a refusal of seconds=99, whatever the body says", w.Code, w.Body)
	}
	if files, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(files) > 0 {
		t.Errorf("left %v in the temporary folder, %v", files, err)
	}
}

func TestStateAfterStop(t *testing.T) {
	if state := spentAfterStop(); state != ActivityStopped {
		t.Errorf("a window that ends after Stop makes the guard %q", state)
	}
}

func TestBaselineWithNilType(t *testing.T) {
	_, err := completed(Config{Baseline: Baseline{Profile: &profile.Profile{SampleType: []*profile.ValueType{nil}}}})
	if err == nil || !strings.Contains(err.Error(), "Baseline") {
		t.Errorf("a baseline with a nil sample type: %v", err)
	}
}

// A panic under the lock would be a bug of ours. It ends a window, and not each
// Status and Stop from then on.
func TestFault_55_PanicUnderTheLock(t *testing.T) {
	for name, report := range brokenReports() {
		g := newWorld().still(t, Config{Budgets: simple})
		if err := foreign.Call(func() error { report(g); return nil }); err == nil {
			t.Errorf("%s: no panic, so the test proves nothing", name)
		}
		answered := make(chan bool)
		go func() { g.Status(); close(answered) }()
		select {
		case <-answered:
		case <-time.After(patience):
			t.Fatalf("%s: the lock is held for ever", name)
		}
	}
}

// hostWriter is a ResponseWriter that panics when it is written to.
type hostWriter struct {
	*httptest.ResponseRecorder
	with any
}

func (w hostWriter) Write([]byte) (int, error) { panic(w.with) }

// How the host's writer gives up is between it and the server; any other panic
// stays here, that of the apology included.
func TestFault_55_WriterPanics(t *testing.T) {
	for _, with := range []any{http.ErrAbortHandler, "no room", errors.ErrUnsupported} {
		w := newWorld()
		g := w.still(t, Config{Budgets: simple})
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = "localhost"
		var got any
		func() {
			defer func() { got = recover() }()
			g.Handler().ServeHTTP(hostWriter{httptest.NewRecorder(), with}, r)
		}()
		passed, counted := got == http.ErrAbortHandler, g.Status().Panics["page"]
		if abort := with == http.ErrAbortHandler; passed != abort || (counted == 0) != abort || got != nil && !passed {
			t.Errorf("a writer that panics with %v: the server sees %v, %d panics are counted", with, got, counted)
		}
	}
}
