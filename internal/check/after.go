package check

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/unit"
)

// settleTime is how long goroutines may take to end after work has returned and
// its context was canceled, counted from when the last one was seen to end.
const settleTime = 2 * time.Second

// goroutinePatience is how many times as long as a look at the goroutines took
// there is none: with 10,000 a look takes 33 ms, and is not to be work's cost.
const goroutinePatience = 20

// A goroutinePeak is the most goroutines with the check's label that were seen.
type goroutinePeak struct {
	count   float64
	profile *profile.Profile // of them
	next    time.Time
}

// look counts the goroutines, if there can be more than ever.
func (g *goroutinePeak) look(id string) {
	start := time.Now()
	// Those of work are among those of the process.
	if g.profile != nil && (float64(runtime.NumGoroutine()) <= g.count || start.Before(g.next)) {
		return
	}
	p, err := goroutineProfile(id)
	g.next = start.Add(goroutinePatience * time.Since(start))
	if err != nil {
		return
	}
	if n := goroutinesIn(p); g.profile == nil || n > g.count {
		g.count, g.profile = n, p
	}
}

// figures hands on the process's own since the check began.
func (r *run) figures(cores bool, facts *judge.Facts) {
	f := process.Between(r.first, r.reader.Read())
	facts.Figures = map[string]float64{
		"goroutines": float64(f.Goroutines),
		"heap":       float64(f.Heap),
		"rss":        float64(f.RSS),
	}
	// The runtime tells what a collection took when it ends.
	switch {
	case f.GCKnown:
		facts.Figures["gc"] = f.GC
	case f.GCNone:
		facts.Figures["gc"] = 0
	default:
		facts.NoFigures = map[string]string{"gc": "no collection has ended, and what one costs is told at its end"}
	}
	if cores {
		facts.Figures["cores"] = f.Cores
	}
	if r.peak.profile != nil {
		facts.Figures["goroutines"] = r.peak.count
	}
}

// afterwards judges what is left when work is over.
func (r *run) afterwards() {
	if r.judgesGC() {
		process.Force(1, runtime.GC) // the collection that runs is told when it ends
	}
	if len(r.plan.leaks) > 0 {
		r.judgeLeaks()
	}
	if len(r.plan.figures) > 0 {
		r.judgeFigures()
	}
	if len(r.plan.heap) > 0 {
		process.Force(1, runtime.GC) // the profile is as of the last collection
		p, err := runtimeProfile("heap")
		if err != nil {
			r.open(r.plan.heap, noTime, err.Error())
			return
		}
		withoutOurs(p)
		r.judged["heap"] = p
		r.judgeOnce(r.plan.heap, p, r.facts("heap", time.Since(r.begun), nil))
		for _, i := range r.plan.heap {
			if r.outcomes[i].Verdict == budget.Inconclusive {
				r.outcomes[i].Reason += memoryRemedy
			}
		}
	}
}

// beginFigures takes the snapshot from which figures are counted. For budgets on gc, a
// collection of what the test has set up is brought to its end before: the runtime
// accounts for the whole of it when it ends.
func (r *run) beginFigures() {
	if r.judgesGC() {
		runtime.GC()
	}
	r.first = r.reader.Read()
}

// judgesGC reports whether any budget is about gc, or has it as its condition.
func (r *run) judgesGC() bool {
	return slices.ContainsFunc(r.set, func(b budget.Budget) bool { return b.Subject == "gc" || b.When.Figure == "gc" })
}

// judgeFigures judges the figures of the process, and the goroutines of work.
func (r *run) judgeFigures() {
	if r.plan.goroutines { // what is left behind is most at the end
		r.peak.next = time.Time{}
		r.peak.look(r.id)
	}
	f := r.facts("figures", time.Since(r.begun), nil)
	f.Figures["heap"] = liveHeap()
	var others []int
	for _, i := range r.plan.figures {
		if r.set[i].Subject != "goroutines" || r.peak.profile == nil {
			others = append(others, i)
			continue
		}
		f := f
		f.Kind = "goroutine"
		r.judged["goroutine"] = r.peak.profile
		r.judgeOnce([]int{i}, r.peak.profile, f)
		r.outcomes[i].Reason += " (of those that work started, the most at one time)"
	}
	r.judgeOnce(others, &profile.Profile{}, f)
	for _, i := range others {
		// Of a process that hardly does anything, Check's own garbage is a large part.
		o, cores := &r.outcomes[i], f.Figures["cores"]/(1-r.waitedShare())
		if o.Budget.Subject == "gc" && o.Verdict == budget.Fail && cores < gcLeast {
			o.Verdict = budget.Inconclusive
			if o.cause = mistake; r.busy() {
				o.cause = noTime
			}
			o.Reason += fmt.Sprintf(", of a process at %.2f cores, some of which is Check's own: let work compute", cores)
		}
	}
}

// gcLeast is how many cores a process must use, while it is not kept waiting for them, for
// its gc to say something about work. The default budgets of a guard ask for as many.
const gcLeast = 0.2

// judgeLeaks judges "no goroutine leaked" by the goroutines that work has started
// and left, given time to end.
func (r *run) judgeLeaks() {
	left, err := r.settledGoroutines()
	if err != nil {
		r.open(r.plan.leaks, noTime, err.Error())
		return
	}
	r.judged["goroutine"] = left
	left = left.Copy()
	// The budget is about a profile that few runtimes have; what is left is as good.
	for _, t := range left.SampleType {
		t.Type = "goroutineleak"
	}
	r.judgeOnce(r.plan.leaks, left, r.facts("goroutineleak", 0, nil))
	for _, i := range r.plan.leaks {
		res := &r.outcomes[i]
		switch res.Verdict {
		case budget.Fail:
			res.Reason = fmt.Sprintf("of the goroutines that work started, %d are left %v after it returned and its context was canceled", res.Hits, settleTime)
		case budget.Pass:
			res.Reason = fmt.Sprintf("none is left of what %s started", unit.Plural(r.worker.calls.Load(), "call"))
		}
	}
}

// settledGoroutines waits until the goroutines of work have ended, or none of them has
// for settleTime. What the process waits for cores meanwhile does not count.
func (r *run) settledGoroutines() (left *profile.Profile, err error) {
	least, from := math.Inf(1), readLoad()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		left, err = goroutineProfile(r.id)
		if err != nil || len(left.Sample) == 0 {
			return left, err
		}
		n, now := goroutinesIn(left), readLoad()
		still := now.at.Sub(from.at) - min(now.waited-from.waited, (busyTimes-1)*now.at.Sub(from.at)/busyTimes)
		switch {
		case n < least && now.at.Before(r.latest):
			least, from = n, now
		case still >= settleTime || n >= least && !now.at.Before(r.latest.Add(settleTime)):
			return left, nil
		}
		time.Sleep(pause)
	}
}
