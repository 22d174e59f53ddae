package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
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

	pairs, passed int // in all, and when the budgets were decided; 0 while they are not
	took          time.Duration
	until         time.Time // for its profiles
	slices        [2][]slice.Record
	walls         [2][]float64 // seconds of the slices' processes
	short         int          // calls that slices should have, as those so far are too short
	restarts      int
	failure       *failure
	benchtime     string // with which it fails
	works         bool   // goroutines work on after it
}

// A cost is one cost of a call on both sides.
type cost struct {
	name   string
	least  float64 // that counts as growth
	each   [2][]float64
	all    *evidence.Paired
	judged []judged // by the budgets on it
	canBe  bool     // exact
	alpha  float64  // the error of a false failure
}

// A judged cost is what one budget says of it.
type judged struct {
	limit float64
	*evidence.Paired
}

func (m *comparison) newTrial(p *pkg, name string, once [2]slice.Record) *trial {
	return &trial{pkg: p, name: name, once: once, works: once[base].State == slice.Works || once[head].State == slice.Works}
}

// judges sets the budgets, and the error for all of this benchmark.
func (t *trial) judges(budgets []Growth, alpha float64) {
	t.budgets, t.alpha = budgets, alpha
	t.cpu = cost{name: "CPU time", alpha: cpuPart * alpha}
	t.bytes = cost{name: "bytes", least: leastBytes, canBe: true, alpha: allocPart * alpha}
	t.allocs = cost{name: "allocations", least: leastAllocs, canBe: true, alpha: allocPart * alpha}
	for _, c := range t.costs() {
		c.all = evidence.NewPaired(budgets[0].Limit, c.alpha)
		for _, g := range budgets {
			if g.Allocs == c.canBe {
				c.judged = append(c.judged, judged{g.Limit, evidence.NewPaired(g.Limit, c.alpha)})
			}
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
		t.slices[side] = append(t.slices[side], r)
	}
	t.cpu.add(cpu)
	t.bytes.add(bytes)
	t.allocs.add(allocs)
	switch {
	case t.is(evidence.Inconclusive, false, t.costs()...): // also again: what was exact in the first pairs may vary in the next one
		t.passed = 0
	case t.passed == 0:
		t.passed = t.pairs
	}
}

func (c *cost) add(each [2]float64) {
	for side, v := range each {
		c.each[side] = append(c.each[side], v)
	}
	c.all.Add(each[base]+c.least, each[head]+c.least)
	for _, j := range c.judged { // with the base from which the least growth is the limit, if that is more
		j.Add(max(each[base], (each[base]+c.least)/(1+j.limit)), max(each[head], c.least/1000))
	}
}

// spread is how far the slices of a side differ.
func (c *cost) spread(side int) float64 { return slices.Max(c.each[side]) - slices.Min(c.each[side]) }

// exact reports whether each slice of a side had the same, but for the runtime's own allocations.
func (c *cost) exact() bool {
	near := c.least / exactPart
	return c.canBe && len(c.each[head]) >= exactPairs && c.spread(base) <= near && c.spread(head) <= near
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

// verdict is that of a budget, so far or when the time is up.
func (c *cost) verdict(by judged, close bool) evidence.Verdict {
	if c.exact() {
		if before, now := c.value(base), c.value(head); now > (1+by.limit)*before && now-before >= c.least {
			return evidence.Fail
		}
		return evidence.Pass
	}
	if v := c.counted(by.limit); v != evidence.Inconclusive {
		return v
	}
	if close {
		return by.Close()
	}
	return by.Verdict()
}

// is reports whether a budget on one of the costs has a verdict.
func (t *trial) is(v evidence.Verdict, close bool, costs ...*cost) bool {
	return slices.ContainsFunc(costs, func(c *cost) bool {
		return slices.ContainsFunc(c.judged, func(by judged) bool { return c.verdict(by, close) == v })
	})
}

// counted is the verdict by how far the slices of each side differ. What is counted does not depend on the
// machine as times do, so few slices tell, although it may vary with goroutines and with what a sync.Pool
// has lost.
func (c *cost) counted(limit float64) evidence.Verdict {
	if !c.canBe || len(c.each[head]) < leastPairs { // five of ten that go one of two ways do so by side once in 1,000
		return evidence.Inconclusive
	}
	var sides [2]evidence.PerWork
	for side, list := range c.each {
		batches := make([]evidence.Batch, len(list))
		for i, v := range list {
			if side == base {
				v = max(v, (v+c.least)/(1+limit))
			}
			batches[i] = evidence.Batch{Cost: max(v, c.least/1000), Work: 1}
		}
		sides[side] = evidence.CostPerWork(batches)
		// A few slices may be alike by chance. Half of them could have had another one's cost.
		spread := max(c.spread(side), c.least/exactPart) / max(sides[side].Value, c.least)
		sides[side].Variance = max(sides[side].Variance, spread*spread/4/float64(len(list)))
	}
	_, low, _ := sides[head].Against(sides[base], c.alpha/countedLooks)
	_, _, high := sides[head].Against(sides[base], evidence.PairedAlpha/countedLooks)
	switch {
	case low > 1+limit:
		return evidence.Fail
	case high < 1+limit:
		return evidence.Pass
	}
	return evidence.Inconclusive
}

// countedLooks are how often slices are looked at that tell something new.
const countedLooks = 20

// allocatesMore reports whether a call allocates more, as far as is known.
func (t *trial) allocatesMore() bool {
	return slices.ContainsFunc([]*cost{&t.bytes, &t.allocs}, func(c *cost) bool {
		return len(c.each[head]) > 0 && c.value(head)-c.value(base) >= c.least && (c.exact() || c.counted(0) == evidence.Fail)
	}) || t.is(evidence.Fail, true, &t.bytes, &t.allocs)
}

func (t *trial) costs() []*cost { return []*cost{&t.cpu, &t.bytes, &t.allocs} }

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
	for _, list := range t.slices {
		for _, r := range list {
			most = max(most, r.CPU)
		}
	}
	return t.pairs >= exactPairs && most < leastCPU
}

// A trial whose slices are shorter than a quarter of what they may be starts again, so many times.
const shortPart, mostRestarts = 4, 5

// longer is how many calls a slice should have where those of the first pairs are too short, as after a
// calibration during which the machine stalled; 0 if they are long enough.
func (t *trial) longer(want time.Duration) int {
	if t.pairs != exactPairs {
		return 0
	}
	t.short = 0
	cpu := max(median(t.cpu.each[base]), median(t.cpu.each[head]))
	n := min(mostCalls, want.Seconds()/cpu, float64(t.n)*longestSlice.Seconds()/max(median(t.walls[base]), median(t.walls[head]), 1e-9))
	if n >= shortPart*float64(t.n) {
		t.short = int(n)
	}
	return t.short
}

// restart forgets the pairs, and goes on with n calls a slice.
func (t *trial) restart(n int) {
	t.n, t.restarts, t.short = n, t.restarts+1, 0
	t.pairs, t.passed, t.slices, t.walls = 0, 0, [2][]slice.Record{}, [2][]float64{}
	t.judges(t.budgets, t.alpha)
}

// A benchmark that seems to break a budget after a few pairs gets more in a round: as many as a fail takes where 17
// benchmarks share the error.
const fewPairs, mostTurns = 3, 17

// seemsDearer is the growth by which the benchmark seems to break a budget that is not decided yet, 0 if it does not.
// It matters most where the time is short.
func (t *trial) seemsDearer() (growth float64) {
	for _, c := range t.costs() {
		for _, by := range c.judged {
			if v := c.all.Value(); t.pairs >= fewPairs && t.failure == nil && v > max(by.limit, growth) && c.verdict(by, false) == evidence.Inconclusive {
				growth = v
			}
		}
	}
	return growth
}

// cheaper reports whether the head surely takes less CPU time, by the bounds that are shown.
func (t *trial) cheaper() bool {
	_, high := t.cpu.all.Bounds(evidence.PairedAlpha)
	return high < 0
}

// close is the outcome when the time is up, or all is decided.
func (t *trial) close() report.Benchmark {
	b := report.Benchmark{
		Package: t.pkg.path, Name: t.name, New: t.pkg.new, Verdict: report.Kept, Pairs: t.pairs, Took: t.took, Slices: t.slices,
		CPU: t.cpu.metric(), Bytes: t.bytes.metric(), Allocs: t.allocs.metric(),
	}
	if t.failure != nil {
		b.Verdict, b.Reason, b.Output = t.failure.verdict(), t.failure.Error()+" with -benchtime="+t.benchtime, t.failure.output
		return b
	}
	if t.works {
		b.Verdict, b.Reason = report.Undecided, "its goroutines work on for more than 5s after it has returned, so their cost is unknown: it should wait for them"
		return b
	}
	if t.idle() && t.short > 0 && !t.breaks() {
		b.Verdict, b.Reason = report.Undecided, fmt.Sprintf("takes less than %v of CPU time in %s, and more calls were not possible: the machine seems to stall; run it again",
			leastCPU, unit.Plural(t.n, "call"))
		return b
	}
	if t.idle() {
		b.CPU = report.Metric{}
	}
	if t.idle() && !t.breaks() {
		b.Verdict, b.Reason = report.Unjudged, fmt.Sprintf("takes less than %v of CPU time in %s, which is too little to compare", leastCPU, unit.Plural(t.n, "call"))
		return b
	}
	t.figures(&b)
	b.Note = t.waits()
	b.Improved = b.Verdict == report.Kept && t.pairs > 0 && t.cheaper()
	return b
}

// figures judges each cost by itself. The benchmark is broken if any is, whatever is known of the others.
func (t *trial) figures(b *report.Benchmark) {
	metrics := [...]*report.Metric{&b.CPU, &b.Bytes, &b.Allocs}
	reasons := map[report.Verdict][]string{}
	for k, c := range t.costs() {
		for _, by := range c.judged {
			if metrics[k].Verdict == report.Broken || c == &t.cpu && t.idle() {
				continue
			}
			v, reason := report.Kept, ""
			switch c.verdict(by, true) {
			case evidence.Fail:
				v, reason = report.Broken, fmt.Sprintf("%s above %.4g%%", c.name, 100*by.limit)
			case evidence.Inconclusive:
				v, reason = report.Undecided, t.open(c)
			default:
				if c.verdict(by, false) != evidence.Pass {
					reason = fmt.Sprintf("%s below %.4g%%", c.name, 150*by.limit)
				}
			}
			if metrics[k].Verdict != report.Undecided || v == report.Broken {
				metrics[k].Verdict = v
			}
			if reason != "" && !slices.Contains(reasons[v], reason) { // one is about all costs
				reasons[v] = append(reasons[v], reason)
			}
		}
	}
	for _, v := range [...]report.Verdict{report.Broken, report.Undecided, report.Kept} {
		if b.Reason = strings.Join(reasons[v], ", "); b.Reason != "" {
			b.Verdict = v
			break
		}
	}
	if open := reasons[report.Undecided]; b.Verdict == report.Broken && len(open) > 0 {
		b.Reason += "; undecided: " + open[0]
	}
}

// Wall time that grows by at least a fifth, and by more than twice what CPU time may have grown, is told.
const wallGrowth, wallRatio = 0.2, 2

// waits says that calls take longer by much more than they compute, "" if they surely do not. It is no
// verdict: a machine with other work changes wall time.
func (t *trial) waits() string {
	wall := evidence.NewPaired(wallGrowth, falseFailures)
	before := make([]float64, t.pairs)
	for i := range before {
		call := func(side int) float64 {
			return max(t.slices[side][i].Wall.Seconds(), 1e-9) / float64(t.slices[side][i].N)
		}
		before[i] = call(base)
		wall.Add(before[i], call(head))
	}
	_, cpu := t.cpu.all.Bounds(evidence.PairedAlpha)
	low, _ := wall.Bounds(evidence.PairedAlpha)
	if low <= wallGrowth || low <= wallRatio*cpu {
		return ""
	}
	was := median(before)
	return fmt.Sprintf("a call takes %s of wall time, %s before, surely %.0f%% more, and CPU time grows by at most %.0f%%: it waits longer, as for a lock, a channel or a file",
		report.Seconds(was*(1+wall.Value())), report.Seconds(was), 100*low, 100*max(cpu, 0))
}

// open says why a benchmark is undecided.
func (t *trial) open(c *cost) string {
	switch {
	case t.pairs == 0:
		return fmt.Sprintf("no pair in the time; a pair takes about %s, and a decision takes at least %d", t.pairTime(), leastPairs)
	case t.pairs < leastPairs:
		return fmt.Sprintf("only %s in the time, of about %s each; a decision takes at least %d", unit.Plural(t.pairs, "pair"), t.pairTime(), leastPairs)
	}
	if low, _ := c.all.Bounds(evidence.PairedAlpha); low > t.budgets[0].Limit {
		return fmt.Sprintf("%s seems above the limit, but %d pairs prove too little with this many benchmarks", c.name, t.pairs)
	}
	return fmt.Sprintf("%s too near the limit for the noise of %d pairs", c.name, t.pairs)
}

// pairTime is how long a pair takes.
func (t *trial) pairTime() time.Duration {
	each := max(t.once[base].Wall+t.once[head].Wall, 2*sliceCPU)
	if t.pairs > 0 {
		each = t.took / time.Duration(t.pairs)
	}
	for _, unit := range []time.Duration{time.Second, 100 * time.Millisecond, time.Millisecond} {
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
	m := report.Metric{Base: median(c.each[base])}
	if max(m.Base, median(c.each[head])) < c.least { // of the runtime, now and then
		growth := 0.0
		return report.Metric{Growth: &growth, Exact: true}
	}
	low, high := c.all.Bounds(evidence.PairedAlpha)
	growth := min(max(c.all.Value(), low), high)
	// The growth is that of pairs, with the least added. Medians of each side may differ by another
	// amount, or the other way: the head is what the growth makes of the base.
	m.Head = max(0, m.Base+growth*(m.Base+c.least))
	of := func(growth float64) *float64 {
		if m.Base > 0 {
			growth = max(-1, growth*(m.Base+c.least)/m.Base)
		}
		return &growth
	}
	m.Growth = of(growth)
	if low > -1 && !math.IsInf(high, 1) {
		m.Low, m.High = of(low), of(high)
	}
	return m
}

func median(list []float64) float64 {
	x := slices.Sorted(slices.Values(list))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}
