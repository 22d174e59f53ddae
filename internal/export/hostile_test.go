package export

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A hostile error is one whose methods do what they like.
type hostile struct{ says, is, after func() }

func (h hostile) Error() string             { h.says(); return strings.Repeat("x", 10_000) }
func (h hostile) Is(error) bool             { h.is(); return false }
func (h hostile) RetryAfter() time.Duration { h.after(); return time.Minute }

// The methods of an error are code of the host, too.
func TestHostileErrors(t *testing.T) {
	nothing, panics := func() {}, func() { panic("planted") }
	for name, tt := range map[string]struct {
		err   func(hangs func()) error
		count string
		times int64 // at least
		off   bool
	}{
		"long":             {func(func()) error { return hostile{nothing, nothing, nothing} }, "failed", 5, false},
		"text panics":      {func(func()) error { return hostile{panics, nothing, nothing} }, "failed", 5, false}, // fmt has caught it
		"Is panics":        {func(func()) error { return hostile{nothing, panics, nothing} }, "failed", 3, true},
		"a pause panics":   {func(func()) error { return hostile{nothing, nothing, panics} }, "failed", 3, true},
		"text hangs":       {func(hangs func()) error { return hostile{hangs, nothing, nothing} }, "hung", 1, false},
		"Is hangs":         {func(hangs func()) error { return hostile{nothing, hangs, nothing} }, "hung", 1, false},
		"a pause hangs":    {func(hangs func()) error { return hostile{nothing, nothing, hangs} }, "hung", 1, false},
		"nil of its type":  {func(func()) error { return (*StatusError)(nil) }, "failed", 3, true},
		"an ordinary one":  {func(func()) error { return errors.New("away") }, "failed", 5, false},
		"panics with one":  {func(func()) error { panic(hostile{panics, nothing, nothing}) }, "failed", 3, true},
		"panics long":      {func(func()) error { panic(strings.Repeat("x", 10_000)) }, "failed", 3, true},
		"wrapped and long": {func(func()) error { return fmt.Errorf("a: %w", hostile{nothing, nothing, nothing}) }, "failed", 5, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				r := new(receiver)
				r.answer = func(string, int) error { return tt.err(func() { <-release }) }
				q := start(t, r, Limits{})
				q.Add(r.item(1, false))
				time.Sleep(time.Hour)
				if c := q.Counts(); c[tt.count] < tt.times || (c["off"] > 0) != tt.off {
					t.Errorf("counts %v", c)
				}
				if news := r.heard(); len(news) != 1 || len(news[0]) > mostSaid {
					t.Errorf("news %q", news)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				q.Flush(ctx)
				if took := time.Since(began); took > time.Second {
					t.Errorf("Flush took %v", took)
				}
				close(release)
			})
		})
	}
}

// Flush beside Close returns at once, and does not say that all was sent.
func TestFlushBesideClose(t *testing.T) {
	for _, waits := range []string{"for the receiver", "for a pause"} {
		synctest.Test(t, func(t *testing.T) {
			r := new(receiver)
			release := make(chan struct{})
			r.answer = func(string, int) error {
				if waits == "for a pause" {
					return later(time.Hour)
				}
				<-release
				return nil
			}
			q := start(t, r, Limits{})
			for n := range 3 {
				q.Add(r.item(n, false))
			}
			flushed := make(chan error)
			go func() { flushed <- q.Flush(context.Background()) }()
			time.Sleep(10 * time.Millisecond)
			began := time.Now()
			closed(q)
			if err := <-flushed; err == nil || !strings.Contains(err.Error(), "3 profiles are not sent: the guard has stopped") {
				t.Errorf("%s: %v", waits, err)
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("%s: it took %v", waits, took)
			}
			if err := q.Flush(t.Context()); err == nil {
				t.Errorf("%s: after it has ended nothing seems to be left", waits)
			}
			close(release)
		})
	}
}

// Leave drops what is on disk, also what is found there later, and nothing else.
func TestLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{began: time.Now()}
		q := New(Defaults(), Hooks{Failing: r.failing, Stored: func(most int) []*Item { return []*Item{r.item(100, false), r.item(101, false)} }})
		defer closed(q)
		time.Sleep(time.Microsecond) // they are in the queue, and none is due
		q.Add(r.item(1, false))
		q.Add(r.item(2, true))
		q.Leave()
		if err := q.Flush(t.Context()); err != nil || len(r.received()) != 2 {
			t.Errorf("%v, received %v", err, r.received())
		}
		time.Sleep(time.Hour)
		if got := r.received(); len(got) != 2 {
			t.Errorf("received %v", got)
		}
	})
}

// With little time, what this process has judged is sent before what others have left on disk.
func TestFlushBeforeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{began: time.Now(), answer: func(string, int) error { time.Sleep(100 * time.Millisecond); return nil }}
		q := New(Defaults(), Hooks{Failing: r.failing, Stored: func(most int) (items []*Item) {
			for n := range min(most, 20) {
				items = append(items, r.item(100+n, false))
			}
			return items
		}})
		defer closed(q)
		time.Sleep(time.Microsecond) // they are in the queue, and none is due
		q.Add(r.item(1, false))
		q.Add(r.item(2, true))
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		defer cancel()
		if err := q.Flush(ctx); err == nil || !strings.Contains(err.Error(), "21 profiles are not sent") {
			t.Error(err)
		}
		if got := r.received(); len(got) != 1 || got[0] != "d1" {
			t.Errorf("received %v", got)
		}
	})
}
