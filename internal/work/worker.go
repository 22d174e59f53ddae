// Package work is the work of a test that is called again and again, and what of a
// process's profiles belongs to it.
//
//   - worker.go calls work on a goroutine of its own, with a label, which the goroutines
//     that work starts inherit.
//   - stacks.go knows by a stack whether it is work's, and where work begins on it.
//   - profiles.go takes profiles, and leaves of them what is work's.
//   - roots.go is about goroutines without the label: it finds out by comparison which of
//     them do what they do for work.
package work

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"
)

// label is the key of the pprof label that samples of work carry.
const label = "profguard.check"

// A Worker calls work on a goroutine of its own, so that a call that never
// returns can be told from the test's goroutine.
type Worker struct {
	Calls atomic.Int64 // that have returned

	work   func(context.Context)
	id     string
	ctx    context.Context
	cancel context.CancelFunc

	orders chan int64    // how many calls to make; 0 means until halted
	acks   chan struct{} // an order is done
	ended  chan struct{} // closed when the goroutine has ended
	halt   atomic.Bool   // no further call in this order
	once   sync.Once     // of closing orders
	timer  *time.Timer   // of whoever waits. Wait must not allocate: allocations are being counted

	// How the goroutine ended, to be read after ended.
	panicked error
	exited   bool
}

// New returns a worker with an id, the value of its label, that makes no call yet.
func New(parent context.Context, id string, work func(context.Context)) *Worker {
	w := &Worker{
		work:   work,
		id:     id,
		orders: make(chan int64),
		acks:   make(chan struct{}, 1),
		ended:  make(chan struct{}),
		timer:  time.NewTimer(0),
	}
	w.ctx, w.cancel = context.WithCancel(parent)
	return w
}

// Start starts the goroutine, which waits for orders.
func (w *Worker) Start() { go w.run() }

func (w *Worker) run() {
	defer close(w.ended)
	w.exited = true // unless it comes to the end, or panics
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		err, ok := v.(error)
		if !ok {
			err = fmt.Errorf("%v", v)
		}
		w.exited, w.panicked = false, fmt.Errorf("%w\n\n[guard.Check: work's own stack]\n%s", err, debug.Stack())
	}()
	pprof.Do(w.ctx, pprof.Labels(label, w.id), func(ctx context.Context) {
		var n, i int64 // once for all orders: allocations are being counted
		more := func() bool {
			i++
			return (n == 0 || i <= n) && !w.halt.Load()
		}
		for n = range w.orders {
			i = 0
			w.loop(ctx, more)
			w.acks <- struct{}{}
		}
	})
	w.exited = false
}

// Loop calls work on the caller's goroutine as long as there is more to do.
func (w *Worker) Loop(ctx context.Context, more func() bool) {
	pprof.Do(ctx, pprof.Labels(label, w.id), func(ctx context.Context) { w.loop(ctx, more) })
}

// loop calls work. Profiles are cut off here; see [Cut].
//
//go:noinline
func (w *Worker) loop(ctx context.Context, more func() bool) {
	for more() {
		w.work(ctx)
		w.Calls.Add(1)
	}
}

// Order gives the goroutine so many calls to make, or calls until it is paused or stopped
// (0). The last order must be done.
func (w *Worker) Order(n int64) {
	select {
	case w.orders <- n:
	case <-w.ended:
	}
}

// Wait reports whether the order was done within d. If not, work is still in a
// call, or the goroutine has ended.
func (w *Worker) Wait(d time.Duration) bool {
	w.timer.Reset(d)
	select {
	case <-w.acks:
		return true
	case <-w.ended:
	case <-w.timer.C:
	}
	select { // d may be over, or 0, and the order done
	case <-w.acks:
		return true
	default:
		return false
	}
}

// Pause lets work come to the end of a call, and reports whether it did within d. If not,
// no more must be ordered.
func (w *Worker) Pause(d time.Duration) bool {
	w.halt.Store(true)
	defer w.halt.Store(false)
	return w.Wait(d)
}

// IsOver reports whether the goroutine has ended, which it does by itself only
// when work panics or exits.
func (w *Worker) IsOver() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// Stop makes no further call, cancels the context of one that has not returned
// within grace, and reports whether it has within d after that. What a call does with
// its context thus ends well, unless it waits for the end of that. It may be called again.
func (w *Worker) Stop(grace, d time.Duration) bool {
	w.halt.Store(true)
	w.once.Do(func() { close(w.orders) })
	ended := w.endsWithin(grace)
	w.cancel()
	return ended || w.endsWithin(d)
}

// endsWithin reports whether the goroutine ends within d.
func (w *Worker) endsWithin(d time.Duration) bool {
	w.timer.Reset(d)
	select {
	case <-w.ended:
		return true
	case <-w.timer.C:
		return false
	}
}

// Call is the unit of work that is always counted: that a call has returned.
const Call = "call"

// A Done is how much work was done at a time, by unit.
type Done struct {
	At    time.Time
	units map[string]float64
}

// Done counts calls, and reads the counters that there are besides.
func (w *Worker) Done(counters map[string]func() float64) Done {
	units := map[string]float64{Call: float64(w.Calls.Load())}
	for name, counter := range counters {
		units[name] = counter()
	}
	return Done{time.Now(), units}
}

// Since returns the units of work done since an earlier reading.
func (d Done) Since(earlier Done) map[string]float64 {
	done := map[string]float64{}
	for unit, n := range d.units {
		done[unit] = n - earlier.units[unit]
	}
	return done
}

// Ended says how a goroutine ended that [Worker.IsOver]: with what work panicked, with its
// stack, or that it ended its goroutine (runtime.Goexit).
func (w *Worker) Ended() (panicked error, exited bool) { return w.panicked, w.exited }
