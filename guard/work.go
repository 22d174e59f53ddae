package guard

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// callTimeout is how long the counters of the host may take. They are meant to be
// atomic loads.
const callTimeout = 100 * time.Millisecond

// workCounters reads the host's counters. They are somebody else's code, so each
// is called on a goroutine of its own, with a bound.
type workCounters []*counter

// A counter is one of them. One that hangs is not called again before it has
// returned.
type counter struct {
	name  string
	read  func() float64
	reply chan answer // of the call under way; nil when there is none
	stuck bool        // that call is an earlier one
}

// An answer is a number, or why there is none.
type answer struct {
	n   float64
	not string
}

// Readings are what all counters said at one moment.
type readings map[string]answer

func newWorkCounters(read map[string]func() float64) workCounters {
	var w workCounters
	for _, name := range slices.Sorted(maps.Keys(read)) {
		w = append(w, &counter{name: name, read: read[name]})
	}
	return w
}

// now reads the counters, all at once.
func (w workCounters) now() readings {
	if len(w) == 0 {
		return nil
	}
	for _, c := range w {
		c.ask()
	}
	timeout := time.NewTimer(callTimeout)
	defer timeout.Stop()
	late := false
	r := make(readings, len(w))
	for _, c := range w {
		if !late && !c.stuck {
			select {
			case r[c.name] = <-c.reply:
				c.reply = nil
				continue
			case <-timeout.C:
				late = true
			}
		}
		select {
		case r[c.name] = <-c.reply:
			c.reply = nil
		default:
			r[c.name] = answer{not: fmt.Sprintf("did not return within %v: it is to be as quick as an atomic load", callTimeout)}
		}
	}
	return r
}

// ask calls the counter, unless an earlier call still hangs.
func (c *counter) ask() {
	if c.reply != nil {
		select {
		case <-c.reply: // the late answer of an earlier call is worth nothing
		default:
			c.stuck = true
			return
		}
	}
	c.stuck = false
	reply := make(chan answer, 1)
	c.reply = reply
	go c.answer(reply)
}

func (c *counter) answer(reply chan<- answer) {
	a := answer{not: "ended its goroutine"}
	defer func() { reply <- a }() // also when it did
	var n float64
	err := call(func() { n = c.read() })
	switch {
	case err != nil:
		a = answer{not: "failed with a " + err.Error()}
	case math.IsNaN(n) || math.IsInf(n, 0):
		a = answer{not: fmt.Sprintf("returned %v", n)}
	default:
		a = answer{n: n}
	}
}

// between is the work done from one reading to the next, and why there is none of
// some: of a counter that went back what it counted meanwhile is unknown.
func between(before, after readings) (done map[string]float64, not map[string]string) {
	done, not = map[string]float64{}, map[string]string{}
	for name, b := range after {
		a, known := before[name]
		switch {
		case b.not != "":
			not[name] = fmt.Sprintf("Work[%q] %s", name, b.not)
		case a.not != "":
			not[name] = fmt.Sprintf("Work[%q] %s", name, a.not)
		case known && b.n < a.n:
			not[name] = fmt.Sprintf("Work[%q] went back from %.15g to %.15g: a counter only ever grows", name, a.n, b.n)
		case known && math.IsInf(b.n-a.n, 0): // and what is divided by it is nothing
			not[name] = fmt.Sprintf("Work[%q] went from %.15g to %.15g: no counter counts so much in a window", name, a.n, b.n)
		case known:
			done[name] = b.n - a.n
		}
	}
	return done, not
}
