package loop

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/reference"
	"github.com/profguard/profguard/internal/release"
)

// profileOf is a profile of folded stacks that begins at a time, unless that is zero.
func profileOf(text string, at time.Time) []byte {
	p := folded.Must(text)
	if !at.IsZero() {
		p.TimeNanos = at.UnixNano()
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		panic(err)
	}
	return b.Bytes()
}

const fedText = "cpu 10s\nmain.main;main.serve;main.work 900\n"

// What cannot be judged as a window is refused, with what to do; what follows it is not.
func TestFeedRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		data       func(start time.Time) []byte
		start, end time.Duration // before now
		want       string        // in the error, "" for none
	}{
		"right":             {nil, 10 * second, 0, ""},
		"a little late":     {nil, 12 * second, 2 * second, ""},
		"swapped":           {nil, 0, 10 * second, "expected a profile of 1s to 5m0s"},
		"none":              {nil, 0, 0, "expected a profile of 1s to 5m0s"},
		"too long":          {nil, 6 * minute, 0, "expected a profile of 1s to 5m0s"},
		"of the future":     {nil, -10 * second, -20 * second, "in the future"},
		"old":               {nil, 20 * minute, 20*minute - 10*second, "feed profiles when they are taken"},
		"overlaps":          {nil, 15 * second, 5 * second, ""}, // of the first; the same again does
		"another time":      {func(start time.Time) []byte { return profileOf(fedText, start.Add(-time.Hour)) }, 10 * second, 0, "it says that it starts at"},
		"another length":    {nil, 60 * second, 0, "it says that it covers 10s, but was fed as one of 1m0s"},
		"heap":              {func(time.Time) []byte { return profileOf("heap\nmain.main 3 4096\n", time.Time{}) }, 10 * second, 0, "expected a CPU profile"},
		"nothing":           {func(time.Time) []byte { return nil }, 10 * second, 0, "malformed"},
		"no profile":        {func(time.Time) []byte { return []byte("<html>") }, 10 * second, 0, "this is text"},
		"cut":               {func(s time.Time) []byte { b := profileOf(fedText, s); return b[:len(b)/2] }, 10 * second, 0, "malformed"},
		"too large":         {func(time.Time) []byte { return make([]byte, 9<<20) }, 10 * second, 0, "the limit is"},
		"a bomb":            {func(time.Time) []byte { return zipped(make([]byte, 64<<20)) }, 10 * second, 0, "the limit is"},
		"of several":        {func(s time.Time) []byte { return profileOf("cpu 10s\nmain.main 9000000\n", s) }, 10 * second, 0, "this process only"},
		"a difference":      {func(s time.Time) []byte { return profileOf("cpu 10s\nmain.main 100\nmain.main;main.f -5\n", s) }, 10 * second, 0, "negative values"},
		"without a clock":   {func(time.Time) []byte { return profileOf(fedText, time.Time{}) }, 10 * second, 0, ""},
		"a plain profile":   {nil, 11 * second, 0, ""},
		"a second too long": {nil, 12 * second, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, now := newFeed(), time.Now()
			start, end := now.Add(-tt.start), now.Add(-tt.end)
			data := profileOf(fedText, start)
			if tt.data != nil {
				data = tt.data(start)
			}
			err := f.Add(data, start, end)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if _, there, feeding := f.next(now); there != (err == nil) || feeding != (err == nil) {
				t.Errorf("there is a window: %t, it feeds: %t", there, feeding)
			}
			if err == nil {
				if err := f.Add(data, start, end); err == nil || !strings.Contains(err.Error(), "none that overlap") {
					t.Errorf("the same again: %v", err)
				}
			}
		})
	}
	f, now := newFeed(), time.Now()
	for n := range 4 { // more than wait
		start := now.Add(time.Duration(n-4) * 10 * second)
		if err := f.Add(profileOf(fedText, start), start, start.Add(10*second)); (err == nil) != (n < fedWaiting) {
			t.Errorf("the %dth: %v", n, err)
		}
	}
}

// Where the clock was set back, windows do not wait until it is as late again.
func TestFeedClockSetBack(t *testing.T) {
	f, now := newFeed(), time.Now()
	for _, ended := range []time.Duration{-time.Second, time.Hour} {
		f.ends = now.Add(ended)
		err := f.Add(profileOf(fedText, now.Add(-10*second)), now.Add(-10*second), now)
		if (err == nil) != (ended == time.Hour) {
			t.Errorf("the one before ended in %v: %v", ended, err)
		}
	}
}

// Many at once: none waits for another.
func TestFeedAtOnce(t *testing.T) {
	f, now := newFeed(), time.Now()
	var running sync.WaitGroup
	for range 20 {
		running.Go(func() { f.Add(profileOf(fedText, now.Add(-10*second)), now.Add(-10*second), now) })
	}
	running.Wait()
	if len(f.waiting) != 1 {
		t.Errorf("%d of one window wait", len(f.waiting))
	}
}

