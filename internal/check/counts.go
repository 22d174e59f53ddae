package check

import (
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/unit"
	"github.com/profguard/profguard/internal/work"
)

// Budgets on the whole process are judged by counters of the kernel and the runtime, and
// not by samples: "process below 5ms per call", "process below 0.5 cores", "process below
// 64KiB per call of allocs". Work is called in batches, with a pause after each. In a batch
// the process uses at least as much as work does, so its use can prove that a limit is
// kept. In a pause only other code of the process runs. Less that, the use in a batch can
// prove that a limit is exceeded.
const (
	// batchTime is how long the calls of a batch, or between two levels, should take: the kernel
	// updates the CPU time of threads on other cores only every few milliseconds (cpuTick).
	batchTime = 50 * time.Millisecond
	cpuTick   = 2 * time.Millisecond

	// pauseMost is the longest pause.
	pauseMost = 10 * time.Millisecond

	// fewBatches are enough if nothing is near a limit. Budgets are judged again after each
	// doubling. From manyBatches on, an upper bound within the zone passes.
	fewBatches, manyBatches, mostBatches = 3, 24, 192

	// othersRate and othersShare are limits on the CPU used in the pauses, in cores and as
	// a share of that in the batches. Above both, other code runs whose CPU cannot be told
	// from that of work.
	othersRate, othersShare = 0.05, 0.1
)

// The quantities that are counted. A usage is the amount of each until now.
const (
	cpuSeconds = iota
	allocBytes
	allocCounts
)

type usage [3]float64

func readUsage() usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{process.ProcessCPU().Seconds(), float64(m.TotalAlloc), float64(m.Mallocs)}
}

// A batch is the usage of the process during some calls, and in the pause after them.
type batch struct {
	units        map[string]float64 // the amount of work
	took, paused float64            // seconds
	used, idle   usage
}

// count judges the budgets that are counted. If other code uses CPU too, it adds those on
// CPU to the ones that are sampled.
func (r *run) count() {
	counted := r.plan.counted
	if len(counted) == 0 {
		return
	}
	calls, until := r.pace(), r.begun.Add(r.ends.Sub(r.begun)/2) // the other half is for what is sampled
	var batches []batch
	sampled := func(i int) bool { return isCPU(r.rules[i]) && (othersIn(batches) || len(batches) < 2) }
	open := func(i int) bool {
		return judgeBatches(r.rules[i], batches, false, false).Verdict == evidence.Inconclusive && !sampled(i)
	}
	for next := fewBatches; len(batches) < mostBatches && !r.worker.Busy && (len(batches) < fewBatches || time.Now().Before(until)); {
		b, ok := r.batch(calls)
		if !ok {
			break
		}
		calls = repaced(calls, b.took)
		if batches = append(batches, b); len(batches) < next {
			continue
		}
		if next *= 2; !slices.ContainsFunc(counted, open) {
			break
		}
	}
	trailing := slices.ContainsFunc(counted, func(i int) bool { return !isCPU(r.rules[i]) }) && len(work.Goroutines(r.id).Sample) > 0
	for _, i := range counted {
		if why := r.rules[i].When.UnmetBy(r.facts(kinds.Allocs, 0, nil).Figures); why != nil {
			r.outcomes[i] = outcome{Finding: judge.Finding{Reason: why}}
			continue
		}
		o := judgeBatches(r.rules[i], batches, true, trailing)
		if o.Verdict != evidence.Pass && sampled(i) && !r.worker.Busy {
			r.plan.cpu = append(r.plan.cpu, i)
			continue
		}
		r.outcomes[i] = o
		if o.Verdict == evidence.Fail && !r.worker.Busy {
			r.nameUsers(i)
		}
	}
}

// repaced is the number of calls in the batch after one that took so many seconds. Calls may
// become slower, as those that add to a list and search it.
func repaced(calls int64, took float64) int64 {
	return int64(math.Ceil(float64(calls) * min(2, batchTime.Seconds()/took)))
}

