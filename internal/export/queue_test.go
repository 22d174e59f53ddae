package export

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// A receiver takes what is sent, or answers with errors.
type receiver struct {
	mu     sync.Mutex
	got    []string
	at     []time.Duration
	tried  []time.Duration
	began  time.Time
	answer func(id string, try int) error // nil: all is well
	news   []string                       // from Failing
	tries  int
}

func (r *receiver) send(id string) func(context.Context) error {
	return func(context.Context) error {
		r.mu.Lock()
		r.tries++
		try, answer := r.tries, r.answer
		r.tried = append(r.tried, time.Since(r.began))
		r.mu.Unlock()
		if answer != nil {
			if err := answer(id, try); err != nil {
				return err
			}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got, r.at = append(r.got, id), append(r.at, time.Since(r.began))
		return nil
	}
}

func (r *receiver) failing(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.news = append(r.news, fmt.Sprint(err))
}

func (r *receiver) refused(err error) { r.failing(fmt.Errorf("refused: %v", err)) }

func (r *receiver) received() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func (r *receiver) heard() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.news)
}

func (r *receiver) attempts() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.tried)
}

func (r *receiver) sentAt() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.at)
}

func (r *receiver) item(n int, window bool) *Item {
	id := fmt.Sprint("d", n)
	if window {
		id = fmt.Sprint("w", n)
	}
	return &Item{ID: id, Bytes: 100, Window: window, Send: r.send(id)}
}

// start starts a queue in a bubble, with chance in the middle. It is closed at the end.
func start(t *testing.T, r *receiver, l Limits) *Queue {
	l = over(l)
	r.began = time.Now()
	q := New(l, Hooks{Failing: r.failing, Refused: r.refused})
	q.mu.Lock()
	q.random = func() float64 { return 0.5 }
	q.mu.Unlock()
	t.Cleanup(func() { closed(q) })
	return q
}

// over are limits with the defaults for fields that are zero.
func over(l Limits) Limits {
	d := Defaults()
	l.Items, l.Bytes, l.Hourly = cmp.Or(l.Items, d.Items), cmp.Or(l.Bytes, d.Bytes), cmp.Or(l.Hourly, d.Hourly)
	l.Timeout, l.Spread, l.Look = d.Timeout, d.Spread, d.Look
	return l
}

func closed(q *Queue) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	q.Close(ctx)
}

func TestSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(receiver)
		q := start(t, r, Limits{})
		done := 0
		it := r.item(1, false)
		it.Done = func(bool) { done++ }
		q.Add(it)
		q.Add(r.item(1, false)) // the same again
		q.Add(r.item(2, true))
		q.Add(r.item(3, false))
		time.Sleep(time.Minute)
		if got := r.received(); !slices.Equal(got, []string{"d1", "d3", "w2"}) && !slices.Equal(got, []string{"d1", "w2", "d3"}) || done != 1 {
			t.Errorf("received %v, done %d times", got, done)
		}
		if first := r.sentAt()[0]; first != 2500*time.Millisecond {
			t.Errorf("the first was sent after %v, want half of the spread", first)
		}
		if c := q.Counts(); c["sent"] != 3 || c["failed"] != 0 {
			t.Errorf("counts %v", c)
		}
	})
}

// A queue that is full drops the oldest windows, and a dump only for another dump.
func TestFull(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit Limits
		add   []bool // windows
		want  []string
	}{
		{"by number", Limits{Items: 3}, []bool{true, true, true, true}, []string{"w1", "w2", "w3"}},
		{"windows for dumps", Limits{Items: 3}, []bool{true, false, false, false}, []string{"d1", "d2", "d3"}},
		{"no dump for a window", Limits{Items: 2}, []bool{false, false, true}, []string{"d0", "d1"}},
		{"dumps for dumps", Limits{Items: 2}, []bool{false, false, false}, []string{"d1", "d2"}},
		{"by bytes", Limits{Bytes: 250}, []bool{false, false, false}, []string{"d1", "d2"}},
		{"too large", Limits{Bytes: 99}, []bool{false}, nil},
		{"room for all", Limits{}, []bool{false, true}, []string{"d0", "w1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := new(receiver)
				q := start(t, r, tt.limit)
				for n, window := range tt.add {
					q.Add(r.item(n, window))
				}
				time.Sleep(time.Minute)
				got := r.received()
				slices.Sort(got)
				if !slices.Equal(got, tt.want) {
					t.Errorf("received %v, want %v", got, tt.want)
				}
				if c := q.Counts(); int(c["full"]) != len(tt.add)-len(tt.want) {
					t.Errorf("counts %v", c)
				}
			})
		})
	}
}

