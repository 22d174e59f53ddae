package check

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/words"
	"github.com/profguard/profguard/internal/work"
)

// Budgets on the whole process are judged by counters of the kernel and the runtime, and
// not by samples: "process below 5ms per call", "process below 0.5 cores", "process below
// 64KiB per call of allocs". Work is called in batches. A batch lasts until the goroutines that
// the calls have started have ended, and a pause follows.
//
// All that the process uses from the first call to the end of the last pause counts, so that
// work which starts goroutines and returns is counted too. Of what it uses between readings, only
// what reading takes is left out: on a busy machine the check may not get a core for long. Other
// code can only add to that: if it is below a limit, the limit is kept. That a limit is exceeded
// is known only if the process rests in the pauses.
const (
	// fewBatches are enough if nothing is near a limit. Budgets are judged again after each
	// doubling.
	fewBatches, mostBatches = 3, 192

	// othersShare is a limit on what is used in the pauses, as a share of that in the batches. Above it,
	// and for CPU above othersRate too, the process does not rest.
	othersShare = 0.1
)

// A batch is the usage of the process during some calls and until their goroutines have ended, and
// in the pause after them.
type batch struct {
	units        map[string]float64 // the amount of work
	took, paused float64            // seconds
	used, idle   usage
}

// batches is what was counted.
type batches struct {
	each int64 // the number of calls in the next one
	list []batch
	tail usage // after the last one, and between readings
	end  usage // the last reading
}

// A counting is what was counted, and what is known of the process then.
type counting struct {
	batches
	rest    rest
	figures map[string]float64
	users   map[int]evidenceOf // of budgets that have failed, to name offenders
}

// count measures for the budgets that are counted. If other code uses CPU too, those on CPU are sampled.
func (r *run) count() {
	if len(r.of(counted)) == 0 {
		return
	}
	r.meter.calibrate(r.id)
	c := &counting{batches: r.batches(), users: map[int]evidenceOf{}}
	c.rest = r.drain(&c.batches)
	c.figures = r.about(kinds.Allocs, 0, nil).Figures
	for _, i := range r.of(counted) {
		switch rule := r.rules[i]; {
		case r.worker.Busy:
		case c.judge(rule, true).Verdict != evidence.Pass && r.needsSamples(i, &c.batches) && (c.rest.left == nil || c.rest.cause != mistake):
			r.ways[i] = sampled
		case c.outcome(rule).Verdict == evidence.Fail:
			c.users[i] = r.users(i, c.each)
		}
	}
	r.counting = c
}

// outcome is what is known of a rule.
func (c *counting) outcome(rule judge.Rule) outcome {
	if unmet := rule.When.UnmetBy(c.figures); unmet != nil {
		return outcome{Finding: judge.Finding{Reason: unmet}}
	}
	o := c.judge(rule, true)
	if o.Verdict != evidence.Fail && c.rest.left != nil {
		return o.undecided(c.rest.cause, *c.rest.left)
	}
	return o
}

// resample makes that the budgets on the CPU of the process are sampled.
func (r *run) resample() {
	for _, i := range r.of(counted) {
		if isCPU(r.rules[i]) {
			r.ways[i] = sampled
		}
	}
}

// batches counts batches until they decide, for half of the time: the other half is for what is
// sampled.
func (r *run) batches() batches {
	until := r.begun.Add(r.ends.Sub(r.begun) / 2)
	b := batches{each: r.pace()}
	b.end = r.usage()
	open := func(i int) bool {
		return b.judge(r.rules[i], false).Verdict == evidence.Inconclusive && !r.needsSamples(i, &b)
	}
	for next := fewBatches; len(b.list) < mostBatches && !r.worker.Busy && (len(b.list) < fewBatches || time.Now().Before(until)); {
		x, ok := r.batch(&b)
		if !ok {
			break
		}
		b.each = repaced(b.each, x.took)
		if b.list = append(b.list, x); len(b.list) < next {
			continue
		}
		if next *= 2; !slices.ContainsFunc(r.of(counted), open) {
			break
		}
	}
	return b
}

// needsSamples reports whether a budget that the batches do not decide is to be sampled: it is on CPU,
// and other code uses some. On a busy machine others may get no core in the pauses.
func (r *run) needsSamples(i int, b *batches) bool {
	return isCPU(r.rules[i]) && (!b.rests(cpuSeconds) || r.busy() || len(b.list) < 2)
}

// repaced is the number of calls in the batch after one that took so many seconds. Calls may
// become slower, as those that add to a list and search it.
func repaced(calls int64, took float64) int64 {
	return int64(math.Ceil(float64(calls) * min(2, batchTime.Seconds()/took)))
}

func (r *run) batch(all *batches) (b batch, ok bool) {
	before, start, goroutines := r.done(), time.Now(), runtime.NumGoroutine()
	u0 := r.usage()
	all.tail.beyond(u0.since(all.end), usage{})
	r.limitGoroutines()
	if !r.calls(all.each) {
		return b, false
	}
	took := r.settled(goroutines).Sub(start)
	u1 := r.usage()
	b.units, b.took = r.done().Since(before), took.Seconds()
	pause, most := time.Now(), pauseMost
	if r.busy() {
		most *= busyTimes
	}
	u1b := r.usage() // so that the cost of reading is not part of the pause
	all.tail.beyond(u1b.since(u1), usage{})
	time.Sleep(min(took, most))
	u2 := r.usage()
	b.paused, all.end = time.Since(pause).Seconds(), u2
	b.used, b.idle = u1.since(u0), u2.since(u1b)
	return b, true
}