func (r *run) batch(calls int64) (b batch, ok bool) {
	before, start := r.done(), time.Now()
	u0 := readUsage()
	if !r.calls(calls) {
		return b, false
	}
	u1 := readUsage()
	took := time.Since(start)
	b.units, b.took = r.done().Since(before), took.Seconds()
	pause := time.Now()
	u1b := readUsage() // so that the cost of reading is not part of the pause
	time.Sleep(min(took, pauseMost))
	u2 := readUsage()
	b.paused = time.Since(pause).Seconds()
	for q := range b.used {
		b.used[q], b.idle[q] = u1[q]-u0[q], u2[q]-u1b[q]
	}
	return b, true
}

// othersIn reports whether CPU is used while work pauses.
func othersIn(batches []batch) bool {
	var used, took, idle, paused float64
	for _, b := range batches {
		used, took = used+b.used[cpuSeconds], took+b.took
		idle, paused = idle+b.idle[cpuSeconds], paused+b.paused
	}
	return idle > paused*max(othersRate, othersShare*used/max(took, 1e-9))
}

func quantityOf(r judge.Rule) int {
	switch r.Dimension {
	case unit.Bytes:
		return allocBytes
	case unit.Count:
		return allocCounts
	}
	return cpuSeconds
}

func isCPU(r judge.Rule) bool { return quantityOf(r) == cpuSeconds }

// judgeBatches judges a rule by batches. At the last look, an upper bound within 1.5 times
// the limit passes, and so does a mean within the limit. The mean of allocations is without
// those of the pauses, which are other code's, and does not count if goroutines of work go on in
// the pauses (trailing).
func judgeBatches(r judge.Rule, batches []batch, last, trailing bool) outcome {
	q := quantityOf(r)
	idle, paused := 0.0, 1e-9
	for _, x := range batches {
		idle, paused = idle+x.idle[q], paused+x.paused
	}
	var all, less evidence.Mean
	for _, x := range batches {
		n, others := x.units[r.Per], x.idle[q]/max(x.paused, 1e-9)
		if r.Per == "" {
			n = x.took // cores
		}
		if q == cpuSeconds {
			others = idle / paused // the mean, because one short pause shows mostly noise
		}
		all.Add(x.used[q], n)
		less.Add(x.used[q]-others*x.took, n)
	}
	switch {
	case len(batches) < 2:
		return outcome{Finding: judge.Finding{Samples: int64(len(batches)), Reason: judge.FewBatches{}}}
	case all.Units() <= 0:
		return outcome{cause: mistake, Finding: judge.Finding{Reason: judge.NoUnit{}}}
	}
	tick, sure := 0.0, less.Value()
	if q == cpuSeconds {
		tick, sure = cpuTick.Seconds(), all.Value() // if others use CPU, the budget is sampled
	}
	f := judge.Finding{Value: all.Value(), Samples: int64(len(batches)), Reason: judge.Counted{}}
	low, _ := less.Bounds(evidence.FailAlpha, tick)
	_, f.High = all.Bounds(evidence.PassAlpha, tick)
	f.Low = max(0, low)
	near := f.High < evidence.Zone*r.Limit && len(batches) >= manyBatches || last && f.High < evidence.Notable*r.Limit
	switch {
	case low > r.Limit:
		f.Verdict = evidence.Fail
	case f.High <= r.Limit || near:
		f.Verdict = evidence.Pass
	case last && sure <= r.Limit && (q == cpuSeconds || !trailing):
		f.Verdict, f.Value = evidence.Pass, sure
	}
	if f.Verdict == evidence.Inconclusive {
		f.Reason = judge.Unsteady{Of: f.Reason}
	}
	return outcome{Finding: f}
}

// showTime is how long work is sampled to find the offenders of a process that is over its
// limit.
const showTime = time.Second

// nameUsers samples work for the offenders of a budget on the process that has failed. No call
// of work may still be running.
func (r *run) nameUsers(i int) {
	if !isCPU(r.rules[i]) {
		before := cumulative(kinds.Allocs)
		r.worker.Order(0)
		time.Sleep(showTime)
		r.worker.Pause(time.Until(r.latest))
		r.name(i, work.Gained(before, cumulative(kinds.Allocs)), r.facts(kinds.Allocs, showTime, nil))
		return
	}
	r.worker.Order(0)
	p, err := work.Sampled(r.parent(), showTime)
	r.worker.Pause(time.Until(r.latest))
	if err != nil {
		return // there are no offenders
	}
	work.WithoutOurs(p)
	r.name(i, p, r.facts(kinds.CPU, showTime, nil))
}
