package guard

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/figures"
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

// goroutinesIn adds up a goroutine profile.
func goroutinesIn(p *profile.Profile) float64 {
	n := int64(0)
	for _, s := range p.Sample {
		n += s.Value[0]
	}
	return float64(n)
}

// figures hands on the process's own since the check began.
func (r *checkRun) figures(cores bool, facts *budget.Facts) {
	f := figures.Between(r.first, r.reader.Read())
	facts.Figures = map[string]float64{
		"goroutines": float64(f.Goroutines),
		"heap":       float64(f.Heap),
		"rss":        float64(f.RSS),
	}
	gcOf(f, nil, facts)
	if cores {
		facts.Figures["cores"] = f.Cores
	}
	if r.peak.profile != nil {
		facts.Figures["goroutines"] = r.peak.count
	}
}

// afterwards judges what is left when work is over.
func (r *checkRun) afterwards() {
	if r.judgesGC() {
		figures.Force(1, runtime.GC) // the collection that runs is told when it ends
	}
	if len(r.plan.leaks) > 0 {
		r.judgeLeaks()
	}
	if len(r.plan.figures) > 0 {
		r.judgeFigures()
	}
	if len(r.plan.heap) > 0 {
		figures.Force(1, runtime.GC) // the profile is as of the last collection
		p, err := runtimeProfile("heap")
		if err != nil {
			r.fail(r.plan.heap, err.Error())
			return
		}
		withoutOurs(p)
		r.judged["heap"] = p
		r.judgeOnce(r.plan.heap, p, r.facts("heap", time.Since(r.begun), nil))
		for _, i := range r.plan.heap {
			if r.results[i].Verdict == budget.Inconclusive {
				r.results[i].Reason += memoryRemedy
			}
		}
	}
}

// beginFigures takes the snapshot from which figures are counted. For budgets on gc, a
// collection of what the test has set up is brought to its end before: the runtime
// accounts for the whole of it when it ends.
func (r *checkRun) beginFigures() {
	if r.judgesGC() {
		runtime.GC()
	}
	r.first = r.reader.Read()
}

// judgesGC reports whether any budget is about gc, or has it as its condition.
func (r *checkRun) judgesGC() bool {
	return slices.ContainsFunc(r.set, func(b budget.Budget) bool { return b.Subject == "gc" || b.When.Figure == "gc" })
}

// judgeFigures judges the figures of the process, and the goroutines of work.
func (r *checkRun) judgeFigures() {
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
		r.results[i].Reason += " (of those that work started, at the most)"
	}
	r.judgeOnce(others, &profile.Profile{}, f)
	for _, i := range others {
		// Of a process that hardly does anything, Check's own garbage is a large part.
		if res := &r.results[i]; res.Budget.Subject == "gc" && res.Verdict == budget.Fail && f.Figures["cores"] < gcLeast {
			res.Verdict = budget.Inconclusive
			res.Reason += fmt.Sprintf(", of a process at %.2f cores, some of which is Check's own: let work compute", f.Figures["cores"])
			r.vacuous[i] = true
		}
	}
}

// gcLeast is how many cores a process must use for its gc to say something about work.
// The default budgets of a guard ask for as many.
const gcLeast = 0.2

// judgeOnce judges some of the budgets by one profile.
func (r *checkRun) judgeOnce(indices []int, p *profile.Profile, facts budget.Facts) {
	for n, res := range part(r.set, indices).Judge(p, facts) {
		r.results[indices[n]] = res
	}
}

// judgeLeaks judges "no goroutine leaked" by the goroutines that work has started
// and left, given time to end. With the runtime's own profile of goroutines that
// are blocked for good, there is no doubt about those.
func (r *checkRun) judgeLeaks() {
	var left *profile.Profile
	var err error
	end, least := time.Now().Add(settleTime), math.Inf(1)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		left, err = goroutineProfile(r.id)
		if err != nil || len(left.Sample) == 0 {
			break
		}
		n := goroutinesIn(left)
		if now := time.Now(); n < least && now.Before(r.ends) {
			least, end = n, now.Add(settleTime) // still ending
		} else if !now.Before(end) {
			break
		}
		time.Sleep(pause)
	}
	if err != nil {
		r.fail(r.plan.leaks, err.Error())
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
		res := &r.results[i]
		n := res.Hits
		switch res.Verdict {
		case budget.Fail:
			res.Reason = fmt.Sprintf("%s that work started %v after it returned and its context was canceled%s",
				plural(int(n), "goroutine")+are(n), settleTime, r.blockedForGood(goroutinesIn(left)))
		case budget.Pass:
			res.Reason = fmt.Sprintf("none is left of what %s started", plural(int(r.worker.calls.Load()), "call"))
		}
	}
}

func are(n int64) string {
	if n == 1 {
		return " is left of those"
	}
	return " are left of those"
}

// blockedForGood tells how many of the goroutines that are left the runtime knows
// to be leaked, where it can tell (GOEXPERIMENT=goroutineleakprofile).
func (r *checkRun) blockedForGood(left float64) string {
	p, err := runtimeProfile("goroutineleak")
	if err != nil {
		return ""
	}
	keepLabelled(p, r.id)
	number := "none"
	switch n := goroutinesIn(p); {
	case n >= left:
		number = "all"
	case n > 0:
		number = fmt.Sprintf("%.0f", n)
	}
	return "; the runtime knows " + number + " of them to be blocked for good"
}