// drain counts what the process uses after the last batch until it rests. Finalizers are run after
// a collection, whose own cost does not count. It returns the goroutines that may still work for
// the check then.
func (r *run) drain(b *batches) rest {
	ours := r.collect
	ours[cpuSeconds] = max(2*ours[cpuSeconds], process.Forcing(runtime.GC).Seconds()) // there may be more memory now
	b.tail.beyond(r.usage().since(b.end), ours)
	used, took := b.used(cpuSeconds)
	x := r.unfinished(drainTime, max(othersRate, othersShare*used/max(took, 1e-9)), b.rests(cpuSeconds))
	for q := range b.tail {
		b.tail[q] += x.used[q]
	}
	if x.left == nil {
		x.left, x.cause = r.waiting(), mistake
	}
	return x
}

// used is how much the batches have used, and for how long, without the pauses.
func (b *batches) used(q int) (used, took float64) {
	for _, x := range b.list {
		used, took = used+x.used[q], took+x.took
	}
	return used, took
}

// idle is how much is used in a second of the pauses.
func (b *batches) idle(q int) float64 {
	idle, paused := 0.0, 1e-9
	for _, x := range b.list {
		idle, paused = idle+x.idle[q], paused+x.paused
	}
	return idle / paused
}

// rests reports whether the process uses little while work pauses, so that what it uses during
// work is work's.
func (b *batches) rests(q int) bool {
	used, took := b.used(q)
	most := othersShare * used / max(took, 1e-9)
	if q == cpuSeconds {
		most = max(most, othersRate)
	}
	return b.idle(q) <= most
}

const (
	// cpuTick is how late the kernel updates the CPU time of threads on other cores.
	cpuTick = 2 * time.Millisecond

	// From manyBatches on, an upper bound within the zone passes.
	manyBatches = 24
)

// judge judges a rule by the batches. An upper bound within the limit passes, and so does one within the zone if the
// process rests, after many batches or at the last look. At the last look a mean within the limit passes too. Others can
// only add to what is used: a failure takes a process that rests.
func (b *batches) judge(r judge.Rule, last bool) (o outcome) {
	q := quantityOf(r)
	_, took := b.used(q)
	others, alone := b.idle(q)*took, b.rests(q)
	var all, calls evidence.Mean
	for _, x := range b.list {
		n := x.units[r.Per]
		if r.Per == "" {
			n = x.took // cores
		}
		all.Add(x.used[q]+x.idle[q], n)
		calls.Add(x.used[q], n)
	}
	f := &o.Finding
	f.Samples = int64(len(b.list))
	switch {
	case len(b.list) < 2:
		f.Reason = words.FewBatches{}
		return o
	case all.Units() <= 0:
		f.Samples, f.Reason, o.cause = 0, words.NoUnit{}, mistake
		return o
	}
	tick := 0.0
	if q == cpuSeconds {
		tick = cpuTick.Seconds()
	}
	low, _ := calls.Bounds(evidence.FailAlpha, tick)
	_, high := all.Bounds(evidence.PassAlpha, tick)
	low, high = low-others/all.Units(), high+b.tail[q]/all.Units()
	f.Value, f.Low, f.High, f.Reason = all.Value()+b.tail[q]/all.Units(), max(0, low), high, judge.Counted{}
	switch {
	case alone && low > r.Limit:
		f.Verdict = evidence.Fail
	case high <= r.Limit, last && f.Value <= r.Limit, alone && high < evidence.Zone*r.Limit && (last || len(b.list) >= manyBatches):
		f.Verdict = evidence.Pass
	case alone:
		f.Reason = words.Unsteady{Of: f.Reason}
	default:
		f.Reason, o.cause = words.BesideOthers{Of: f.Reason}, unknown
	}
	return o
}

// showTime is how long work is sampled to find the offenders of a process that is over its
// limit.
const showTime = time.Second

// users samples work for the offenders of a budget on the process that has failed. No call
// of work may still be running.
func (r *run) users(i int, calls int64) (p evidenceOf) {
	ctx, cancel := context.WithTimeout(r.parent(), showTime)
	defer cancel()
	show := func() { // in batches, or work that starts goroutines and returns would start ever more
		for ctx.Err() == nil {
			before := runtime.NumGoroutine()
			if !r.calls(calls) {
				return
			}
			r.settled(before)
		}
	}
	if !isCPU(r.rules[i]) {
		before := work.Totals(cumulative(kinds.Allocs))
		show()
		return evidenceOf{work.Gained(before, cumulative(kinds.Allocs)), r.about(kinds.Allocs, showTime, nil)}
	}
	var t *decode.Table
	var err error
	var sampling sync.WaitGroup
	sampling.Go(func() { t, err = work.Sampled(r.parent(), showTime) })
	show()
	if sampling.Wait(); err != nil {
		return p // there are no offenders
	}
	return evidenceOf{work.WithoutOurs(t), r.about(kinds.CPU, showTime, nil)}
}
