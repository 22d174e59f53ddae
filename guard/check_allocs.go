package guard

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/profguard/profguard/budget"
)

const (
	// allocBatch is how long a batch of calls should take: long enough for the
	// two stops of the world that measure it to be nothing, short enough for some
	// batches to fall between what other tests do.
	allocBatch = 5 * time.Millisecond
	// allocBatches are measured at least. If none of 20 was quiet, others are at it
	// all the time.
	allocBatches = 20
	// allocPatience is how many times as many are tried in a noisy process.
	allocPatience = 5
)

// A batch is what was allocated, by the whole process, during some calls and
// during as long a pause after them.
type batch struct {
	units         map[string]float64 // of work done
	bytes, counts float64
	noise, noises float64 // in the pause: bytes and counts
}

// countAllocs judges "process below ... of allocs per call". The runtime counts
// every allocation exactly, but for the process: whatever else runs adds to it,
// and nothing takes away from it. So the quietest batch proves an excess, and a
// batch that half of all are quieter than proves that there is none.
func (r *checkRun) countAllocs() {
	if len(r.plan.counts) == 0 {
		return
	}
	calls := r.pace(allocBatch)
	var batches []batch
	for len(batches) < allocBatches*allocPatience && !r.late && time.Now().Before(r.ends) {
		b, ok := r.allocBatch(calls)
		if !ok {
			break
		}
		batches = append(batches, b)
		if len(batches) >= allocBatches && len(batches)%allocBatches == 0 && r.judgeAllocs(batches, false) {
			return
		}
	}
	r.judgeAllocs(batches, true)
}

// pace is how many calls take about d.
func (r *checkRun) pace(d time.Duration) (calls int64) {
	calls = max(1, int64(d/max(r.usual, time.Nanosecond)))
	if calls == 1 {
		return 1
	}
	calls = min(calls, 100) // the first call warmed up, and tells little
	start := time.Now()
	if !r.calls(calls) {
		return 1
	}
	each := time.Since(start) / time.Duration(calls)
	return max(1, int64(d/max(each, time.Nanosecond)))
}

// calls makes n calls of work and reports whether they were made in time. If
// not, no more must be asked for.
func (r *checkRun) calls(n int64) bool {
	r.worker.order(n)
	if r.worker.wait(time.Until(r.ends)) {
		return true
	}
	r.late = true
	return false
}

func (r *checkRun) allocBatch(calls int64) (b batch, ok bool) {
	var m [3]runtime.MemStats
	before, start := r.readUnits(), time.Now()
	runtime.ReadMemStats(&m[0])
	if !r.calls(calls) {
		return b, false
	}
	runtime.ReadMemStats(&m[1])
	took, after := time.Since(start), r.readUnits()
	// A pause as long as the calls shows what comes from others.
	time.Sleep(min(took, 2*allocBatch))
	runtime.ReadMemStats(&m[2])
	b = batch{
		units:  map[string]float64{},
		bytes:  float64(m[1].TotalAlloc - m[0].TotalAlloc),
		counts: float64(m[1].Mallocs - m[0].Mallocs),
		noise:  float64(m[2].TotalAlloc - m[1].TotalAlloc),
		noises: float64(m[2].Mallocs - m[1].Mallocs),
	}
	for unit, n := range after.units {
		b.units[unit] = n - before.units[unit]
	}
	return b, true
}

// judgeAllocs judges by the batches so far and reports whether that decides.
func (r *checkRun) judgeAllocs(batches []batch, last bool) (decided bool) {
	decided = true
	for _, i := range r.plan.counts {
		b := r.set[i]
		limit, isBytes := allocLimit(b.Limit)
		var per, noise []float64
		for _, x := range batches {
			n := x.units[b.Per]
			switch {
			case n <= 0:
			case isBytes:
				per, noise = append(per, x.bytes/n), append(noise, x.noise/n)
			default:
				per, noise = append(per, x.counts/n), append(noise, x.noises/n)
			}
		}
		res := budget.Result{Budget: b, Samples: int64(len(per))}
		if len(batches) < allocBatches {
			res.Reason = fmt.Sprintf("%d batches of calls were made in time, %d are needed: raise Checker.Max", len(batches), allocBatches)
			r.results[i] = res
			continue
		}
		if len(per) == 0 {
			res.Reason = fmt.Sprintf("no %q was done: work must do some in each call, or the counter is wrong", b.Per)
			r.results[i] = res
			continue
		}
		slices.Sort(per)
		slices.Sort(noise)
		low, middle := per[0], per[len(per)/2]
		others := noise[len(noise)/2]
		res.Share, res.Low, res.High = middle, max(0, low-noise[len(noise)-1]), middle
		text := fmt.Sprintf("%s per %s (%d batches of calls)", allocText(middle, isBytes), b.Per, len(per))
		switch {
		case middle <= limit:
			res.Verdict, res.Reason = budget.Pass, "the process allocates "+text
		case low-noise[len(noise)-1] > limit:
			res.Verdict = budget.Fail
			res.Reason = fmt.Sprintf("the process allocates %s, and %s in the quietest batch; the limit is %s",
				text, allocText(low, isBytes), b.Limit)
		case !last:
			decided = false
		case low <= limit && middle-others <= limit:
			res.Verdict = budget.Pass
			res.Reason = fmt.Sprintf("the process allocates %s, but %s of it while work pauses: noisy, and within the limit in quiet batches",
				text, allocText(others, isBytes))
		default:
			res.Reason = fmt.Sprintf("the process allocates %s, from %s to %s, and %s while work pauses: "+
				"too noisy to tell from %s; don't run this test in parallel with others",
				text, allocText(low, isBytes), allocText(per[len(per)-1], isBytes), allocText(others, isBytes), b.Limit)
		}
		r.results[i] = res
	}
	return decided
}

// allocLimit is the amount in bytes or in allocations.
func allocLimit(a budget.Amount) (limit float64, isBytes bool) {
	factor, isBytes := map[string]float64{
		"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
	}[a.Unit]
	if !isBytes {
		factor = 1
	}
	return a.Value * factor, isBytes
}

func allocText(x float64, isBytes bool) string {
	switch {
	case !isBytes:
		return fmt.Sprintf("%.4g times", x)
	case x >= 1<<20:
		return fmt.Sprintf("%.2fMiB", x/(1<<20))
	case x >= 1<<10:
		return fmt.Sprintf("%.2fKiB", x/(1<<10))
	}
	return fmt.Sprintf("%.0fB", x)
}
