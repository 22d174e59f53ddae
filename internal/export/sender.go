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
	failures int           // in a row
	panics   int           // in a row
	told     bool          // that sends fail
	refusing bool          // the last one that was refused or sent
	retry    time.Duration // nothing is sent before
	asks     time.Duration // when Stored is asked next
	busy     atomic.Bool   // Stored is asked
	looking  sync.WaitGroup
	more     bool    // there may be more on disk; guarded by mu
	used     float64 // of the cap for an hour, at the time counted
	counted  time.Duration
}

// step sends an item, or waits for one. It reports whether there may be another.
func (s *sender) step() bool {
	it, wait := s.next(s.now())
	if it == nil {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-s.ending.Done():
			return false
		case <-s.changed:
		case <-timer.C:
			s.look(s.now())
		}
		return true
	}
	a, open := s.send(it.Send)
	if open && it.Done != nil && (a.err == nil || a.refused) {
		it.Done(a.refused)
	}
	s.mu.Lock()
	s.sending = nil
	if open {
		s.outcome(it, a)
	} else {
		s.counts[left]++
	}
	s.settle()
	s.mu.Unlock()
	if a.refused || open && a.err == nil && s.refusing {
		s.refusing = a.refused
		s.hooks.Refused(a.err)
	}
	switch {
	case s.panics == panicLimit:
		s.hooks.Failing(fmt.Errorf("%.*s", mostSaid, fmt.Sprintf("the exporter is off after %d panics in a row: %v", panicLimit, a.err)))
	case s.told && open && a.err == nil:
		s.told, s.asks = false, 0 // what was dropped meanwhile may be on disk
		s.mu.Lock()
		for _, it := range s.items {
			s.spread(it)
		}
		s.mu.Unlock()
		s.hooks.Failing(nil)
	case s.failures >= tellAfter:
		s.tell(a.err)
	}
	return open && s.panics < panicLimit
}

// next takes the next item off the queue, or says how long to wait for one.
func (s *sender) next(now time.Duration) (*Item, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending.Err() != nil {
		return nil, 0
	}
	if s.more && len(s.items) == 0 {
		s.more, s.asks = false, 0
	}
	look := max(s.asks-now, 0)
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
		due = max(due, s.items[best].due, s.free(now))
	} else if soon := now + flushPause; due > soon {
		due, s.retry = soon, soon
	}
	if wait := due - now; wait > 0 {
		return nil, min(wait, max(look, time.Second)) // while an item waits, the disk is asked
	}
	s.used++
	s.sending = s.take(best)
	return s.sending, 0
}

// before reports whether an item is to be sent before another: if both are due, dumps before those
// on disk, which the next process sends if this one has no time for them, and these before windows.
func (s *sender) before(a, b *Item, now time.Duration) bool {
	if a.rank() != b.rank() && (s.flushing > 0 || max(a.due, b.due) <= now) {
		return a.rank() < b.rank()
	}
	return a.due < b.due
}

func (it *Item) rank() int {
	switch {
	case it.Window:
		return 2
	case it.stored:
		return 1
	}
	return 0
}

// free is when the cap for an hour allows another send. An eighth of it can be used at once.
func (s *sender) free(now time.Duration) time.Duration {
	hourly := float64(s.limits.Hourly)
	s.used = max(s.used-hourly*(now-s.counted).Hours(), 0)
	s.counted = now
	return now + time.Duration((s.used+1-hourly/8)/hourly*float64(time.Hour))
}

// An attempt is what became of a send. Its error is a text: what the host's code returned may have
// methods that panic or hang, and is not asked again.
type attempt struct {
	err      error // nil: it was sent
	refused  bool
	needless bool
	panicked bool          // or the goroutine was ended
	after    time.Duration // that the receiver asked for; 0 for nothing
}

// mostSaid is the longest text that is kept of an error.
const mostSaid = 500

func attemptOf(err error) (a attempt) {
	if err != nil {
		a = attempt{err: fmt.Errorf("%.*s", mostSaid, err), refused: errors.Is(err, ErrPermanent), needless: errors.Is(err, ErrNeedless)}
		var asked interface{ RetryAfter() time.Duration }
		if errors.As(err, &asked) {
			a.after = asked.RetryAfter()
		}
	}
	return a
}

// send runs do, which is code of the host. It waits for its end, however late that is, because a
// second one must not run beside it. It reports false if the queue was closed first.
func (s *sender) send(do func(context.Context) error) (a attempt, open bool) {
	ctx, cancel := context.WithTimeout(context.Background(), s.limits.Timeout)
	defer cancel()
	var returned attempt
	ended := foreign.Start(func() error { returned = attemptOf(do(ctx)); return nil })
	result := func(panicked error) attempt {
		if panicked != nil {
			return attempt{err: fmt.Errorf("%.*s", mostSaid, panicked), panicked: true}
		}
		return returned
	}
	late := time.NewTimer(s.limits.Timeout + lateBy)
	defer late.Stop()
	for {
		select {
		case err := <-ended:
			return result(err), true
		case <-s.ending.Done():
			// An answer that is under way has a moment to arrive: without it the item is sent again.
			select {
			case err := <-ended:
				return result(err), true
			case <-time.After(lateBy / 10):
				return attempt{}, false
			}
		case <-late.C:
			s.mu.Lock()
			s.counts[hung]++
			s.last = fmt.Errorf("it %w within %v", foreign.ErrHangs, s.limits.Timeout+lateBy)
			s.mu.Unlock()
			s.tell(s.last)
		}
	}
}

// outcome takes the result of a send. s.mu must be held.
func (s *sender) outcome(it *Item, a attempt) {
	if s.panics++; !a.panicked {
		s.panics = 0
	}
	switch {
	case a.err == nil:
		s.failures, s.retry, s.last = 0, 0, nil
		s.counts[sent]++
		return
	case a.needless:
		return
	}
	s.last = a.err
	if a.refused {
		s.counts[refused]++
		return
	}
	if s.flushing == 0 {
		s.failures++
	}
	s.counts[failed]++
	s.retry = s.now() + s.pause(a.after, max(s.failures, 1))
	it.tries++
	it.due = s.now() + s.pause(a.after, it.tries) // others go before one that always fails
	if len(s.items) < s.limits.Items && s.bytes+it.Bytes <= s.limits.Bytes {
		s.items, s.bytes = append(s.items, it), s.bytes+it.Bytes
	} else { // newer ones have taken its room
		s.counts[full]++
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
func (s *sender) pause(asked time.Duration, failures int) time.Duration {
	if asked > 0 {
		d := min(asked, longestAsked)
		return d + time.Duration(s.random()*float64(d)/4)
	}
	d := min(firstPause<<min(failures-1, 20), longestPause)
	return d/2 + time.Duration(s.random()*float64(d))
}

// look adds what waits on disk, if it is time for that and sends work. It does not wait for the
// disk.
func (s *sender) look(now time.Duration) {
	s.mu.Lock()
	room := s.limits.Items/2 - len(s.items)
	s.mu.Unlock()
	if s.hooks.Stored == nil || now < s.asks || room <= 0 || !s.busy.CompareAndSwap(false, true) {
		return
	}
	s.asks = now + s.limits.Look
	s.looking.Go(func() {
		defer s.busy.Store(false)
		found := s.hooks.Stored(room)
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, it := range found {
			if it.stored = true; !s.leaves && s.ending.Err() == nil {
				s.add(it)
			}
		}
		s.more = len(found) == room
	})
}
