package compare

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/compare/report"
	"github.com/profguard/profguard/internal/compare/slice"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/unit"
)

const (
	// exactPairs are how many pairs must agree until a cost counts as exact.
	exactPairs = 5

	// leastPairs are the pairs that a verdict takes, with evidence of less than ln 2 from each.
	leastPairs = 8

	// cpuPart of the error is for CPU time, and the rest for allocations, which mostly are exact.
	cpuPart, allocPart = 0.8, 0.1

	// A cheaper benchmark is measured up to so many times the pairs that its pass took, to tell
	// by how much.
	cheaperPairs = 4

	// Less than half an allocation or 8 bytes a call are no growth: the runtime allocates too. What
	// differs by less than this part of it from slice to slice is the same.
	leastAllocs, leastBytes, exactPart = 0.5, 8, 4
)

// A trial is one benchmark that is measured.
type trial struct {
	pkg  *pkg
	name string
	once [2]slice.Record
	n    int // iterations of a slice

	alpha              float64
	budgets            []Growth
	cpu, bytes, allocs cost

	pairs, passed int // in all, and when the budgets were decided
	took          time.Duration
	slices        []report.Slice
	failure       *failure
	benchtime     string // with which it fails
	works         bool   // goroutines work on after it
}

// A cost is one cost of a call on both sides.
type cost struct {
	least  float64 // that counts as growth
	each   [2][]float64
	lo, hi [2]float64 // of each
	all    *evidence.Paired
	judged []*evidence.Paired // by the budgets, nil for those on other costs
	canBe  bool               // exact
}

func (m *comparison) newTrial(p *pkg, name string, once [2]slice.Record) *trial {
	return &trial{pkg: p, name: name, once: once}
}

// judges sets the budgets, and the error for all of this benchmark.
func (t *trial) judges(budgets []Growth, alpha float64) {
	t.budgets, t.alpha = budgets, alpha
	t.bytes.least, t.allocs.least = leastBytes, leastAllocs
	t.bytes.canBe, t.allocs.canBe = true, true
	for i, c := range t.costs() {
		part := [...]float64{cpuPart, allocPart, allocPart}[i]
		c.all = evidence.NewPaired(budgets[0].Limit, part*alpha)
		for _, g := range budgets {
			var p *evidence.Paired
			if g.Allocs == c.canBe {
				p = evidence.NewPaired(g.Limit, part*alpha)
			}
			c.judged = append(c.judged, p)
		}
	}
}

// add takes a pair.
func (t *trial) add(got [2]slice.Record) {
	t.pairs++
	var cpu, bytes, allocs [2]float64
	for side, r := range got {
		n := float64(r.N)
		if r.State == slice.Works {
			t.works = true
		}
		cpu[side] = max(r.CPU.Seconds(), 1e-6) / n // its resolution is a microsecond
		bytes[side], allocs[side] = float64(r.Bytes)/n, float64(r.Allocs)/n
		t.slices = append(t.slices, report.Slice{Head: side == head, N: r.N, Wall: r.Wall, CPU: r.CPU, Bytes: r.Bytes, Allocs: r.Allocs})
	}
	t.cpu.add(t.budgets, cpu)
	t.bytes.add(t.budgets, bytes)
	t.allocs.add(t.budgets, allocs)
	if t.passed == 0 && t.judgedAll() {
		t.passed = t.pairs
	}
}

func (c *cost) add(budgets []Growth, each [2]float64) {
	for side, v := range each {
		if c.each[side] = append(c.each[side], v); len(c.each[side]) == 1 {
			c.lo[side], c.hi[side] = v, v
		}
		c.lo[side], c.hi[side] = min(c.lo[side], v), max(c.hi[side], v)
	}
	c.all.Add(each[base]+c.least, each[head]+c.least)
	for i, p := range c.judged {
		if p != nil { // with the base from which the least growth is the limit, if that is more
			p.Add(max(each[base], (each[base]+c.least)/(1+budgets[i].Limit)), max(each[head], c.least/1000))
		}
	}
}

// exact reports whether each slice of a side had the same, but for the runtime's own allocations.
func (c *cost) exact() bool {
	near := c.least / exactPart
	return c.canBe && len(c.each[head]) >= exactPairs && c.hi[base]-c.lo[base] <= near && c.hi[head]-c.lo[head] <= near
}

// value is what a call costs on a side that is exact: a whole number, unless some calls allocate more
// than others.
func (c *cost) value(side int) float64 {
	v := median(c.each[side])
	if whole := math.Round(v); math.Abs(v-whole) <= c.least/exactPart {
		return whole
	}
	return v
}

// verdict is that of budget i.
func (c *cost) verdict(i int, limit float64, close bool) evidence.Verdict {
	switch p := c.judged[i]; {
	case p == nil:
		return evidence.Pass
	case c.exact():
		if before, now := c.value(base), c.value(head); now > (1+limit)*before && now-before >= c.least {
			return evidence.Fail
		}
		return evidence.Pass
	case close:
		return p.Close()
	default:
		return p.Verdict()
	}
}

func (t *trial) costs() []*cost { return []*cost{&t.cpu, &t.bytes, &t.allocs} }

func (t *trial) judgedAll() bool {
	for _, c := range t.costs() {
		for i, g := range t.budgets {
			if c.verdict(i, g.Limit, false) == evidence.Inconclusive {
				return false
			}
		}
	}
	return true
}