// While windows are fed the loop takes none itself, and judges each at once. When they end it takes
// its own again.
func TestFedWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var seen []*Measurement
		captures, rows := 0, 0.0
		s := newStill(t, func(c *Config) {
			c.Work = map[string]func() float64{"row": func() float64 { mu.Lock(); defer mu.Unlock(); return rows }}
			own := c.Process.Source
			c.Process.Source = sourceFunc(func(ctx context.Context, d time.Duration) (profiler.Window, error) {
				mu.Lock()
				captures++
				mu.Unlock()
				time.Sleep(d)
				return own.Capture(ctx, d)
			})
		}, "x: fmt.Println below 20%", "y: main.work below 1ms per row", "z: goroutines below 100000")
		s.took = func(r *Report) {
			mu.Lock()
			defer mu.Unlock()
			if r.Measurement != nil && r.Tried {
				seen = append(seen, r.Measurement)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { s.Run(ctx, s.take); close(ended) }()
		defer func() { cancel(); <-ended }()
		time.Sleep(5 * second)
		for range 20 {
			start := time.Now()
			time.Sleep(15 * second)
			mu.Lock()
			rows += 100
			mu.Unlock()
			if err := s.Feed.Add(profileOf("cpu 15s\nmain.main;main.serve;fmt.Println 1400\n", start), start, time.Now()); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		mu.Lock()
		fed := 0
		for _, m := range seen {
			if m.CPU.Fed {
				fed++
				if late := m.Now.At.Sub(m.CPU.Start.Add(m.CPU.Elapsed)); late > second {
					t.Errorf("judged %v late", late)
				}
				if work := m.Facts.Work["row"]; fed > 1 && work != 100 || fed == 1 && m.Facts.NoWork["row"] == "" {
					t.Errorf("work %v in window %d; %v", work, fed, m.Facts.NoWork)
				}
			}
		}
		own := captures
		mu.Unlock()
		if fed != 20 || own > 1 {
			t.Errorf("%d of 20 were judged; %d were taken", fed, own)
		}
		time.Sleep(10 * minute)
		cancel()
		<-ended
		if !sawFire(s, "x") {
			t.Errorf("told %+v", s.told)
		}
		mu.Lock()
		defer mu.Unlock()
		if captures < own+5 {
			t.Errorf("after the feed has ended %d were taken", captures-own)
		}
	})
}

// TestFedTooFew: an agent whose samples stand for a fifth of the CPU that was used shows no function within an amount.
// That is known of a window that follows another one.
func TestFedTooFew(t *testing.T) {
	for samples, want := range map[int]profiler.Outcome{200: profiler.Starved, 950: profiler.OK} {
		synctest.Test(t, func(t *testing.T) {
			keeper := reference.NewKeeper(reference.Config{Build: func() release.Build { return release.Build{} }, Now: time.Now})
			s := newStill(t, func(c *Config) { c.Reference = keeper }, "x: fmt.Println below 0.5 cores")
			s.took = func(r *Report) {
				if w := &r.CPU; w.Outcome != want && w.CPU > 0 {
					t.Errorf("%d samples: %v, %s, want %v", samples, w.Outcome, w.Reason, want)
				}
			}
			time.Sleep(2 * minute)
			for range 4 {
				start := time.Now()
				time.Sleep(10 * second)
				if err := s.Feed.Add(profileOf(fmt.Sprintf("cpu 10s\nmain.main;main.serve;fmt.Println %d\n", samples), start), start, time.Now()); err != nil {
					t.Fatal(err)
				}
				s.step(t)
			}
			b := s.Budgets.Budgets[0]
			if now := s.judge.known[b]; (now.Verdicts[budget.Fail] == 0) != (want != profiler.OK) || now.Verdicts[budget.Pass] > 1 {
				t.Errorf("%d samples: verdicts %v", samples, now.Verdicts)
			}
			if want != profiler.OK {
				return
			}
			side, err := reference.Decode(new(decode.Decoder), keeper.Normal(), "")
			if err != nil || side.Pieces.Count != 3 || side.Pieces.CPU != 30 { // of the first, the CPU is not known
				t.Errorf("%v, and the reference has %v windows with %v seconds of CPU", err, side.Pieces.Count, side.Pieces.CPU)
			}
		})
	}
}

func sawFire(s *still, name string) bool {
	for _, n := range s.told {
		if n.Of.Name == name && !n.Notice.Event.Ends() {
			return true
		}
	}
	return false
}

type sourceFunc func(context.Context, time.Duration) (profiler.Window, error)

func (f sourceFunc) Capture(ctx context.Context, d time.Duration) (profiler.Window, error) {
	return f(ctx, d)
}