// A receiver that is away is tried less and less often, and gets all when it comes back. There is
// one event for each.
func TestBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(receiver)
		r.answer = func(string, int) error {
			if time.Since(r.began) < 20*time.Minute {
				return errors.New("connection refused")
			}
			return nil
		}
		q := start(t, r, Limits{})
		q.Add(r.item(1, false))
		q.Add(r.item(2, false))
		q.Add(r.item(3, true))
		time.Sleep(time.Hour)
		if got := r.received(); len(got) != 3 {
			t.Errorf("received %v", got)
		}
		for i := 1; i+1 < len(r.attempts())-3; i++ {
			before, after := r.attempts()[i]-r.attempts()[i-1], r.attempts()[i+1]-r.attempts()[i]
			if after < before || after > 15*time.Minute {
				t.Errorf("tried after %v", r.attempts())
				break
			}
		}
		if len(r.attempts()) > 20 {
			t.Errorf("tried %d times", len(r.attempts()))
		}
		if !slices.Equal(r.heard(), []string{"connection refused", "<nil>"}) {
			t.Errorf("news %q", r.heard())
		}
		if c := q.Counts(); c["sent"] != 3 || int(c["failed"]) != len(r.attempts())-3 {
			t.Errorf("counts %v", c)
		}
	})
}

// A failure that ends before the third is no news.
func TestBlip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(receiver)
		r.answer = func(_ string, try int) error {
			if try < 3 {
				return errors.New("reset")
			}
			return nil
		}
		q := start(t, r, Limits{})
		q.Add(r.item(1, false))
		time.Sleep(time.Minute)
		if len(r.received()) != 1 || len(r.heard()) != 0 {
			t.Errorf("received %v, news %q", r.received(), r.heard())
		}
	})
}

type later time.Duration

func (later) Error() string                   { return "429 Too Many Requests" }
func (d later) RetryAfter() time.Duration     { return time.Duration(d) }
func wrapped(err error) error                 { return fmt.Errorf("push: %w", err) }
func between(d, low, high time.Duration) bool { return d >= low && d <= high }

// What a receiver asks for is waited, and a little more by chance, but an hour at the most.
func TestRetryAfter(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{
		30 * time.Second: 30 * time.Second,
		48 * time.Hour:   time.Hour,
		-time.Second:     time.Second, // as without
	} {
		synctest.Test(t, func(t *testing.T) {
			r := new(receiver)
			r.answer = func(_ string, try int) error {
				if try == 1 {
					return wrapped(later(asked))
				}
				return nil
			}
			q := start(t, r, Limits{})
			q.Add(r.item(1, false))
			time.Sleep(3 * time.Hour)
			if len(r.attempts()) != 2 || !between(r.attempts()[1]-r.attempts()[0], want, want*5/4) {
				t.Errorf("asked for %v: tried after %v", asked, r.attempts())
			}
		})
	}
}

// What is refused is not sent again, does not hold up others, and is told at once. Flush says so once.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(receiver)
		r.answer = func(id string, _ int) error {
			if id == "d1" {
				return fmt.Errorf("400 Bad Request: %w", ErrPermanent)
			}
			return nil
		}
		q := start(t, r, Limits{})
		if err := q.Flush(t.Context()); err != nil {
			t.Errorf("before: %v", err)
		}
		done := false
		it := r.item(1, false)
		it.Done = func(refused bool) { done = refused }
		q.Add(it)
		q.Add(r.item(2, false))
		time.Sleep(time.Hour)
		if got := r.received(); !slices.Equal(got, []string{"d2"}) || len(r.attempts()) != 2 || !done {
			t.Errorf("received %v after %d tries, done: %t", got, len(r.attempts()), done)
		}
		if c := q.Counts(); c["refused"] != 1 || c["sent"] != 1 {
			t.Errorf("counts %v", c)
		}
		if !slices.Equal(r.heard(), []string{"refused: 400 Bad Request: refused", "refused: <nil>"}) {
			t.Errorf("news %q", r.heard())
		}
		if err := q.Flush(t.Context()); err == nil || err.Error() != "1 profiles were refused or dropped since the start" {
			t.Errorf("Flush: %v", err)
		}
	})
}

