package guard

import (
	"maps"
	"slices"
	"time"
)

// callTimeout is how long a counter of the host may take. They are meant to be
// atomic loads.
const callTimeout = 100 * time.Millisecond

// workCounters reads the host's counters. They are somebody else's code, so they
// are called away from the loop, with a bound: one that hangs is not called
// again before it has returned.
type workCounters struct {
	names []string
	read  map[string]func() float64
	reply chan map[string]float64 // of the call under way; nil when there is none
}

func newWorkCounters(read map[string]func() float64) *workCounters {
	return &workCounters{read: read, names: slices.Sorted(maps.Keys(read))}
}

// now returns the counters that can be read, or nil.
func (w *workCounters) now() map[string]float64 {
	if len(w.names) == 0 {
		return nil
	}
	if w.reply != nil {
		select {
		case <-w.reply: // the late answer of an earlier call is worth nothing
			w.reply = nil
		default:
			return nil
		}
	}
	reply := make(chan map[string]float64, 1)
	go func() {
		values := make(map[string]float64, len(w.names))
		defer func() { reply <- values }() // also when a counter ends the goroutine
		for _, name := range w.names {
			if err := call(func() { values[name] = w.read[name]() }); err != nil {
				delete(values, name)
			}
		}
	}()
	timeout := time.NewTimer(callTimeout)
	defer timeout.Stop()
	select {
	case values := <-reply:
		return values
	case <-timeout.C:
		w.reply = reply
		return nil
	}
}

// between is the work done from one reading to the next. A counter that went
// back was reset, and what it counted meanwhile is unknown.
func between(before, after map[string]float64) map[string]float64 {
	done := map[string]float64{}
	for name, n := range after {
		if m, ok := before[name]; ok && n >= m {
			done[name] = n - m
		}
	}
	return done
}
