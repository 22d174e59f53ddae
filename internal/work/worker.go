// Package work calls the work of a test again and again, with a label that the goroutines
// which work starts inherit, and finds the samples of a process's profiles that belong to it.
package work

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"
)

// label is the key of the pprof label that samples of work carry.
const label = "profguard.check"

// A Worker calls work on a goroutine of its own, so that a call that never returns does not
// block the test's goroutine.
type Worker struct {
	Calls atomic.Int64 // that have returned
	Busy  bool         // the last order is not done; no further one may be given
	Most  atomic.Int64 // an order ends early if there are so many goroutines between two calls

	// Left are the goroutines of work that run, by their roots, if a repetition has ended because of
	// Most and they do not end soon. It may be read when the order is done.
	Left map[string]int64

	work   func(context.Context)
	id     string
	ctx    context.Context
	cancel context.CancelFunc

	orders chan int64    // how many calls to make; 0 means until halted
	acks   chan struct{} // an order is done; closed when the goroutine has ended
	ended  atomic.Bool   // the goroutine
	halt   atomic.Bool   // no further call in this order
	once   sync.Once     // closes orders
	timer  *time.Timer   // shared, because Wait must not allocate: allocations are being counted

	// How work ended the goroutine, to be read when [Worker.IsOver].
	Panicked error // with work's stack
	Exited   bool  // by runtime.Goexit
}

// running has the workers that are not stopped, by their ids. Goroutines with the label of
// another one may have been started by an earlier check, and work for all.
var running sync.Map

// New returns a worker that makes no call yet. id is the value of its label.
func New(parent context.Context, id string, work func(context.Context)) *Worker {
	w := &Worker{
		work:   work,
		id:     id,
		orders: make(chan int64, 1),
		acks:   make(chan struct{}, 1),
		timer:  time.NewTimer(0),
	}
	w.ctx, w.cancel = context.WithCancel(parent)
	w.Most.Store(math.MaxInt64)
	running.Store(id, w)
	return w
}

// LostRoot is the root ([ByRoot]) of samples of this worker's own goroutine, after work has
// replaced the label. It is "" if another check runs that calls the same function, as subtests
// do, because such samples may be of either.
func (w *Worker) LostRoot() string {
	name := functionName(w.work)
	running.Range(func(_, v any) bool {
		if other := v.(*Worker); other != w && functionName(other.work) == name {
			name = ""
		}
		return name != ""
	})
	return name
}

func functionName(f func(context.Context)) string {
	if f == nil {
		return ""
	}
	return runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
}

// Start starts the goroutine, which waits for orders.
func (w *Worker) Start() { go w.run() }

func (w *Worker) run() {
	defer close(w.acks)
	defer w.ended.Store(true)
	w.Exited = true // unless it gets to the end, or panics
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		err, ok := v.(error)
		if !ok {
			err = fmt.Errorf("%v", v)
		}
		w.Exited, w.Panicked = false, fmt.Errorf("%w\n\n[guard.Check: work's own stack]\n%s", err, debug.Stack())
	}()
	pprof.Do(w.ctx, pprof.Labels(label, w.id), func(ctx context.Context) {
		var n, i int64 // declared once for all orders, because allocations are being counted
		more := func() bool {
			i++
			return (n == 0 || i <= n) && !w.halt.Load() && (i%32 != 0 || !w.hasMost())
		}
		for n = range w.orders {
			i = 0
			if w.loop(ctx, more); n == 0 && w.hasMost() {
				w.Left = w.left()
			}
			w.acks <- struct{}{}
		}
	})
	w.Exited = false
}

func (w *Worker) hasMost() bool { return int64(runtime.NumGoroutine()) >= w.Most.Load() }

// left are the goroutines of work that run and do not end in 20 ms: those that work has waited for
// need only to return.
func (w *Worker) left() map[string]int64 {
	for begun := time.Now(); time.Since(begun) < 20*time.Millisecond; time.Sleep(time.Millisecond) {
		if !w.hasMost() {
			return nil
		}
	}
	own, _ := AtWork(w.id)
	return own
}

// Loop calls work on the caller's goroutine as long as there is more to do.
func (w *Worker) Loop(ctx context.Context, more func() bool) {
	pprof.Do(ctx, pprof.Labels(label, w.id), func(ctx context.Context) { w.loop(ctx, more) })
}

// loop calls work. The stacks of profiles are cut off here; see [Cut].
//
//go:noinline
func (w *Worker) loop(ctx context.Context, more func() bool) {
	for more() {
		w.work(ctx)
		w.Calls.Add(1)
	}
}

// Order makes the goroutine call work n times, or until it is paused or stopped if n is 0.
// The order before must be done.
func (w *Worker) Order(n int64) {
	w.Busy = true
	if !w.IsOver() {
		w.orders <- n
	}
}

// Wait reports whether the order was done within d. If not, work is still in a
// call, or the goroutine has ended.
func (w *Worker) Wait(d time.Duration) (done bool) {
	w.timer.Reset(d)
	select {
	case _, done = <-w.acks:
	case <-w.timer.C:
		select { // the order may be done although d is over
		case _, done = <-w.acks:
		default:
		}
	}
	w.Busy = w.Busy && !done
	return done
}

// Pause ends the repetition of work at the end of a call, and reports whether that call has
// returned within d.
func (w *Worker) Pause(d time.Duration) bool {
	w.halt.Store(true)
	defer w.halt.Store(false)
	return w.Wait(d)
}

// IsOver reports whether the goroutine has ended, before Stop by work.
func (w *Worker) IsOver() bool { return w.ended.Load() }

// Stop ends the calls of work. If the last call has not returned within grace, its context
// is canceled. Stop reports whether the call has returned within d after that. A call that
// returns within grace does not see its context end. Stop may be called again.
func (w *Worker) Stop(grace, d time.Duration) bool {
	defer running.Delete(w.id) // not before its last call has ended
	w.halt.Store(true)
	w.once.Do(func() { close(w.orders) })
	ended := w.endsWithin(grace)
	w.cancel()
	return ended || w.endsWithin(d)
}

func (w *Worker) endsWithin(d time.Duration) bool {
	w.timer.Reset(d)
	for {
		select {
		case _, more := <-w.acks:
			if !more {
				return true
			}
		case <-w.timer.C:
			return false
		}
	}
}

// Call is the unit of work that is always counted: calls of work that have returned.
const Call = "call"

// A Done is the amount of work until a time, by unit.
type Done struct {
	At    time.Time
	units map[string]float64
}

// Done reads the number of calls and the other counters.
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
