package check

import (
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/work"
)

// settleTime is how long goroutines may take to end after work has returned and its context
// was canceled. It starts again whenever one of them ends.
const settleTime = 2 * time.Second

// afterwards judges the goroutines, figures and memory that are left in the end.
func (r *run) afterwards() {
	if len(r.plan.leaks) > 0 {
		r.judgeLeaks()
	}
	if len(r.plan.goroutines) > 0 {
		r.judgeGoroutines()
	}
	if len(r.plan.ofGoroutines(r.rules)) > 0 {
		r.takeBackGoroutines()
	}
	if len(r.plan.figures) > 0 {
		r.judgeFigures()
	}
	for kind, of := range r.byKind(r.plan.states) {
		liveHeap() // a profile of memory is as of the last collection
		r.judge(of, work.WithoutOurs(work.Take(kind)), r.facts(kind, time.Since(r.begun), nil))
	}
}

// judgeGoroutines judges the largest number of goroutines that work had at one time.
func (r *run) judgeGoroutines() {
	r.peak = work.Most(r.peak, r.id) // leaked goroutines are most at the end
	r.judge(r.plan.goroutines, r.peak, r.facts("goroutine", time.Since(r.begun), nil))
	for _, i := range r.plan.goroutines {
		r.outcomes[i].Reason = judge.AtOnce{Of: r.outcomes[i].Reason}
	}
}

func (r *run) judgeFigures() {
	heap := liveHeap() // first, because the cost of a running collection is counted when it ends
	f := r.facts("figures", time.Since(r.begun), nil)
	f.Figures["heap"] = heap
	r.judge(r.plan.figures, &decode.Table{Symbols: new(decode.Symbols)}, f)
	for _, i := range r.plan.figures {
		// In a process that hardly does anything, Check's own garbage is a large part. The
		// time in which the process waited for a core does not count as idle.
		o, cores := &r.outcomes[i], f.Figures["cores"]/(1-min(0.9, r.waitedShare()))
		if r.rules[i].Subject == "gc" && o.Verdict == evidence.Fail && cores < gcLeast {
			why := mistake
			if r.busy() {
				why = noTime
			}
			*o = o.undecided(why, judge.LittleCPU{Of: o.Reason, Cores: cores})
		}
	}
}

// gcLeast is the number of cores that a process must use, while it does not wait for them,
// for its gc to be that of work.
const gcLeast = 0.2

// judgeLeaks judges "no goroutine leaked" by the goroutines that work has started and that
// do not end in time.
func (r *run) judgeLeaks() {
	begun := time.Now()
	wait := settleTime
	if r.busy() {
		wait *= busyTimes
	}
	left := work.Settled(r.id, wait, r.latest)
	// The budget is about a profile that few runtimes have. The goroutines that are left
	// take its place.
	for i := range left.Types {
		left.Types[i].Type = kinds.GoroutineLeak
	}
	r.judge(r.plan.leaks, left, r.facts(kinds.GoroutineLeak, 0, nil))
	for _, i := range r.plan.leaks {
		if o := &r.outcomes[i]; o.Verdict != evidence.Inconclusive {
			o.Reason = judge.Left{Elapsed: time.Since(begun)}
		}
	}
}
