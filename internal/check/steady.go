package check

import (
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/work"
)

// levelOf is the number of goroutines, or the size of the heap, that is left between calls.
func (r *run) levelOf(subject string) float64 {
	if subject == "heap" {
		return liveHeap()
	}
	// Until three looks, at least 1 ms apart, show no change; for 100 ms at most.
	left := work.Settled(r.id, 7*time.Millisecond, time.Now().Add(100*time.Millisecond))
	return float64(left.Count())
}

// judgeLevels judges "goroutines steady" and "heap steady". After each of ten or more
// groups of calls, when the goroutines that they started have ended, it takes a level.
func (r *run) judgeLevels() {
	if len(r.plan.steady) == 0 || r.worker.Busy {
		return
	}
	calls := r.pace()
	series := make([][]float64, len(r.set))
	var before *decode.Totals // of the heap, at the first level
	for n := 0; n < judge.MostLevels && !r.worker.Busy && (time.Now().Before(r.ends) || n < judge.LeastLevels && r.goOn()); n++ {
		if !r.calls(calls) {
			break
		}
		for _, i := range r.plan.steady {
			series[i] = append(series[i], r.levelOf(r.rules[i].Subject))
		}
		if n == 0 {
			before = work.Totals(work.Take(kinds.Heap))
		}
	}
	for _, i := range r.plan.steady {
		r.outcomes[i] = outcome{Finding: r.rules[i].Levels(series[i], calls)}
		r.nameGrown(i, before)
	}
}

// nameGrown finds the offenders of a budget that failed: by the goroutines that are left, or
// by the heap's samples that have come since the first level.
func (r *run) nameGrown(i int, before *decode.Totals) {
	if r.outcomes[i].Verdict != evidence.Fail {
		return
	}
	kind, p := kinds.Goroutine, work.Goroutines(r.id)
	if r.rules[i].Subject == "heap" {
		kind, p = kinds.Heap, work.Gained(before, work.Take(kinds.Heap))
	}
	if len(p.Samples) > 0 { // or else there are no offenders
		r.name(i, p, r.facts(kind, 0, nil))
	}
}
