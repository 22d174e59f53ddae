// Package export sends what is to leave the process. The code that sends is the host's: it may
// fail, block, panic or never return.
//
// A [Queue] is bounded in number and bytes, has one goroutine, and sends one item at a time, with a
// limit on time. What fails is sent again after a pause that doubles, with chance in it, or after
// what the receiver asked for. Sends of a fleet whose alerts all begin at once are spread over some
// seconds, and there is a cap for an hour. Who adds to a queue never waits.
package export

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/pprof"
	"slices"
	"sync"
	"time"
)

// An Item is something to send.
type Item struct {
	ID     string // one that is in the queue is not added again
	Bytes  int    // that it keeps in memory
	Window bool   // goes after all that are none, and is dropped for them
	// Send is code of the host. It may run longer than its context.
	Send func(context.Context) error
	// Done is called when the item is sent, or refused, on the queue's goroutine. It may be nil.
	Done func(refused bool)

	due    time.Duration // since the queue began
	tries  int
	stored bool // it is from Hooks.Stored
}

// Limits of a queue.
type Limits struct {
	Items   int           // that wait
	Bytes   int           // that they keep
	Timeout time.Duration // of one send
	Spread  time.Duration // over which sends of one moment are spread
	Hourly  int           // sends in an hour, and an eighth of them at once
	Look    time.Duration // how often Hooks.Stored is asked
}

// Defaults are the limits of a guard. A dump has two or three profiles of up to a MiB, and an alert
// has one or two dumps; windows of ten seconds without a pause are 360 an hour.
func Defaults() Limits {
	return Limits{Items: 64, Bytes: 64 << 20, Timeout: 10 * time.Second, Spread: 5 * time.Second, Hourly: 600, Look: 10 * time.Minute}
}

const (
	// firstPause doubles with each failure in a row up to longestPause. A receiver that restarts
	// is away for seconds, and one that is gone costs four calls an hour.
	firstPause   = time.Second
	longestPause = 15 * time.Minute
	// longestAsked is the most that a receiver can ask for.
	longestAsked = time.Hour
	// flushPause is the pause after a failure while Flush is waiting.
	flushPause = 250 * time.Millisecond
	// tellAfter is the number of failures in a row after which a queue says that it fails: a
	// receiver that restarts is no news.
	tellAfter = 3
	// panicLimit is the number of panics in a row after which nothing more is sent.
	panicLimit = 3
	// lateBy is how long a send may take beyond its time before it counts as hung.
	lateBy = time.Second
)

var (
	// ErrPermanent is wrapped by errors about an item that will never be taken.
	ErrPermanent = errors.New("refused")
	// ErrNeedless is the error of a Send that has nothing to do: it was sent before, or is gone.
	ErrNeedless = errors.New("nothing to send")

	errClosed = errors.New("the guard has stopped, or its exporter is off")
)

// The results that are counted. docs/reference.md has the comments.
const (
	sent    = iota // the profile has left
	failed         // an attempt has failed. The profile is sent again
	hung           // an attempt has not returned in time. Nothing else is sent until it does. Then its end is counted, too
	refused        // the receiver will never take the profile, or its labels must not leave
	full           // dropped because the queue was full. A profile of a dump on disk is sent later
	off            // dropped because the exporter has panicked three times in a row
	left           // not sent when the guard was stopped. The next process sends a profile of a dump on disk
)

var results = [...]string{"sent", "failed", "hung", "refused", "full", "off", "left"}

// Counts are the numbers of results, also of those that are 0: a counter that appears with 1 shows
// no increase.
func (q *Queue) Counts() map[string]int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	counts := map[string]int64{}
	for i, n := range q.counts {
		counts[results[i]] = n
	}
	return counts
}

// A Queue sends items. Make one with [New].
type Queue struct {
	limits Limits
	hooks  Hooks
	random func() float64
	began  time.Time
	done   chan struct{} // closed when the goroutine has ended
	ending context.Context
	end    context.CancelFunc

	mu       sync.Mutex
	counts   [len(results)]int64
	items    []*Item
	bytes    int
	changed  chan struct{} // holds one token
	flushing int           // calls of Flush
	closed   bool
	leaves   bool          // what is on disk
	sending  *Item         // or nil
	last     error         // of the last attempt, nil if it was sent
	idle     chan struct{} // closed when nothing waits and nothing is sent; made by Flush
}

// Hooks are what a queue calls.
type Hooks struct {
	// Failing takes the error when sends fail, and nil when they work again. It must not block.
	Failing func(error)
	// Refused takes the error of each item that was refused, and nil when one is sent after that. It
	// must not block.
	Refused func(error)
	// Stored returns items that wait on disk, at most so many. It may be nil, and it may hang: it
	// has a goroutine of its own.
	Stored func(most int) []*Item
}

