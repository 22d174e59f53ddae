package dumps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync"
	"time"
)

const (
	// queueLen bounds the memory that waiting dumps hold: a profile is capped
	// at 16 MiB by the capture, so four are 64 MiB at the very worst. One window
	// makes one or two dumps, so a longer queue means a disk that does not keep up.
	queueLen = 4
	// cleanEvery is also how often the lock's time is renewed. A pass with nothing
	// to do makes one call.
	cleanEvery = time.Minute
)

// Writer saves dumps in its own goroutine, so that whoever offers them never
// waits for the disk. It also cleans up, once a minute.
type Writer struct {
	store  *Store
	report func(Outcome)
	queue  chan prepared
	done   chan struct{}
	end    error // of closing the store; to be read after done

	mu      sync.Mutex
	stopped bool // no more offers
	abandon bool // write no more of the queue
	stats   Stats
}

// Outcome is how an offered dump ended; with ID "" it is a clean-up that failed or
// removed something.
type Outcome struct {
	ID     ID
	Budget string
	Err    error // see [Reason]
	// Removed are dumps of this store that are no more: retention has evicted them,
	// for this one or before, or somebody has deleted them.
	Removed []ID
}

// Stats counts what a [Writer] did.
type Stats struct {
	Saved   int64
	Failed  map[string]int64 // saves and clean-ups that failed, by [Reason]
	Dropped int64            // dumps that the full queue or the end of the Writer cost
}

// NewWriter starts a writer, which owns s from now on: [Writer.Close] closes
// it. report, if not nil, is called in the writer's goroutine once for each dump
// that [Writer.Offer] accepted, and after a clean-up that there is something to
// tell of; the writer waits for it.
func NewWriter(s *Store, report func(Outcome)) *Writer {
	return newWriter(s, report, cleanEvery)
}

func newWriter(s *Store, report func(Outcome), every time.Duration) *Writer {
	if report == nil {
		report = func(Outcome) {}
	}
	w := &Writer{
		store: s, report: report,
		queue: make(chan prepared, queueLen),
		done:  make(chan struct{}),
		stats: Stats{Failed: make(map[string]int64)},
	}
	go w.run(every)
	return w
}

// Offer queues d and returns the ID that it will have. It never blocks: when the
// queue is full the dump is dropped, counted, and the error is [ErrBusy]. The
// writer reads d's data later, so the caller must not change it before the
// outcome is reported.
func (w *Writer) Offer(d Dump) (ID, error) {
	p, err := w.store.prepare(d)
	if err != nil {
		return "", fmt.Errorf("offer dump: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	err = fs.ErrClosed
	if !w.stopped {
		select {
		case w.queue <- p:
			return p.entry.id, nil
		default:
			err = fmt.Errorf("%w: %d dumps wait already; the disk does not keep up", ErrBusy, queueLen)
		}
	}
	w.stats.Dropped++
	return "", fmt.Errorf("offer dump: %w", err)
}

// Store is for reading; saving goes through [Writer.Offer].
func (w *Writer) Store() *Store { return w.store }

// Stats returns a snapshot.
func (w *Writer) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	st := w.stats
	st.Failed = maps.Clone(st.Failed)
	return st
}

// Close writes what is queued, closes the store and returns. When ctx ends
// first it gives up and says so: dumps still queued are dropped, and the write
// under way is left behind with its goroutine, which ends when the disk lets it.
// Closing again waits again.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	if !w.stopped {
		w.stopped = true
		close(w.queue)
	}
	w.mu.Unlock()
	select {
	case <-w.done:
		return w.end
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.abandon = true
	return fmt.Errorf("close dump writer: gave up with %d dumps queued: %w", len(w.queue), context.Cause(ctx))
}

func (w *Writer) run(every time.Duration) {
	defer close(w.done)
	tick := time.NewTimer(every)
	defer tick.Stop()
	for {
		select {
		case p, ok := <-w.queue:
			if !ok {
				w.end = w.guarded("", w.store.Close)
				return
			}
			w.save(p)
		case <-tick.C:
			next := every
			if w.clean() {
				next = 0 // in turns with the queue
			}
			tick.Reset(next)
		}
	}
}

func (w *Writer) save(p prepared) {
	w.mu.Lock()
	abandon := w.abandon
	if abandon {
		w.stats.Dropped++
	}
	w.mu.Unlock()
	out := Outcome{ID: p.entry.id, Budget: p.side.Budget}
	if abandon {
		out.Err = fmt.Errorf("save dump %s: %w: the writer was closed before its turn", out.ID, ErrBusy)
	} else {
		out.Err = w.guarded(out.ID, func() error { return w.store.write(p) })
	}
	out.Removed = w.store.takeGone()
	w.report(out)
}

// clean reports whether there is more to do at once.
func (w *Writer) clean() (more bool) {
	err := w.guarded("", func() (err error) {
		more, err = w.store.Clean()
		return err
	})
	if removed := w.store.takeGone(); err != nil || len(removed) > 0 {
		w.report(Outcome{Err: err, Removed: removed})
	}
	return more
}

// guarded runs do and counts how it ended. A panic would be a bug of ours, and
// is still no reason to take the host down.
func (w *Writer) guarded(id ID, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(err, fmt.Errorf("dump store panicked: %v", p))
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		switch {
		case err != nil:
			w.stats.Failed[Reason(err)]++
		case id != "":
			w.stats.Saved++
		}
	}()
	return do()
}
