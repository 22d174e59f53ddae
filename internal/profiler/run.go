package profiler

import (
	"context"
	"runtime/pprof"
	"time"
)

const (
	// minSlice is the least time between two starts of the profiler, so that there are at
	// most 20 a second. A stop and a start take about 3 ms of CPU, so subscribers that come
	// and go all the time cost at most 6% of one core.
	minSlice = 50 * time.Millisecond

	// joinWait is how long a new subscriber waits for a slice that ends by itself. A slice
	// that would last longer is ended at once. It is as long as a block of guard.Check, so
	// that checks that run in parallel start and end their blocks together, and share slices.
	joinWait = 100 * time.Millisecond

	// returnWait is how long the next slice waits for streams that have just got a
	// block, so that they go on together. They look at a block for less than that.
	returnWait = 5 * time.Millisecond
)

// run takes slices as long as there are subscribers.
func (h *Hub) run() {
	// The goroutine has inherited the labels of the first subscriber, which must not be
	// charged for the hub's work.
	pprof.SetGoroutineLabels(context.Background())
	for h.gather() {
		h.slice()
		h.lastEnd = time.Now()
	}
}

// gather waits until the next slice may start, and makes all subscribers its members. It
// reports false when there is no subscriber left; run must then return.
func (h *Hub) gather() bool {
	for {
		h.mu.Lock()
		if len(h.subs) == 0 {
			close(h.running)
			h.running = nil
			h.mu.Unlock()
			return false
		}
		pause := minSlice - time.Since(h.lastStart)
		if h.returning > 0 {
			pause = max(pause, returnWait-time.Since(h.lastEnd))
		}
		if pause <= 0 {
			for _, s := range h.subs {
				s.member = true
			}
			h.returning = 0
			h.mu.Unlock()
			return true
		}
		h.mu.Unlock()
		h.pause(pause, nil)
	}
}

// pause waits until the subscribers have changed, or a profile has ended early.
func (h *Hub) pause(d time.Duration, early <-chan struct{}) (ended bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-early:
		return true
	case <-h.changed:
	case <-timer.C:
	}
	return false
}

// startWithin is how long a start may take for a good window. It takes 0.1 ms, unless the
// machine is overloaded or another profile is being written.
const startWithin = time.Second

// slice takes one runtime profile and delivers it. When a start that hung returns, its members
// have left, so that the slice ends at once.
func (h *Hub) slice() {
	rec := newRecorder()
	h.lastStart = time.Now()
	if err := h.system.start(rec); err != nil {
		h.fail(Busy, reasonBusy(err))
		return
	}
	if time.Since(h.lastStart) > startWithin {
		// Subscribers have begun to count their work before the start.
		if rec.seal() {
			h.system.stop()
		}
		h.fail(Hung, remedyHung)
		return
	}

	w := Window{Start: time.Now()}
	asleep, cpu := h.system.asleep(), h.system.cpu()
	h.await(rec, w.Start)
	w.CPU = h.system.cpu() - cpu
	w.Elapsed = time.Since(w.Start)
	w.slept = h.system.asleep() - asleep
	if !rec.seal() {
		h.free()
		h.fail(Stolen, reasonStolen)
		return
	}
	h.system.stop()
	var over bool
	if w.Data, over = rec.content(); over {
		w.lose(TooLarge, "%s", reasonTooLarge)
	}
	h.deliver(&w)
}

// settleWait is how long the hub leaves the profiler alone after its profile was stolen.
// Other code that has stopped it to take a profile has started its own by then.
const settleWait = 100 * time.Millisecond

// free ends a profile that was stolen by runtime.SetCPUProfileRate(0): there are no more samples,
// but for runtime/pprof it still runs, and no code in the process can profile. A start tells
// whether the profiler is free. (To look at the timer would not do: another start may have
// begun and not have set it yet.) Where it is not known whether the process is sampled, such a
// profile stays.
func (h *Hub) free() {
	time.Sleep(settleWait)
	rec := newRecorder()
	err := h.system.start(rec)
	sampling, known := h.system.sampling()
	if err == nil && rec.seal() || err != nil && known && !sampling {
		h.system.stop()
	}
}

// await returns when the slice that began at start is to end, was stolen, or has no member
// any more.
func (h *Hub) await(rec *recorder, start time.Time) {
	for ended := false; !ended; {
		h.mu.Lock()
		cut, wanted := nextCut(h.subs, start)
		h.mu.Unlock()
		left := cut - time.Since(start)
		if !wanted || left <= 0 {
			return
		}
		ended = h.pause(left, rec.early)
	}
}

// nextCut is the age at which the slice that began at start is to end: when the interval of
// the first member is complete, or when a new subscriber comes that would have to wait
// longer than joinWait for that. wanted is false if the slice has no members.
func nextCut(subs []*subscriber, start time.Time) (cut time.Duration, wanted bool) {
	for _, s := range subs {
		if end := s.w.Asked - s.w.Elapsed; s.member && (!wanted || end < cut) {
			cut, wanted = end, true
		}
	}
	end := cut
	for _, s := range subs {
		if join := s.since.Sub(start); !s.member && end > join+joinWait {
			cut = min(cut, join)
		}
	}
	return max(cut, minSlice), wanted
}