// One that always fails does not hold up others either.
func TestOneAlwaysFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(receiver)
		r.answer = func(id string, _ int) error {
			if id == "d0" {
				return errors.New("500")
			}
			return nil
		}
		q := start(t, r, Limits{})
		for n := range 5 {
			q.Add(r.item(n, false))
		}
		time.Sleep(time.Hour)
		if got := r.received(); len(got) != 4 {
			t.Errorf("received %v", got)
		}
		if c := q.Counts(); c["failed"] > 30 {
			t.Errorf("it was tried %d times in an hour", c["failed"])
		}
	})
}

// Code that panics three times in a row is not called again.
func TestPanics(t *testing.T) {
	for name, fault := range map[string]func(){
		"panic":  func() { panic("planted") },
		"goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := new(receiver)
				r.answer = func(string, int) error { fault(); return nil }
				q := start(t, r, Limits{})
				for n := range 10 {
					q.Add(r.item(n, false))
				}
				time.Sleep(time.Hour)
				if len(r.attempts()) != 3 || len(r.heard()) != 1 || !strings.Contains(r.heard()[0], "the exporter is off after 3 panics in a row: ") {
					t.Errorf("tried %d times, news %q", len(r.attempts()), r.heard())
				}
				if q.Add(r.item(11, false)) {
					t.Error("it takes more")
				}
				if c := q.Counts(); c["failed"] != 3 || c["off"] != 10 || c["left"] != 1 {
					t.Errorf("counts %v", c)
				}
				if err := q.Flush(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "11 profiles are not sent: "+errClosed.Error()) {
					t.Errorf("Flush: %v", err)
				}
			})
		})
	}
}

// Code that hangs keeps one goroutine. If it comes back, its result counts.
func TestHangs(t *testing.T) {
	for _, ends := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r := new(receiver)
			release := make(chan struct{})
			r.answer = func(_ string, try int) error {
				if try == 1 {
					<-release
				}
				return nil
			}
			q := start(t, r, Limits{Items: 8})
			for n := range 100 {
				q.Add(r.item(n, false))
				time.Sleep(10 * time.Second)
			}
			stacks := make([]byte, 1<<20)
			stacks = stacks[:runtime.Stack(stacks, true)]
			if n := bytes.Count(stacks, []byte(".(*sender).send.func1(")); n != 1 {
				t.Errorf("%d goroutines send", n)
			}
			if c := q.Counts(); c["hung"] != 1 || c["full"] != 91 || len(r.heard()) != 1 {
				t.Errorf("counts %v, news %q", c, r.heard())
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := q.Flush(ctx); err == nil || err.Error() != "9 profiles are not sent, and 91 were refused or dropped since the start: context deadline exceeded, the last attempt: it has not returned within 11s" {
				t.Errorf("Flush: %v", err)
			}
			if ends {
				close(release)
				time.Sleep(time.Minute)
				if c := q.Counts(); c["sent"] != 9 || len(r.heard()) != 2 {
					t.Errorf("after its end: counts %v, news %q", c, r.heard())
				}
				return
			}
			began := time.Now()
			closed(q)
			if took := time.Since(began); took > time.Second {
				t.Errorf("Close took %v", took)
			}
			if c := q.Counts(); c["left"] != 9 {
				t.Errorf("counts %v", c)
			}
			close(release) // for the bubble
		})
	}
}

// The cap for an hour makes items wait.
func TestHourly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(receiver)
		q := start(t, r, Limits{Items: 1000, Hourly: 80})
		for n := range 300 {
			q.Add(r.item(n, false))
		}
		time.Sleep(time.Minute)
		if n := len(r.received()); n < 10 || n > 12 {
			t.Errorf("%d in the first minute, want an eighth of 80", n)
		}
		time.Sleep(time.Hour)
		if n := len(r.received()); n < 85 || n > 93 {
			t.Errorf("%d in an hour", n)
		}
		if err := q.Flush(t.Context()); err != nil || len(r.received()) != 300 {
			t.Errorf("Flush: %v, %d received", err, len(r.received()))
		}
	})
}

