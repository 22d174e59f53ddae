package loop

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/foreign"
	"github.com/profguard/profguard/internal/unit"
)

// callTimeout is how long a Work function may take, which should be an atomic load, and ShowsLabel, which computes.
const callTimeout = 100 * time.Millisecond

// GatherTimeout is how long a registry may take, which calls all collectors of the host. To
// gather a series takes some microseconds (go test -run - -bench Read ./internal/registry).
const GatherTimeout = time.Second

// An Answer is the value of a counter of work, or the reason why there is none.
type Answer struct {
	N   float64
	Why string             // "" if there is a number
	By  map[string]float64 // of a unit with "by": of each value of the label, in the place of N
}

// Answers are the answers of all counters at one moment, by their units of work.
type Answers map[string]Answer

// counters reads the counters of the host: its Work functions, and its registry, which is
// asked only while a budget has a unit of it ("per http_requests_total").
type counters struct {
	sources  []*source
	registry *source // the last of them
}

// A source is a Work function, or the registry. While a call hangs, there is no other one.
type source struct {
	units []string // to read
	read  func(units []string) (Answers, error)
	bound time.Duration
	busy  atomic.Bool // a call has not returned
}

func newCounters(read map[string]func() float64, registry func(units []string) (Answers, error)) *counters {
	c := &counters{registry: &source{read: registry, bound: GatherTimeout}}
	for name, f := range read {
		c.sources = append(c.sources, &source{
			units: []string{name}, bound: callTimeout,
			read: func([]string) (Answers, error) { return Answers{name: {N: f()}}, nil },
		})
	}
	c.sources = append(c.sources, c.registry)
	return c
}

// now asks all sources at once, so that one that hangs does not make the others late.
func (c *counters) now() Answers {
	replies := make([]Answers, len(c.sources))
	var calls sync.WaitGroup
	for i, s := range c.sources {
		calls.Go(func() { replies[i] = s.ask() })
	}
	calls.Wait()
	r := Answers{}
	for _, reply := range replies {
		maps.Copy(r, reply)
	}
	return r
}

// ask calls the source for an answer for each unit.
func (s *source) ask() Answers {
	if len(s.units) == 0 {
		return nil
	}
	var list Answers
	err := errors.New("an earlier call has not returned")
	if s.busy.CompareAndSwap(false, true) {
		units := s.units // which change while a call hangs
		err = foreign.Within(s.bound, func() (err error) {
			defer s.busy.Store(false)
			list, err = s.read(units)
			return err
		})
	}
	if err == nil {
		return list
	}
	failed := Answers{}
	for _, name := range s.units {
		failed[name] = Answer{Why: fmt.Sprintf("the counter of %s: %v", name, err)}
	}
	return failed
}

// apart is the work of each value of a label from one reading to the next, by units with "by". A value that is not in
// both, or whose counter went back, has none: its first work is in no reading.
func apart(before, after Answers) map[string]map[string]float64 {
	done := map[string]map[string]float64{}
	for text, b := range after {
		if b.By == nil {
			continue
		}
		by := map[string]float64{}
		for value, n := range b.By {
			if was, known := before[text].By[value]; known && isWork(n-was) {
				by[value] = n - was
			}
		}
		done[text] = by
	}
	return done
}

// mostWork is more than anybody counts between two readings: the nanoseconds of a thousand cores are 1e13. The sum of its
// squares in a reference is finite, as is what is divided by the least.
const mostWork = 1e24

// isWork reports whether a counter can have grown by so much. That is false without a number.
func isWork(grown float64) bool { return grown == 0 || grown >= 1/mostWork && grown <= mostWork }

// between is the work from one reading to the next, and the reasons why it is not known for
// some units: if a counter has decreased, for example.
func between(before, after Answers) (done map[string]float64, why map[string]string) {
	done, why = map[string]float64{}, map[string]string{}
	for name, b := range after {
		a, known := before[name]
		switch grown := b.N - a.N; {
		case b.Why != "" || a.Why != "":
			why[name] = cmp.Or(b.Why, a.Why)
		case known && !isWork(grown):
			why[name] = fmt.Sprintf("the counter of %s went from %.15g to %.15g, which cannot be counted as growth", name, a.N, b.N)
		case b.By != nil: // see apart
		case known:
			done[name] = grown
		}
	}
	return done, why
}

// RegistryUnits are the units of work of budgets that have no Work function.
func RegistryUnits(set budget.Set, read map[string]func() float64) []string {
	units := map[string]bool{}
	for _, b := range set {
		per := b.Per
		if b.Rule == budget.RuleLimit {
			per = unit.WorkBy(per, b.Label()) // a Work function counts all values together
		}
		if _, counted := read[per]; per != "" && !counted {
			units[per] = true
		}
	}
	return slices.Sorted(maps.Keys(units))
}
