package check

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/pprof"
	"sync/atomic"
	"time"
)

// label is the key of the pprof label that a check's samples carry.
const label = "profguard.check"

// A worker calls work on a goroutine of its own, so that a call that never
// returns can be told from the test's goroutine.
type worker struct {
	work   func(context.Context)
	ctx    context.Context
	cancel context.CancelFunc

	orders chan int64    // how many calls to make; 0 means until halted
	acks   chan struct{} // an order is done
	ended  chan struct{} // closed when the goroutine has ended
	halt   atomic.Bool   // no further call in this order
	calls  atomic.Int64
	timer  *time.Timer // of wait, which must not allocate: allocations are being counted

	// How the goroutine ended, to be read after ended.
	panicked *workPanic
	exited   bool
}

// A workPanic is a panic of work, carried over to the test's goroutine.
type workPanic struct {
	value any
	stack []byte
}

func (p *workPanic) Error() string {
	return fmt.Sprintf("%v\n\n[guard.Check: work's own stack]\n%s", p.value, p.stack)
}

// Unwrap is the error that work panicked with, if it was one.
func (p *workPanic) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// startWorker starts the goroutine. It carries the label from its first
// instruction on, and makes no call yet.
func startWorker(parent context.Context, id string, work func(context.Context)) *worker {
	w := &worker{
		work:   work,
		orders: make(chan int64),
		acks:   make(chan struct{}, 1),
		ended:  make(chan struct{}),
		timer:  time.NewTimer(0),
	}
	w.ctx, w.cancel = context.WithCancel(parent)
	go func() {
		defer close(w.ended)
		returned := false
		defer func() {
			if returned {
				return
			}
			if v := recover(); v != nil {
				w.panicked = &workPanic{v, debug.Stack()}
			} else {
				w.exited = true
			}
		}()
		pprof.Do(w.ctx, pprof.Labels(label, id), func(ctx context.Context) {
			var n, i int64 // once for all orders: allocations are being counted
			more := func() bool {
				i++
				return (n == 0 || i <= n) && !w.halt.Load()
			}
			for n = range w.orders {
				i = 0
				runWork(ctx, w, more)
				w.acks <- struct{}{}
			}
		})
		returned = true
	}()
	return w
}

// runWork calls work as long as there is more to do. Profiles are cut off here; see
// [workOf].
//
//go:noinline
func runWork(ctx context.Context, w *worker, more func() bool) {
	for more() {
		w.work(ctx)
		w.calls.Add(1)
	}
}

// order gives the goroutine something to do. The last order must be done.
func (w *worker) order(n int64) {
	select {
	case w.orders <- n:
	case <-w.ended:
	}
}

// wait reports whether the order was done within d. If not, work is still in a
// call, or the goroutine has ended.
func (w *worker) wait(d time.Duration) bool {
	w.timer.Reset(d)
	select {
	case <-w.acks:
		return true
	case <-w.ended:
	case <-w.timer.C:
		select {
		case <-w.acks:
			return true
		default:
		}
	}
	return false
}

// isOver reports whether the goroutine has ended, which it does by itself only
// when work panics or exits.
func (w *worker) isOver() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// stop makes no further call, cancels the context of one that has not returned
// within grace, and reports whether it has within d after that. What a call does with
// its context thus ends well, unless it waits for the end of that.
func (w *worker) stop(grace, d time.Duration) bool {
	w.halt.Store(true)
	close(w.orders)
	defer w.cancel()
	if w.endsWithin(grace) {
		return true
	}
	w.cancel()
	return w.endsWithin(d)
}

// endsWithin reports whether the goroutine ends within d.
func (w *worker) endsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-w.ended:
		return true
	case <-timer.C:
		return false
	}
}

// surface does on the test's goroutine what work did on its own.
func (w *worker) surface(t TB) {
	t.Helper()
	switch {
	case w.panicked != nil:
		panic(w.panicked)
	case w.exited && t.Skipped():
		t.Skipf("guard.Check: work has skipped the test")
	case w.exited && t.Failed():
		t.FailNow()
	case w.exited:
		t.Errorf("guard.Check: work ended its goroutine (runtime.Goexit) in call %d; it must return", w.calls.Load()+1)
		t.FailNow()
	}
}