// Flush waits for nothing but the receiver, and says what is left.
func TestFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(receiver)
		q := start(t, r, Limits{})
		if err := q.Flush(t.Context()); err != nil {
			t.Errorf("nothing queued: %v", err)
		}
		r.answer = func(_ string, try int) error {
			if try <= 2 {
				return later(time.Hour)
			}
			time.Sleep(10 * time.Millisecond)
			return nil
		}
		for n := range 20 {
			q.Add(r.item(n, n%2 == 0))
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.Flush(ctx); err != nil || len(r.received()) != 20 {
			t.Errorf("Flush: %v, received %v", err, r.received())
		}
		if took := time.Since(began); took > 800*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		if got := r.received(); slices.IndexFunc(got, func(id string) bool { return id[0] == 'w' }) != 10 {
			t.Errorf("dumps do not go before windows: %v", got)
		}
	})
}

// Flush says why nothing is sent. That it tries again and again is no news, until others fail, too.
func TestFlushFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(receiver)
		r.answer = func(string, int) error { return wrapped(later(time.Minute)) }
		q := start(t, r, Limits{})
		for n := range 4 {
			q.Add(r.item(n, false))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := q.Flush(ctx)
		if err == nil || err.Error() != "4 profiles are not sent: context deadline exceeded, the last attempt: push: 429 Too Many Requests" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Flush: %v", err)
		}
		if n := len(r.attempts()); n < 10 || len(r.heard()) > 0 {
			t.Errorf("%d attempts, news %q", n, r.heard())
		}
		time.Sleep(30 * time.Second)
		if n := len(r.attempts()); n > 25 {
			t.Errorf("what the receiver asks for is forgotten: %d attempts", n)
		}
		time.Sleep(time.Hour)
		if len(r.heard()) != 1 {
			t.Errorf("news %q", r.heard())
		}
	})
}

// Several can wait at once, beside others that add.
func TestFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(receiver)
		q := start(t, r, Limits{Items: 1000})
		var running sync.WaitGroup
		for n := range 20 {
			running.Go(func() {
				for k := range 10 {
					q.Add(r.item(10*n+k, false))
				}
				if err := q.Flush(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		if n := len(r.received()); n != 200 {
			t.Errorf("%d received", n)
		}
	})
}

// What is on disk is sent when there is nothing else to do, a part at a time, and nothing twice.
func TestStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{began: time.Now()}
		var mu sync.Mutex
		left := map[string]bool{}
		for n := range 50 {
			left[fmt.Sprint("d", n)] = true
		}
		q := New(over(Limits{Items: 20}), Hooks{Failing: r.failing, Stored: func(most int) (items []*Item) {
			mu.Lock()
			defer mu.Unlock()
			for id := range left {
				if len(items) < most {
					it := &Item{ID: id, Done: func(bool) {
						mu.Lock()
						defer mu.Unlock()
						delete(left, id)
					}}
					it.Send = func(ctx context.Context) error {
						mu.Lock()
						gone := !left[id]
						mu.Unlock()
						if gone {
							return ErrNeedless
						}
						return r.send(id)(ctx)
					}
					items = append(items, it)
				}
			}
			return items
		}})
		defer closed(q)
		time.Sleep(5 * time.Minute)
		got := r.received()
		slices.Sort(got)
		if n := len(got); n != 50 || len(slices.Compact(got)) != 50 {
			t.Errorf("%d received: %v", n, got)
		}
	})
}

// A disk that hangs holds up nothing.
func TestStoredHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{began: time.Now()}
		release := make(chan struct{})
		var calls atomic.Int32
		q := New(Defaults(), Hooks{Failing: r.failing, Stored: func(int) []*Item { calls.Add(1); <-release; return nil }})
		for n := range 10 {
			time.Sleep(5 * time.Minute)
			q.Add(r.item(n, false))
		}
		time.Sleep(time.Minute)
		if len(r.received()) != 10 || calls.Load() != 1 {
			t.Errorf("received %v, the disk was asked %d times", r.received(), calls.Load())
		}
		closed(q)
		close(release)
	})
}
