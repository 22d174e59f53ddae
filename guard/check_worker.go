package guard

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"time"
)

// checkLabel is the key of the pprof label that a check's samples carry.
const checkLabel = "profguard.check"

// A checkWorker calls work on a goroutine of its own, so that a call that never
// returns can be told from the test's goroutine.
type checkWorker struct {
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
func startWorker(parent context.Context, id string, work func(context.Context)) *checkWorker {
	w := &checkWorker{
		work:   work,
		orders: make(chan int64),
		acks:   make(chan struct{}, 1),
		ended:  make(chan struct{}),
		timer:  time.NewTimer(0),
	}
	w.ctx, w.cancel = context.WithCancel(parent)
	call := runWork
	if !isLiteral(work) {
		call = Checker{}.runNamed
	}
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
		pprof.Do(w.ctx, pprof.Labels(checkLabel, id), func(ctx context.Context) {
			var n, i int64 // once for all orders: allocations are being counted
			more := func() bool {
				i++
				return (n == 0 || i <= n) && !w.halt.Load()
			}
			for n = range w.orders {
				i = 0
				call(ctx, w, more)
				w.acks <- struct{}{}
			}
		})
		returned = true
	}()
	return w
}

// runWork calls work as long as there is more to do. Its name is in the list of
// scaffolding: it runs a function literal, whose callee is the entry point.
func runWork(ctx context.Context, w *checkWorker, more func() bool) {
	for more() {
		w.work(ctx)
		w.calls.Add(1)
	}
}

// runNamed is runWork for a named function, which is the entry point itself. It
// is a method of Checker because the list of scaffolding knows those as servers,
// which hand control to an entry point.
func (Checker) runNamed(ctx context.Context, w *checkWorker, more func() bool) {
	for more() {
		w.work(ctx)
		w.calls.Add(1)
	}
}

// isLiteral tells a function literal or a method value, whose callee says what
// is being run, from a function with a name.
func isLiteral(work func(context.Context)) bool {
	// The frames of an inlined callee come first, the function itself last.
	frames := runtime.CallersFrames([]uintptr{reflect.ValueOf(work).Pointer() + 1})
	name := ""
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		name = f.Function
	}
	if strings.HasSuffix(name, "-fm") {
		return true
	}
	last := name[strings.LastIndexByte(name, '.')+1:] // func1, or 2 of func1.2
	return strings.Trim(strings.TrimPrefix(last, "func"), "0123456789") == ""
}

// order gives the goroutine something to do. The last order must be done.
func (w *checkWorker) order(n int64) {
	select {
	case w.orders <- n:
	case <-w.ended:
	}
}

// wait reports whether the order was done within d. If not, work is still in a
// call, or the goroutine has ended.
func (w *checkWorker) wait(d time.Duration) bool {
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
func (w *checkWorker) isOver() bool {
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
func (w *checkWorker) stop(grace, d time.Duration) bool {
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
func (w *checkWorker) endsWithin(d time.Duration) bool {
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
func (w *checkWorker) surface(t TB) {
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
