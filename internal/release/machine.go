package release

import (
	"fmt"
	"math"
)

// A Machine is what the machine did in a window, besides the work of the process.
type Machine struct {
	Waited float64 // seconds that threads of the process waited for a core
	Others float64 // seconds of cores that other processes used
	Stolen float64 // seconds of cores that the hypervisor gave to other machines
	Cores  float64 // seconds of cores that there were; 0 if nothing is known
}

// And is what the machine did in both of two windows, if that is known of both.
func (m Machine) And(other Machine) Machine {
	if m.Cores == 0 || other.Cores == 0 {
		return Machine{}
	}
	return Machine{m.Waited + other.Waited, m.Others + other.Others, m.Stolen + other.Stolen, m.Cores + other.Cores}
}

// A busyness is how busy a machine was, by what slows a process down: parts of 1.
type busyness [3]float64

// busy is how busy the machine of a side was, and whether that is known.
func (s *Side) busy() (b busyness, known bool) {
	var sum Machine
	cpu := 0.0
	for _, w := range s.Windows {
		if w.Machine.Cores == 0 {
			continue
		}
		if cpu += w.CPU; known {
			sum = sum.And(w.Machine)
		} else {
			sum, known = w.Machine, true
		}
	}
	if !known {
		return b, false
	}
	if ready := sum.Waited + cpu; ready > 0 {
		b[0] = sum.Waited / ready
	}
	b[1], b[2] = min(sum.Others/sum.Cores, 1), min(sum.Stolen/sum.Cores, 1)
	return b, true
}

// busySentences say how busy a machine was, and another one.
var busySentences = [...]string{
	"threads waited %.0f%% of the time for a core, %s %.0f%%",
	"other processes used %.0f%% of its cores, %s %.0f%%",
	"the hypervisor took %.0f%% of its cores, %s %.0f%%",
}

const (
	// busySlope is by what part the same work may cost more CPU on a machine that is busier by 1: caches,
	// memory and, with hyperthreads, the cores themselves are shared. Work that encodes JSON and sorts
	// took 164 to 175 us where others used 65% of two cores, and up to 213 us where they used 92%: 28%
	// more for 27 points. Most runs were below half of that. [commonMost] is the end of it.
	busySlope = 1
	// busyAlike is how much busier a machine may be without a difference that counts.
	busyAlike = 0.05
)

// machine compares how busy the machine was. What the same work may cost more now because it is
// busier, and because it was before, are factors from 1 on.
func (c *comparing) machine() (now, before float64, said string) {
	is, known := c.now.busy()
	was, too := c.before.busy()
	now, before = 1, 1
	if !known || !too {
		return now, before, ""
	}
	most := 0.0
	for i := range is {
		more := is[i] - was[i]
		by := min(1+busySlope*max(0, math.Abs(more)-busyAlike), commonMost)
		if by < 1.01 { // which nobody would see
			continue
		}
		if more > 0 {
			now = max(now, by)
		} else {
			before = max(before, by)
		}
		if math.Abs(more) > most {
			most = math.Abs(more)
			when, high, other, low := "is busier now", is[i], "before", was[i]
			if more < 0 {
				when, high, other, low = "was busier before", was[i], "now", is[i]
			}
			said = fmt.Sprintf("the machine %s ("+busySentences[i]+"), which may be up to %.0f%% of the cost", when, 100*high, other, 100*low, 100*(by-1))
		}
	}
	return now, before, said
}
