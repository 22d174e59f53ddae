package export

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/profguard/profguard/internal/foreign"
)

// A sender is the goroutine of a queue, and what only that uses.
type sender struct {
	*Queue
	failures int         // in a row
	panics   int         // in a row
	told     bool        // that sends fail
	retry    time.Time   // nothing is sent before
	looked   time.Time   // when Stored was asked last
	busy     atomic.Bool // Stored is asked
	looking  sync.WaitGroup
	more     bool    // there may be more on disk; guarded by mu
	used     float64 // of the cap for an hour, at the time counted
	counted  time.Time
}

// step sends an item, or waits for one. It reports whether there may be another.
func (s *sender) step() bool {
	it, wait := s.next(time.Now())
	if it == nil {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-s.ending.Done():
			return false
		case <-s.changed:
		case <-timer.C:
			s.look(time.Now())
		}
		return true
	}
	err, open := s.send(it.Send)
	if open && it.Done != nil && (err == nil || errors.Is(err, ErrRefused)) {
		it.Done()
	}
	s.mu.Lock()
	s.sending = nil
	if open {
		s.outcome(it, err)
	} else {
		s.counts[Left]++
	}
	s.settle()
	s.mu.Unlock()
	switch {
	case s.told && s.failures == 0:
		s.told, s.looked = false, time.Time{} // what was dropped meanwhile may be on disk
		s.mu.Lock()
		for _, it := range s.items {
			s.spread(it)
		}
		s.mu.Unlock()
		s.hooks.Failing(nil)
	case s.failures >= tellAfter:
		s.tell(err)
	}
	return open && s.panics < panicLimit
}

// next takes the next item off the queue, or says how long to wait for one.
func (s *sender) next(now time.Time) (*Item, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending.Err() != nil {
		return nil, 0
	}
	if s.more && len(s.items) == 0 {
		s.more, s.looked = false, time.Time{}
	}
	look := max(s.looked.Add(s.limits.Look).Sub(now), 0)
	if s.hooks.Stored == nil || s.busy.Load() {
		look = s.limits.Look
	}
	if len(s.items) == 0 {
		return nil, look
	}
	best := 0
	for i, it := range s.items {
		if s.before(it, s.items[best], now) {
			best = i
		}
	}
	due := s.retry
	if s.flushing == 0 {
		due = latest(latest(due, s.items[best].due), s.free(now))
	} else if soon := now.Add(flushPause); due.After(soon) {
		due, s.retry = soon, soon
	}
	if wait := due.Sub(now); wait > 0 {
		return nil, min(wait, max(look, time.Second)) // while an item waits, the disk is asked
	}
	s.used++
	s.sending = s.take(best)
	return s.sending, 0
}

// before reports whether an item is to be sent before another: dumps before windows, if both are due.
func (s *sender) before(a, b *Item, now time.Time) bool {
	if a.Window != b.Window && (s.flushing > 0 || !latest(a.due, b.due).After(now)) {
		return b.Window
	}
	return a.due.Before(b.due)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// free is when the cap for an hour allows another send. An eighth of it can be used at once.
func (s *sender) free(now time.Time) time.Time {
	hourly := float64(s.limits.Hourly)
	s.used = max(s.used-hourly*now.Sub(s.counted).Hours(), 0)
	s.counted = now
	return now.Add(time.Duration((s.used + 1 - hourly/8) / hourly * float64(time.Hour)))
}

// send runs do, which is code of the host. It waits for its end, however late that is, because a
// second one must not run beside it. It reports false if the queue was closed first.
func (s *sender) send(do func(context.Context) error) (err error, open bool) {
	ctx, cancel := context.WithTimeout(context.Background(), s.limits.Timeout)
	defer cancel()
	result := make(chan error, 1)
	go func() {
		err := error(panicked{errors.New("ended its goroutine")})
		defer func() { result <- err }()
		ended := false
		if failed := foreign.Call(func() error { err := do(ctx); ended = true; return err }); ended {
			err = failed
		} else {
			err = panicked{failed}
		}
	}()
	late := time.NewTimer(s.limits.Timeout + lateBy)
	defer late.Stop()
	for {
		select {
		case err := <-result:
			return err, true
		case <-s.ending.Done():
			// An answer that is under way has a moment to arrive: without it the item is sent again.
			select {
			case err := <-result:
				return err, true
			case <-time.After(lateBy / 10):
				return nil, false
			}
		case <-late.C:
			s.mu.Lock()
			s.counts[Hung]++
			s.mu.Unlock()
			s.tell(fmt.Errorf("it %w within %v", foreign.ErrHangs, s.limits.Timeout+lateBy))
		}
	}
}

// panicked is an error of code that has panicked or called runtime.Goexit.
type panicked struct{ error }

// outcome takes the result of a send. s.mu must be held.
func (s *sender) outcome(it *Item, err error) {
	now := time.Now()
	var p panicked
	if errors.As(err, &p) {
		s.panics++
	} else {
		s.panics = 0
	}
	switch {
	case err == nil:
		s.failures, s.retry = 0, time.Time{}
		s.counts[Sent]++
		return
	case errors.Is(err, ErrNeedless):
		return
	}
	s.failures++
	if errors.Is(err, ErrRefused) {
		s.counts[Refused]++
		return
	}
	s.counts[Failed]++
	s.retry = now.Add(s.pause(err, s.failures))
	it.tries++
	it.due = now.Add(s.pause(err, it.tries)) // others go before one that always fails
	if len(s.items) < s.limits.Items && s.bytes+it.Bytes <= s.limits.Bytes {
		s.items, s.bytes = append(s.items, it), s.bytes+it.Bytes
	} else { // newer ones have taken its room
		s.counts[Full]++
	}
}

// tell says once that sends fail.
func (s *sender) tell(err error) {
	if !s.told {
		s.told = true
		s.hooks.Failing(err)
	}
}

// pause is how long to wait after a failure. Chance spreads what the receiver's other clients do
// after the same failure.
func (s *sender) pause(err error, failures int) time.Duration {
	var asked interface{ RetryAfter() time.Duration }
	if errors.As(err, &asked) && asked.RetryAfter() > 0 {
		d := min(asked.RetryAfter(), longestAsked)
		return d + time.Duration(s.random()*float64(d)/4)
	}
	d := min(firstPause<<min(failures-1, 20), longestPause)
	return d/2 + time.Duration(s.random()*float64(d))
}

// look adds what waits on disk, if it is time for that and sends work. It does not wait for the
// disk.
func (s *sender) look(now time.Time) {
	s.mu.Lock()
	room := s.limits.Items/2 - len(s.items)
	s.mu.Unlock()
	if s.hooks.Stored == nil || now.Sub(s.looked) < s.limits.Look || room <= 0 || !s.busy.CompareAndSwap(false, true) {
		return
	}
	s.looked = now
	s.looking.Go(func() {
		defer s.busy.Store(false)
		found := s.hooks.Stored(room)
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, it := range found {
			if s.ending.Err() == nil {
				s.add(it)
			}
		}
		s.more = len(found) == room
	})
}
