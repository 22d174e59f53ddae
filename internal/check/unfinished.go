package check

import (
	"runtime"
	"time"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/work"
)

// Work may start goroutines and return before they have ended. What these do later is not
// measured, so while there are such goroutines no budget is kept.
const (
	// waitingShare is the share of the calls that may leave a goroutine which waits: what it
	// will do cannot be known.
	waitingShare = 0.1

	// A goroutine that works also waits for memory now and then, but not at fewLooks in a row. If the
	// process uses no CPU at manyLooks, and no thread of it waits for a core, those that seem to run
	// wait in code of C.
	fewLooks, manyLooks = 4, 10

	// mostGoroutines is how many goroutines a batch or a repetition may leave between two calls.
	mostGoroutines = 1000
)

// A rest is how the process comes to rest after the last call.
type rest struct {
	used  usage               // until then
	left  *judge.StillRunning // goroutines that do not come to rest, nil if there are none
	cause cause
}

// unfinished waits until no goroutine runs that works for the check or may do so, and the process uses
// less than so many cores, for d at most. Where it is not alone, the former is enough.
func (r *run) unfinished(d time.Duration, cores float64, alone bool) (x rest) {
	none, quiet := 0, 0 // looks and spans in a row
	look := r.look
	for q := range look {
		look[q] *= 2
	}
	last := r.usage()
	for start := time.Now(); ; {
		at := time.Now()
		time.Sleep(pauseMost)
		slept := r.usage()
		used := slept.since(last)
		own, others := work.AtWork(r.id)
		last = r.usage()
		x.used.beyond(last.since(slept), look) // what the look itself costs is ours
		for q := range used {
			x.used[q] += used[q]
		}
		if none++; len(own)+len(others) > 0 {
			none = 0
		}
		if quiet++; used[cpuSeconds] > cores*time.Since(at).Seconds() || none == 0 && process.Runnable() > 1 {
			quiet = 0
		}
		late := time.Since(start) > d || time.Until(r.deadline()) < reserve
		switch {
		case none > 0 && (quiet > 0 || late), none >= fewLooks && !alone, quiet >= manyLooks:
			return x
		case !late:
		case len(own) > 0:
			x.left, x.cause = r.stillRunning(own, false), mistake
			return x
		default:
			x.left, x.cause = r.stillRunning(others, true), unknown
			return x
		}
	}
}

// waiting returns the goroutines of work that wait, if so many have come with the calls that work
// may leave them. It returns nil if not.
func (r *run) waiting() *judge.StillRunning {
	left := work.Goroutines(r.id)
	came := left.Count() - r.started
	if float64(came) < max(enough, waitingShare*float64(r.worker.Calls.Load())) {
		return nil
	}
	found := r.stillRunning(work.Roots(left), false)
	found.Number = came
	return found
}

func (r *run) stillRunning(roots map[string]int64, others bool) *judge.StillRunning {
	found, most := judge.StillRunning{Calls: r.worker.Calls.Load(), Others: others}, int64(0)
	for root, n := range roots {
		found.Number += n
		if n > most || n == most && root < found.Root {
			found.Root, most = root, n
		}
	}
	return &found
}

// takeBackUnfinished takes back what samples have shown, if goroutines run on after the last call,
// for more than a tenth of the time of the check: what they do then is not in the samples. If it is
// not known whether they work for the check, that matters to amounts per call.
func (r *run) takeBackUnfinished() {
	of := append(r.plan.cpu[:len(r.plan.cpu):len(r.plan.cpu)], r.plan.profiles...)
	if len(of) == 0 || r.worker.IsOver() {
		return
	}
	x, waiting := r.unfinished(max(block, time.Since(r.begun)/10), othersRate, false), r.waiting()
	if r.tooMany != nil {
		x = rest{left: r.tooMany, cause: mistake}
	}
	for _, i := range of {
		rule, left, why := r.rules[i], x.left, x.cause
		if why == unknown && rule.Per == "" {
			left = nil
		}
		if left == nil && rule.Per != "" {
			left, why = waiting, mistake
		}
		if left != nil && r.outcomes[i].Verdict != evidence.Fail && !r.isUnlinked(rule.Subject) {
			r.outcomes[i] = r.outcomes[i].undecided(why, *left)
		}
	}
}

// resume repeats work again after it was halted because of too many goroutines, unless it goes on
// while these run. It reports whether it does.
func (r *run) resume() bool {
	if len(r.worker.Left) > 0 {
		r.tooMany = r.stillRunning(r.worker.Left, false)
		return false
	}
	r.limitGoroutines()
	r.worker.Order(0)
	return true
}

func (r *run) limitGoroutines() {
	r.worker.Most.Store(int64(runtime.NumGoroutine()) + mostGoroutines)
}
