package release

import (
	"fmt"
	"math"
)

// A Machine is what the machine did in a piece, besides the work of the process.
type Machine struct {
	Waited float64 // seconds that threads of the process waited for a core
	Others float64 // seconds of cores that other processes used
	Stolen float64 // seconds of cores that the hypervisor gave to other machines
	Cores  float64 // seconds of cores that there were; 0 if nothing is known
}

// and is what the machine did in both of two pieces.
func (m Machine) and(other Machine) Machine {
	return Machine{m.Waited + other.Waited, m.Others + other.Others, m.Stolen + other.Stolen, m.Cores + other.Cores}
}

// A busyness is how busy a machine was, by what slows a process down: parts of 1.
type busyness [3]float64

// busy is how busy the machine was, and whether that is known.
func (p *Pieces) busy() (b busyness, known bool) {
	m := p.Machine
	if !(m.Cores > 0) {
		return b, false
	}
	if ready := m.Waited + p.CPUThere; ready > 0 {
		b[0] = m.Waited / ready
	}
	b[1], b[2] = min(m.Others/m.Cores, 1), min(m.Stolen/m.Cores, 1)
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
	// more for 27 points. Most runs were below half of that. busyMost is the end of it.
	busySlope = 1
	busyMost  = 1.3
	// busyAlike is how much busier a machine may be without a difference that counts.
	busyAlike = 0.05
)

// machine compares how busy the machine was. What the same work may cost more now because it is
// busier, and because it was before, are factors from 1 on.
func (c *comparing) machine() (busier, wasBusier float64, said string) {
	is, known := c.sides[now].Pieces.busy()
	was, too := c.sides[before].Pieces.busy()
	busier, wasBusier = 1, 1
	if !known || !too {
		return busier, wasBusier, ""
	}
	most := 0.0
	for i := range is {
		more := is[i] - was[i]
		by := min(1+busySlope*max(0, math.Abs(more)-busyAlike), busyMost)
		if by < 1.01 { // which nobody would see
			continue
		}
		if more > 0 {
			busier = max(busier, by)
		} else {
			wasBusier = max(wasBusier, by)
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
	return busier, wasBusier, said
}
