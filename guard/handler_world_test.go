package guard

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/dump"
	"github.com/profguard/profguard/internal/hub"
)

// stillGuard is a guard without a loop: its pages show the budgets as they were
// put there, and its live profiles are what capture says.
func stillGuard(t testing.TB, capture func(context.Context, time.Duration) (hub.Window, error), entries ...*entry) *Guard {
	t.Helper()
	g := &Guard{
		module: "example.com/shop", done: make(chan struct{}), ended: make(chan struct{}), cancel: func() {},
		seams: seams{capture: capture},
		panel: &panel{entries: entries},
	}
	g.status = Status{State: stateRunning, Started: time.Now(), Windows: map[string]int{"ok": 3}, Dumps: map[string]int64{}}
	return g
}

// standingOf is a budget's standing after one result.
func standingOf(sentence string, state alert.State, r budget.Result) *entry {
	b := budget.Must(sentence)[0]
	r.Budget = b
	name := b.Name
	if name == "" {
		name = b.String()
	}
	return &entry{name: name, budget: b, alert: alert.Alert{State: state}, since: time.Now(), result: r,
		verdicts: map[string]int64{r.Verdict.String(): 1}}
}

// offendedBy is a failing result with one offender.
func offendedBy(function string) budget.Result {
	return budget.Result{
		Verdict: budget.Fail, Share: 0.7, Low: 0.6, High: 0.8, Limit: 0.2, Unit: "ratio", Samples: 900, Hits: 630, Over: 1,
		Reason: function + " is at 70%",
		Offenders: []budget.Offender{{
			Frame: budget.Frame{Function: function, File: "print.go", Line: 3, Share: 0.7, Value: 6.3}, Low: 0.6, High: 0.8,
			Blame:   budget.Frame{Function: "main.page", File: "page.go", Line: 46},
			Callers: []budget.Frame{{Function: "main.page", Share: 0.9}},
		}},
	}
}

// instant is a capture that is there at once.
func instant(data []byte) func(context.Context, time.Duration) (hub.Window, error) {
	return func(_ context.Context, d time.Duration) (hub.Window, error) {
		w := hub.Window{Data: data, Start: time.Now(), Elapsed: d, Slices: 1}
		return w, nil
	}
}

// withDump keeps one dump of the guard's and returns its id.
func withDump(t testing.TB, g *Guard, function string) string {
	t.Helper()
	g.cfg.DumpDir = t.TempDir()
	store, err := dump.Open(g.cfg.DumpDir, dump.Keep{})
	if err != nil {
		t.Fatal(err)
	}
	saved := make(chan dump.Outcome, 1)
	g.dumps = dump.NewWriter(store, func(o dump.Outcome) { saved <- o })
	t.Cleanup(func() { g.dumps.Close(context.Background()) })
	if _, err := g.dumps.Offer(dump.Dump{
		Profile: cpuWindow(fullCore).Data,
		Sidecar: dump.Sidecar{
			Budget: "debug-print", Sentence: "debug-print: no function above 20% cumulative", Verdict: "fail", Share: 0.7, Low: 0.6, High: 0.8, Limit: 0.2,
			Reason: function + " is at 70%", Violation: "v", Samples: 900,
			Offenders: []dump.Offender{{Name: function, Share: 0.7, CalledFrom: "main.page page.go:46"}},
		},
		Companions: []dump.Companion{{Name: "goroutine.pb.gz", Data: []byte("companion")}},
	}); err != nil {
		t.Fatal(err)
	}
	o := <-saved
	if o.Err != nil {
		t.Fatal(o.Err)
	}
	return string(o.ID)
}

// ask makes a request of a handler as a client on this machine does.
func ask(h http.Handler, method, target string, header ...string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "127.0.0.1:8080"
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t testing.TB, r *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// blocked is a capture that lasts until it is let go or canceled.
type blocked struct {
	began    chan struct{} // receives when a capture begins
	let      chan struct{} // closed to let captures go
	canceled chan struct{} // receives when one is canceled
	data     []byte
}

func newBlocked(data []byte) *blocked {
	return &blocked{began: make(chan struct{}, 100), let: make(chan struct{}), canceled: make(chan struct{}, 100), data: data}
}

func (b *blocked) capture(ctx context.Context, d time.Duration) (hub.Window, error) {
	b.began <- struct{}{}
	select {
	case <-b.let:
		return hub.Window{Data: b.data, Start: time.Now(), Elapsed: d, Slices: 1}, nil
	case <-ctx.Done():
		b.canceled <- struct{}{}
		return hub.Window{Outcome: hub.Canceled}, errors.New("canceled")
	}
}

// receive waits for a channel, not for ever.
func receive[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s: not within %v", what, patience)
		panic("unreachable")
	}
}