// decided reports whether more pairs would tell nothing new.
func (t *trial) decided() bool {
	if t.failure != nil || t.works || t.idle() {
		return true
	}
	if t.passed == 0 {
		return false
	}
	seemsCheaper := t.cpu.all.Value() < -t.budgets[0].Limit && !t.cheaper()
	return !seemsCheaper || t.pairs >= cheaperPairs*t.passed
}

// leastCPU is the CPU time of a slice below which its clock, which counts microseconds, tells nothing.
const leastCPU = 100 * time.Microsecond

// idle reports whether the benchmark takes too little CPU time to measure, as one that waits, or that
// has nothing in its loop.
func (t *trial) idle() bool {
	most := time.Duration(0)
	for _, s := range t.slices {
		most = max(most, s.CPU)
	}
	return t.pairs >= exactPairs && most < leastCPU
}

// turns are how many pairs the benchmark gets in a round: more if it seems to break a budget, as
// that matters most where the time is short.
func (t *trial) turns() int {
	if t.pairs >= 4 && t.failure == nil && t.cpu.all.Value() > t.budgets[0].Limit {
		return 3
	}
	return 1
}

// cheaper reports whether the head surely takes less CPU time, by the bounds that are shown.
func (t *trial) cheaper() bool {
	_, high := t.cpu.all.Bounds(evidence.PairedAlpha)
	return high < 0
}

// close is the outcome when the time is up, or all is decided.
func (t *trial) close() report.Benchmark {
	b := report.Benchmark{
		Package: t.pkg.path, Name: t.name, Verdict: report.Kept, Pairs: t.pairs, Took: t.took, Slices: t.slices,
		CPU: t.cpu.metric(), Bytes: t.bytes.metric(), Allocs: t.allocs.metric(),
	}
	if t.failure != nil {
		b.Verdict, b.Reason, b.Output = t.failure.verdict(), t.failure.Error()+" with -benchtime="+t.benchtime, t.failure.output
		return b
	}
	if t.works {
		b.Verdict, b.Reason = report.Undecided, "its goroutines work on for more than 5s after it has returned, and what they cost is not known: it should wait for them"
		return b
	}
	if t.idle() {
		b.Verdict, b.Reason = report.Unjudged, fmt.Sprintf("takes less than %v of CPU time in %s, which is too little to compare", leastCPU, unit.Plural(t.n, "call"))
		return b
	}
	names := [...]string{"CPU time", "bytes", "allocations"}
	for k, c := range t.costs() {
		for i, g := range t.budgets {
			v := c.verdict(i, g.Limit, true)
			switch {
			case v == evidence.Fail && b.Verdict != report.Broken:
				b.Verdict, b.Reason = report.Broken, fmt.Sprintf("%s above %.4g%%", names[k], 100*g.Limit)
			case v == evidence.Inconclusive && b.Verdict == report.Kept:
				b.Verdict, b.Reason = report.Undecided, t.open(names[k], c)
			case v == evidence.Pass && b.Verdict == report.Kept && c.judged[i] != nil && c.verdict(i, g.Limit, false) != v:
				b.Reason = fmt.Sprintf("%s below %.4g%%", names[k], 150*g.Limit)
			}
		}
	}
	b.Improved = b.Verdict == report.Kept && t.pairs > 0 && t.cheaper()
	return b
}

// open says why a benchmark is undecided.
func (t *trial) open(name string, c *cost) string {
	switch {
	case t.pairs == 0:
		return fmt.Sprintf("no pair in the time; one takes some %s, and at least %d decide", t.pairTime(), leastPairs)
	case t.pairs < leastPairs:
		return fmt.Sprintf("only %s in the time, of some %s each; at least %d decide", unit.Plural(t.pairs, "pair"), t.pairTime(), leastPairs)
	}
	if low, _ := c.all.Bounds(evidence.PairedAlpha); low > t.budgets[0].Limit {
		return fmt.Sprintf("%s seems above the limit, and %d pairs prove too little among so many benchmarks", name, t.pairs)
	}
	return fmt.Sprintf("%s too near the limit for the noise of %d pairs", name, t.pairs)
}

// pairTime is how long a pair takes.
func (t *trial) pairTime() time.Duration {
	each := t.once[base].Wall + t.once[head].Wall
	if t.pairs > 0 {
		each = t.took / time.Duration(t.pairs)
	}
	for _, unit := range []time.Duration{time.Second, time.Millisecond} {
		if each >= 10*unit {
			return each.Round(unit)
		}
	}
	return each
}

// metric is the cost as it is reported.
func (c *cost) metric() report.Metric {
	if len(c.each[head]) == 0 {
		return report.Metric{}
	}
	if c.exact() {
		m := report.Metric{Base: c.value(base), Head: c.value(head), Exact: true}
		if m.Base > 0 || m.Head == 0 {
			growth := 0.0
			if m.Base > 0 {
				growth = m.Head/m.Base - 1
			}
			m.Growth = &growth
		}
		return m
	}
	m := report.Metric{Base: median(c.each[base]), Head: median(c.each[head])}
	growth := c.all.Value()
	if max(m.Base, m.Head) < c.least { // of the runtime, now and then
		growth = 0
		return report.Metric{Growth: &growth, Exact: true}
	}
	m.Growth = &growth
	if low, high := c.all.Bounds(evidence.PairedAlpha); low > -1 && !math.IsInf(high, 1) {
		m.Low, m.High = &low, &high
	}
	return m
}

func median(list []float64) float64 {
	x := slices.Sorted(slices.Values(list))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}