// New starts a queue.
func New(limits Limits, hooks Hooks) *Queue {
	q := &Queue{limits: limits, hooks: hooks, random: rand.Float64, began: time.Now(), done: make(chan struct{}), changed: make(chan struct{}, 1)}
	q.ending, q.end = context.WithCancel(context.Background())
	go q.run()
	return q
}

// Add queues an item and reports whether there was room for it. It never blocks.
func (q *Queue) Add(it *Item) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		q.counts[left]++
		return false
	}
	return q.add(it)
}

func (q *Queue) add(it *Item) bool {
	for _, o := range append(q.items, q.sending) {
		if o != nil && o.ID == it.ID {
			return true
		}
	}
	for len(q.items) >= q.limits.Items || q.bytes+it.Bytes > q.limits.Bytes {
		// The oldest window goes first, and a dump only for a dump.
		i := slices.IndexFunc(q.items, func(o *Item) bool { return o.Window })
		if i < 0 && !it.Window {
			i = 0
		}
		q.counts[full]++
		if i < 0 || len(q.items) == 0 || it.Bytes > q.limits.Bytes {
			return false
		}
		q.take(i)
	}
	q.spread(it)
	q.items, q.bytes = append(q.items, it), q.bytes+it.Bytes
	q.wake()
	return true
}

// spread makes an item due within some seconds.
func (q *Queue) spread(it *Item) {
	it.due = q.now() + time.Duration(q.random()*float64(q.limits.Spread))
}

func (q *Queue) now() time.Duration { return time.Since(q.began) }

func (q *Queue) take(i int) *Item {
	it := q.items[i]
	q.items, q.bytes = slices.Delete(q.items, i, i+1), q.bytes-it.Bytes
	return it
}

func (q *Queue) wake() {
	select {
	case q.changed <- struct{}{}:
	default: // there is a token already
	}
}

// Flush sends what is queued, at once. It returns when the queue is empty, or when ctx or the queue
// ends, with an error that says what is left and why, and what was refused or dropped since the start. While
// it waits, failures are followed by short pauses, whatever the receiver asks for, and are no news for
// Hooks.Failing.
func (q *Queue) Flush(ctx context.Context) error {
	q.mu.Lock()
	q.flushing++
	q.wake()
	if q.idle == nil {
		q.idle = make(chan struct{})
		q.settle()
	}
	idle := q.idle
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		q.flushing--
		q.mu.Unlock()
	}()
	if idle != nil { // or there was nothing
		select {
		case <-idle:
		case <-q.done:
		case <-ctx.Done():
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	n, lost, why := len(q.items)+int(q.counts[off]+q.counts[left]), q.counts[refused]+q.counts[full], context.Cause(ctx)
	if q.sending != nil {
		n++
	}
	if q.closed {
		why = errClosed
	}
	if q.last != nil {
		why = fmt.Errorf("%w, the last attempt: %w", why, q.last)
	}
	switch {
	case n == 0 && lost == 0:
		return nil
	case n == 0:
		return fmt.Errorf("%d profiles were %w or dropped since the start", lost, ErrPermanent)
	case lost == 0:
		return fmt.Errorf("%d profiles are not sent: %w", n, why)
	}
	return fmt.Errorf("%d profiles are not sent, and %d were refused or dropped since the start: %w", n, lost, why)
}

// settle ends the waiting of Flush if there is nothing left. q.mu must be held.
func (q *Queue) settle() {
	if q.idle != nil && (len(q.items) == 0 && q.sending == nil || q.closed) {
		close(q.idle)
		q.idle = nil
	}
}

// Leave drops what is on disk: the next process sends it. Where there is little time left, its answer
// could come too late to be noted.
func (q *Queue) Leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.leaves = true
	for i := len(q.items) - 1; i >= 0; i-- {
		if q.items[i].stored {
			q.take(i)
		}
	}
	q.settle()
}

// Close ends the queue. What is not sent is counted. It waits for the queue's goroutine until ctx
// ends: one whose send hangs is left behind.
func (q *Queue) Close(ctx context.Context) {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		q.end()
	}
	q.mu.Unlock()
	select {
	case <-q.done:
	case <-ctx.Done():
	}
}

func (q *Queue) run() {
	defer close(q.done)
	// This goroutine has inherited the labels of who started it.
	pprof.SetGoroutineLabels(context.Background())
	s := sender{Queue: q}
	for s.step() {
	}
	defer s.looking.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	result := left
	if s.panics == panicLimit {
		result = off
	}
	q.counts[result] += int64(len(q.items))
	q.items, q.bytes, q.sending = nil, 0, nil
	q.settle()
}
