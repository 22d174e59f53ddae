package guard

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// callTimeout is how long the counters of the host may take. They are meant to be
// atomic loads.
const callTimeout = 100 * time.Millisecond

// gatherTimeout is the same for a registry, which calls all collectors of the host. To
// gather a series takes some microseconds (go test -run - -bench Registry ./guard).
const gatherTimeout = time.Second

// workCounters reads the host's counters: its Work functions, and its Prometheus
// registry. They are somebody else's code, so each is called on a goroutine of its own,
// with a bound.
type workCounters []*counter

// A counter is one of them. One that hangs is not called again before it has
// returned.
type counter struct {
	units []string                 // what it counts
	label func(unit string) string // what messages call the counter of a unit
	read  func() []answer
	bound time.Duration
	reply chan []answer // of the call under way; nil when there is none
	stuck bool          // that call is an earlier one
	cost  atomic.Int64  // of its calls since spent, in nanoseconds: how long they took
}

// An answer is a number, or why there is none.
type answer struct {
	n     float64
	why   string // "" if there is one
	label string // of the counter
}

// Readings are what all counters said at one moment.
type readings map[string]answer

func newWorkCounters(read map[string]func() float64) workCounters {
	var w workCounters
	for _, name := range slices.Sorted(maps.Keys(read)) {
		w = append(w, &counter{
			units: []string{name}, bound: callTimeout,
			label: func(unit string) string { return fmt.Sprintf("Work[%q]", unit) },
			read:  func() []answer { return []answer{{n: read[name]()}} },
		})
	}
	return w
}

// withRegistry adds the units that a Prometheus registry counts.
func (w workCounters) withRegistry(g prometheus.Gatherer, units []string) workCounters {
	if len(units) == 0 {
		return w
	}
	seen := map[string]bool{} // by one call at a time
	return append(slices.Clip(w), &counter{
		units: units, bound: gatherTimeout,
		label: func(unit string) string { return unit + " of the Prometheus registry" },
		read:  func() []answer { return readRegistry(g, units, seen) },
	})
}

// now reads the counters, all at once.
func (w workCounters) now() readings {
	if len(w) == 0 {
		return nil
	}
	began := time.Now()
	for _, c := range w {
		c.ask()
	}
	r := make(readings, len(w))
	for _, c := range w {
		answers := c.wait(began)
		for i, name := range c.units {
			a := answers[min(i, len(answers)-1)]
			if a.why == "" && (math.IsNaN(a.n) || math.IsInf(a.n, 0)) {
				a = answer{why: fmt.Sprintf("returned %v", a.n)}
			}
			a.label = c.label(name)
			r[name] = a
		}
	}
	return r
}

// spent returns what reading has cost since it was last asked: how long the calls took,
// which is the most that they can have used on the goroutine that makes them.
func (w workCounters) spent() time.Duration {
	var sum int64
	for _, c := range w {
		sum += c.cost.Swap(0)
	}
	return time.Duration(sum)
}

// ask calls the counter, unless an earlier call still hangs.
func (c *counter) ask() {
	if c.reply != nil {
		select {
		case <-c.reply: // the late answer of an earlier call
		default:
			c.stuck = true
			return
		}
	}
	c.stuck = false
	reply := make(chan []answer, 1)
	c.reply = reply
	go c.answer(reply)
}

// wait returns the answers to a call of that time: one for each unit, or one for all.
func (c *counter) wait(asked time.Time) []answer {
	timeout := time.NewTimer(c.bound - time.Since(asked))
	defer timeout.Stop()
	for over := c.stuck; !over; {
		select {
		case <-timeout.C:
			over = len(c.reply) == 0 // it may have come while others were waited for
		case a := <-c.reply:
			c.reply = nil
			return a
		}
	}
	return []answer{{why: fmt.Sprintf("did not return within %v", c.bound)}}
}

func (c *counter) answer(reply chan<- []answer) {
	a := []answer{{why: "ended its goroutine"}}
	defer func() { reply <- a }() // also when it did
	var read []answer
	began := time.Now()
	defer func() { c.cost.Add(int64(time.Since(began))) }()
	if err := call(func() { read = c.read() }); err != nil {
		a = []answer{{why: "failed with a " + err.Error()}}
		return
	}
	a = read
}

// between is the work done from one reading to the next, and why there is none of
// some: of a counter that went back what it counted meanwhile is unknown.
func between(before, after readings) (done map[string]float64, why map[string]string) {
	done, why = map[string]float64{}, map[string]string{}
	for name, b := range after {
		a, known := before[name]
		switch {
		case b.why != "":
			why[name] = fmt.Sprintf("%s %s", b.label, b.why)
		case a.why != "":
			why[name] = fmt.Sprintf("%s %s", a.label, a.why)
		case known && b.n < a.n:
			why[name] = fmt.Sprintf("%s went back from %.15g to %.15g: a counter only ever grows", b.label, a.n, b.n)
		case known && math.IsInf(b.n-a.n, 0): // and what is divided by it is nothing
			why[name] = fmt.Sprintf("%s went from %.15g to %.15g: no counter counts so much in a window", b.label, a.n, b.n)
		case known:
			done[name] = b.n - a.n
		}
	}
	return done, why
}
