package check

import (
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/words"
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

// A level is what was left after each of some groups of calls, and what has grown.
type level struct {
	series []float64
	calls  int64 // in a group
	grown  evidenceOf
}

// takeLevels measures for "goroutines steady" and "heap steady". After each of ten or more
// groups of calls, when the goroutines that they started have ended, it takes a level.
func (r *run) takeLevels() {
	of := r.of(levels)
	if len(of) == 0 || r.worker.Busy {
		return
	}
	calls := r.pace()
	series := make([][]float64, len(r.set))
	var before *decode.Totals // of the heap, at the first level
	for n := 0; n < mostLevels && !r.worker.Busy && (time.Now().Before(r.ends) || n < leastLevels && r.goOn()); n++ {
		if !r.calls(calls) {
			break
		}
		for _, i := range of {
			series[i] = append(series[i], r.levelOf(r.rules[i].Subject))
		}
		if n == 0 {
			before = work.Totals(work.Take(kinds.Heap))
		}
	}
	r.levels = map[int]level{}
	for _, i := range of {
		kind, p := kinds.Goroutine, work.Goroutines(r.id)
		if r.rules[i].Subject == "heap" {
			kind, p = kinds.Heap, work.Gained(before, work.Take(kinds.Heap))
		}
		r.levels[i] = level{series[i], calls, evidenceOf{p, r.about(kind, 0, nil)}}
	}
}

// leastLevels is the number of levels that the exact test of Mann and Kendall needs. With
// mostLevels it finds growth that is no larger than what the figure varies by.
const leastLevels, mostLevels = 10, 15

// levelsOf judges a figure by its levels: it fails if they rise beyond chance.
func (r *run) levelsOf(i int) judge.Finding {
	xs, calls := r.levels[i].series, r.levels[i].calls
	n := len(xs)
	if n < leastLevels {
		return judge.Finding{Samples: int64(n), Reason: words.Levels{Calls: calls, Needed: leastLevels}}
	}
	// The least growth from level to level that counts. Less than a goroutine in two levels,
	// or less than two spans of small objects, comes from other code.
	least := 0.5
	if r.rules[i].Subject == "heap" {
		least = 16 << 10
	}
	rise, rises := evidence.Trend(xs, least)
	f := judge.Finding{
		Verdict: evidence.Pass, Value: xs[n-1], Low: xs[n-1], High: xs[n-1], Samples: int64(n),
		Reason: words.Levels{First: xs[0], Rise: rise, Calls: calls},
	}
	if rises {
		f.Verdict = evidence.Fail
	}
	return f
}
