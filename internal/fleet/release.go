// Package fleet is for tests: it compares builds by the formula of docs/alerts.yml, and simulates
// fleets to judge. A test in internal/integration holds it against Prometheus with these rules.
package fleet

import "math"

// A Process is what a process exports: the sums over all its windows.
type Process struct {
	Samples, Work float64
	Seconds       float64   // of its windows
	Hits          []float64 // by function; below zero where there is no series
	Rest          float64   // a share that no function without a series exceeds
}

// build are the sums over the processes of a build.
type build struct {
	work, work2, samples, rest   float64
	seconds                      float64
	hits, hits2, hitsWork, above []float64 // by function
	known                        []bool    // a process has a series of it
}

func newBuild(processes []Process, functions int) *build {
	b := &build{
		hits: make([]float64, functions), hits2: make([]float64, functions), hitsWork: make([]float64, functions),
		above: make([]float64, functions), known: make([]bool, functions),
	}
	for i := range processes {
		p := &processes[i]
		if p.Work <= 0 {
			continue
		}
		rest := p.Rest * p.Samples
		b.seconds += p.Seconds
		b.work, b.work2, b.samples, b.rest = b.work+p.Work, b.work2+p.Work*p.Work, b.samples+p.Samples, b.rest+rest
		for f, h := range p.Hits {
			if h < 0 {
				continue
			}
			b.known[f] = true
			b.hits[f] += h
			b.hits2[f] += h * h
			b.hitsWork[f] += h * p.Work
			b.above[f] += h - rest
		}
	}
	return b
}

// effective is how many processes with the same work would tell as much.
func (b *build) effective() float64 { return b.work * b.work / b.work2 }

// variance is that of the cost of a function, from how the processes differ.
func (b *build) variance(f int) (v float64, known bool) {
	cost := b.hits[f] / b.work
	n := b.effective()
	v = (b.hits2[f] - 2*cost*b.hitsWork[f] + cost*cost*b.work2) / (b.work * b.work) * n / (n - 1)
	return v, b.known[f] && n-1 > 0.01
}

// A mean is an average over the times at which there is a value.
type mean struct{ sum, n float64 }

func (m *mean) add(v float64) { m.sum, m.n = m.sum+v, m.n+1 }
func (m *mean) of() float64   { return m.sum / m.n }

// Old is the build before, on its last day.
type Old struct {
	functions                               int
	samples, work, rest, effective, seconds mean
	most, workOf, variance                  []mean
}

// NewOld returns one of which nothing is known yet.
func NewOld(functions int) *Old {
	return &Old{functions: functions, most: make([]mean, functions), workOf: make([]mean, functions), variance: make([]mean, functions)}
}

// See adds how its processes are at one more time.
func (o *Old) See(processes []Process) {
	b := newBuild(processes, o.functions)
	if b.work == 0 {
		return
	}
	o.samples.add(b.samples)
	o.work.add(b.work)
	o.rest.add(b.rest)
	o.effective.add(b.effective())
	o.seconds.add(b.seconds)
	for f := range o.most {
		if !b.known[f] {
			continue
		}
		o.most[f].add(b.above[f] + b.rest)
		o.workOf[f].add(b.work)
		if v, known := b.variance(f); known {
			o.variance[f].add(v * b.work)
		}
	}
}

// The constants of the rule: twice ln(1/chance), and the least points.
const (
	sure        = 24
	leastPoints = 0.001
)

// few is how much the formula for few processes counts: 1 up to 10, where how they differ is hardly
// known, and 0 from 20 on. In between it is a mixture, so that one process more or less is no step.
func few(n float64) float64 { return min(max(2-n/10, 0), 1) }

// A Difference is what a function of a new build costs more.
type Difference struct {
	Points   float64 // of what a unit of work did cost
	Variance float64 // of the cost in hits per unit of work, if it is as before
	Evidence float64 // twice ln(1/chance) of so much more by chance
	Sure     bool
}

// Compare compares the functions of a new build with the old one.
func (o *Old) Compare(processes []Process) []Difference {
	list := make([]Difference, o.functions)
	b := newBuild(processes, o.functions)
	n := max(b.effective(), o.effective.of())
	if b.work == 0 || !(n > 2.1) {
		return list
	}
	total := o.samples.of() / o.work.of()
	gone := 0.0
	for f := range list {
		if o.most[f].n > 0 && !b.known[f] {
			gone = max(gone, o.most[f].of()/o.workOf[f].of())
		}
	}
	for f := range list {
		if b.known[f] {
			list[f] = o.compare(b, f, n, total, gone)
		}
	}
	return list
}

// load is the factor by which the old build's costs are taken, where a process of the new one has less work a
// second. Some of what it does takes the same time whatever work there is: only what costs more per unit of
// work, and more per second, is more.
func (o *Old) load(b *build) float64 {
	return max(1, o.work.of()/o.seconds.of()*b.seconds/b.work)
}

func (o *Old) compare(b *build, f int, n, total, gone float64) (d Difference) {
	was, old := o.rest.of()/o.work.of(), 0.0
	if o.most[f].n > 0 {
		was = o.most[f].of() / o.workOf[f].of()
	}
	if o.variance[f].n > 0 {
		old = o.variance[f].of() / o.workOf[f].of()
	}
	load := o.load(b)
	was, old = was*load, old*load*load
	cost := b.hits[f] / b.work
	more, fewNow := cost-was, few(b.effective())
	d.Points = more / total
	moved := o.most[f].n == 0 && more/load < 2*gone
	// A few processes differ by factors rather than by amounts. The limits are for a cost of 0.
	factor := min(max(cost/was, 1e-9), 1e9)
	sampling := was / b.work * (1 + fewNow) * math.Pow(min(was/cost, 1), 0.75*fewNow)
	bernstein := (1 - fewNow) * more / (3 * b.work)
	more = fewNow*was*math.Log(factor) + (1-fewNow)*more
	now := old*o.effective.of()/b.effective() + sampling
	if own, known := b.variance(f); known {
		own *= math.Pow(min(was/cost, 1), 1+fewNow)
		now = max(now, own)
		old = max(old, few(o.effective.of())*own*b.effective()/o.effective.of())
	}
	d.Variance = now + old + bernstein
	d.Evidence = n * math.Log1p(more*more/d.Variance/(n-1))
	d.Sure = d.Points > leastPoints && !moved && d.Evidence > sure
	return d
}
