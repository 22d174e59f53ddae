package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.uber.org/goleak"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/profiler"
)

// patience is how long a test waits for what takes milliseconds on an idle machine.
const patience = 20 * time.Second

func noLeaks(t *testing.T) {
	t.Helper()
	current := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, current) })
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
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

// capture is a Config's.
type capture func(context.Context, time.Duration) (profiler.Window, error)

// still is the configuration of a guard that runs and does nothing.
func still(c capture) Config {
	return Config{
		Status: func() any { return map[string]string{"state": "running"} }, Budgets: func() string { return "goroutines below 5000\n" }, Text: func() string { return "running" },
		Dumps:   func() *dumps.Store { return nil },
		Capture: c, Running: context.Background(), Module: "example.com/shop", Hostname: "web-1.example.com", Panicked: func() {},
	}
}

// instant is a capture that is there at once.
func instant(data []byte) capture {
	return func(_ context.Context, d time.Duration) (profiler.Window, error) {
		return profiler.Window{Source: decode.Source{Data: data}, Start: time.Now(), Elapsed: d, Slices: 1}, nil
	}
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

func (b *blocked) capture(ctx context.Context, d time.Duration) (profiler.Window, error) {
	b.began <- struct{}{}
	select {
	case <-b.let:
		return profiler.Window{Source: decode.Source{Data: b.data}, Start: time.Now(), Elapsed: d, Slices: 1}, nil
	case <-ctx.Done():
		b.canceled <- struct{}{}
		return profiler.Window{Outcome: profiler.Canceled}, errors.New("canceled")
	}
}

// withDump gives the configuration a store with one dump, and returns its id.
func withDump(t testing.TB, c *Config, function string) string {
	t.Helper()
	c.Dir = t.TempDir()
	ended := make(chan dumps.Outcome, 1)
	store, err := dumps.Open(c.Dir, dumps.Keep{}, func(o dumps.Outcome) { ended <- o })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close(context.Background()) })
	c.Dumps = func() *dumps.Store { return store }
	budget, err := json.Marshal(map[string]string{"name": "debug-print", "offender": function})
	if err != nil {
		t.Fatal(err)
	}
	id, err := store.Offer(dumps.Dump{
		Name: "debug-print", Budget: budget, Mark: dumps.First,
		Files: []dumps.File{
			{Name: "cpu.pb.gz", Data: packed(t, chainOf("main.main", "main.serve", function))}, {Name: "goroutine.pb.gz", Data: []byte("companion")},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if o := <-ended; o.ID != id || o.Err != nil {
		t.Fatalf("%+v", o)
	}
	return string(id)
}

// table is the profile that folded stacks describe.
func table(t testing.TB, text string) *decode.Table {
	t.Helper()
	return tableOf(t, folded.Must(text))
}

func tableOf(t testing.TB, p *profile.Profile) *decode.Table {
	t.Helper()
	table, err := new(decode.Decoder).Profile(p)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// chainOf is a CPU profile of one stack, root first.
func chainOf(names ...string) *profile.Profile {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1e7, DurationNanos: 1e9,
	}
	s := &profile.Sample{Value: []int64{100, 1e9}}
	for i, name := range names {
		fn := &profile.Function{ID: uint64(i + 1), Name: name, Filename: name + ".go"}
		loc := &profile.Location{ID: uint64(i + 1), Line: []profile.Line{{Function: fn}}}
		p.Function, p.Location = append(p.Function, fn), append(p.Location, loc)
		s.Location = append([]*profile.Location{loc}, s.Location...)
	}
	p.Sample = []*profile.Sample{s}
	return p
}

// packed is a profile as runtime/pprof writes it.
func packed(t testing.TB, p *profile.Profile) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
