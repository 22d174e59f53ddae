package profiler

import (
	"slices"
	"time"
)

// run takes slices until nobody subscribes any more.
func (h *Hub) run() {
	shedLabels()
	for h.gather() {
		h.slice()
	}
}

// gather waits until there is somebody to start a slice for, and long enough
// since the last start. It makes everybody who is ready a member. It reports
// false when nobody is left; run must then return.
func (h *Hub) gather() bool {
	for {
		h.mu.Lock()
		if len(h.subs) == 0 {
			h.running = false
			h.mu.Unlock()
			return false
		}
		pause := max(0, minSlice-time.Since(h.lastStart))
		ready := slices.ContainsFunc(h.subs, (*subscriber).ready)
		if ready && pause == 0 {
			for _, s := range h.subs {
				s.member = s.ready()
			}
			h.inFlight = make(chan struct{})
			h.mu.Unlock()
			return true
		}
		h.mu.Unlock()

		if !ready {
			<-h.kick // only streams with full queues: until one resumes or leaves
			continue
		}
		timer := time.NewTimer(pause)
		select {
		case <-h.kick:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// slice takes one runtime profile and delivers it.
func (h *Hub) slice() {
	rec := newRecorder(h.scratch, maxProfile)
	h.scratch = nil // rec's; it comes back only from a clean stop

	h.lastStart = time.Now()
	err, hung := h.start(rec)
	if err != nil && h.freed() {
		err, hung = h.start(rec)
	}
	switch {
	case hung:
		h.fail(Hung, reasonHung)
		return
	case err != nil:
		h.fail(Busy, reasonBusy(err))
		return
	}
	h.spent(h.lastStart)
	h.suspected(false)

	sl := slice{limit: maxProfile, start: time.Now(), asleepStart: h.clocks.asleep()}
	cpu := h.clocks.cpu()
	h.await(rec, sl.start)
	sl.cpu = h.clocks.cpu() - cpu
	sl.elapsed = time.Since(sl.start)
	sl.asleepEnd = h.clocks.asleep()

	rec.relieve = h.relief()
	if !rec.seal() {
		h.fail(Stolen, h.settle())
		return
	}
	stop := time.Now()
	h.profiler.stop()
	h.spent(stop.Add(rec.relief()))
	sl.data, h.scratch, sl.over = rec.take()

	h.mu.Lock()
	defer h.mu.Unlock()
	h.release()
	h.deliver(sl)
}

// relief is what one of the members wants to have called before the slice is
// written. Whoever has left, because the process ends, need not wait for it.
func (h *Hub) relief() func() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.subs {
		if s.member && s.relieve != nil {
			return s.relieve
		}
	}
	return nil
}

// start starts the profiler on a goroutine of its own. If that hangs, the
// goroutine stays behind, parked, and no other start is tried until it returns.
func (h *Hub) start(rec *recorder) (err error, hung bool) {
	h.mu.Lock()
	parked := h.parked
	h.mu.Unlock()
	if parked { // a stream that had no room in its queue was not told
		return nil, true
	}
	done := make(chan error, 1)
	go func() {
		shedLabels() // runtime/pprof's goroutine inherits them from here
		err := h.profiler.start(rec)

		h.mu.Lock()
		late := h.parked
		if !late {
			done <- err
		}
		h.mu.Unlock()
		if !late {
			return
		}
		if err == nil { // nobody wants it any more
			if rec.seal() {
				h.profiler.stop()
			} else {
				h.settle()
			}
		}
		h.mu.Lock()
		h.parked = false
		h.mu.Unlock()
	}()

	part := time.NewTicker(startTimeout / patienceParts)
	defer part.Stop()
	for range patienceParts {
		select {
		case err := <-done:
			return err, false
		case <-part.C:
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case err := <-done: // at the last moment
		return err, false
	default:
		h.parked = true
		return nil, true
	}
}

// await returns when the slice that began at start is to be cut, or has been
// stolen, or nobody wants it any more.
func (h *Hub) await(rec *recorder, start time.Time) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var ends, joins []time.Duration
		h.mu.Lock()
		for _, s := range h.subs {
			switch {
			case s.member:
				ends = append(ends, s.want-s.got.elapsed)
			case s.ready():
				joins = append(joins, s.since.Sub(start))
			}
		}
		h.mu.Unlock()
		if len(ends) == 0 {
			return
		}
		left := nextCut(ends, joins) - time.Since(start)
		if left <= 0 {
			return
		}
		timer.Reset(left)
		select {
		case <-rec.early:
			return
		case <-h.kick:
		case <-timer.C:
		}
	}
}

// The hub looks again and again for what became of a profile that somebody else
// ended. What they are in the middle of takes a few milliseconds, so a second is
// ample; a jam is believed when it is still one after 50 ms.
const (
	settlePause = 10 * time.Millisecond
	settleTries = 100
	jamTries    = 5
)

// settle finds out how a profile of ours was ended by somebody else and returns
// it in words. If that left the profiler jammed, settle frees it; if nobody can
// tell, the next start will have to (freed).
func (h *Hub) settle() (reason string) {
	jams := 0
	for range settleTries {
		switch h.profiler.slot() {
		case slotMoving:
			jams = 0
		case slotJammed:
			if jams++; jams > jamTries {
				h.profiler.stop()
				return reasonZeroed
			}
		case slotGone:
			return reasonStolen
		default:
			h.suspected(true)
			return reasonUnseen
		}
		time.Sleep(settlePause)
	}
	h.suspected(true)
	return reasonUnseen
}

// freed is for when the profiler is said to be in use. If the profile in the way
// may be one of ours that somebody ended unseen, freed looks again, and ends it if
// it is dead: if the profiler stays in use although nobody profiles. It reports
// whether it did.
func (h *Hub) freed() bool {
	h.mu.Lock()
	suspect := h.suspect
	h.mu.Unlock()
	if !suspect {
		return false
	}
	for range jamTries + 1 {
		switch h.profiler.slot() {
		case slotJammed, slotSilent:
		case slotGone:
			h.suspected(false) // so it is somebody else's
			return false
		default:
			return false // until the next start
		}
		time.Sleep(settlePause)
	}
	// Should somebody have stopped a profile of their own just now, this does
	// nothing: there is none to stop.
	h.profiler.stop()
	h.suspected(false)
	return true
}

func (h *Hub) suspected(yes bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.suspect = yes
}

const (
	// minSlice is the least time between two starts of the profiler, which
	// makes at most 20 a second: at about 3 ms of CPU for a stop and a start,
	// 6% of one core while somebody keeps coming and going.
	minSlice = 50 * time.Millisecond

	// joinWait is how long a subscriber waits for a cut that is due anyway,
	// rather than causing one. It is as long as a block of guard.Check, so that
	// checks running in parallel fall into step and share their slices.
	joinWait = 100 * time.Millisecond

	// nearby cuts become one: of two ends closer than this, the first waits for
	// the second, because after a cut of its own the second would wait longer,
	// until the new slice is minSlice old.
	nearby = minSlice / 2
)

// nextCut is the age at which the current slice is to be cut: ends holds the age
// at which each member has its interval complete (at least one), joins the age at
// which each subscriber that is not yet a member came.
//
// So a joiner waits at most joinWait + nearby, and an interval becomes at most
// minSlice longer than was asked.
func nextCut(ends, joins []time.Duration) time.Duration {
	end := slices.Min(ends)
	cut := end
	for _, join := range joins {
		if end > join+joinWait {
			cut = min(cut, join)
		}
	}
	cut = max(cut, minSlice)

	last := cut
	for _, end := range ends {
		if end <= cut+nearby {
			last = max(last, end)
		}
	}
	return last
}
