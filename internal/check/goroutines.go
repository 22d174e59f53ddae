package check

import (
	"runtime"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/words"
	"github.com/profguard/profguard/internal/work"
)

// Work may start goroutines and return before they have ended. What these do later is not
// measured, so while there are such goroutines no budget is kept.
const (
	// waitingShare is the share of the calls that may leave a goroutine which waits: what it
	// will do cannot be known. Up to fewWaiting may always do so, and of few calls less than half: a pool
	// is started by the first call, which does not count.
	waitingShare, fewWaiting = 0.1, 3

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
	left  *words.StillRunning // goroutines that do not come to rest, nil if there are none
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
func (r *run) waiting() *words.StillRunning {
	left, calls := work.Goroutines(r.id), float64(r.worker.Calls.Load())
	came := left.Count() - r.started
	if float64(came) < max(fewWaiting, min(enough, calls/2), waitingShare*calls) {
		return nil
	}
	found := r.stillRunning(work.Roots(left), false)
	found.Number = came
	return found
}

func (r *run) stillRunning(roots map[string]int64, others bool) *words.StillRunning {
	found, most := words.StillRunning{Calls: r.worker.Calls.Load(), Others: others}, int64(0)
	for root, n := range roots {
		found.Number += n
		if n > most || n == most && root < found.Root {
			found.Root, most = root, n
		}
	}
	return &found
}

// lookAtRest finds out whether goroutines run on after the last call, for more than a tenth of the time of the check:
// what they do then is not in the samples.
func (r *run) lookAtRest() {
	if len(r.of(gained)) == 0 && r.cpu == nil || r.worker.IsOver() {
		return
	}
	r.rest, r.waits = r.unfinished(max(block, time.Since(r.begun)/10), othersRate, false), r.waiting()
	if r.tooMany != nil {
		r.rest = rest{left: r.tooMany, cause: mistake}
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

// settleTime is how long goroutines may take to end after work has returned and its context
// was canceled. It starts again whenever one of them ends.
const settleTime = 2 * time.Second

// An ending is what some budgets are judged by that are about the end.
type ending struct {
	of []int
	evidenceOf
}

// lookAfterwards looks at the goroutines, figures and memory that are left in the end.
func (r *run) lookAfterwards() {
	if of := r.of(left); len(of) > 0 {
		begun, wait := time.Now(), settleTime
		if r.busy() {
			wait *= busyTimes
		}
		t := work.Settled(r.id, wait, r.latest)
		// The budget is about a profile that few runtimes have. The goroutines that are left take its place.
		for i := range t.Types {
			t.Types[i].Type = kinds.GoroutineLeak
		}
		r.endings, r.hadToEnd = append(r.endings, ending{of, evidenceOf{t, r.about(kinds.GoroutineLeak, 0, nil)}}), time.Since(begun)
	}
	if of := r.of(most); len(of) > 0 {
		r.peak = work.Most(r.peak, r.id) // leaked goroutines are most at the end
		r.endings = append(r.endings, ending{of, evidenceOf{r.peak, r.about(kinds.Goroutine, time.Since(r.begun), nil)}})
	}
	if r.strangers != nil {
		r.come = r.comeWithCalls()
	}
	if of := r.of(figure); len(of) > 0 {
		heap := liveHeap() // first, because the cost of a running collection is counted when it ends
		figures := evidenceOf{&decode.Table{Symbols: new(decode.Symbols)}, r.about("figures", time.Since(r.begun), nil)}
		figures.facts.Figures["heap"] = heap
		r.endings = append(r.endings, ending{of, figures})
	}
	for kind, of := range r.byKind(r.of(state)) {
		liveHeap() // a profile of memory is as of the last collection
		r.endings = append(r.endings, ending{of, evidenceOf{work.WithoutOurs(work.Take(kind)), r.about(kind, time.Since(r.begun), nil)}})
	}
}

// comeWithCalls returns goroutines without the label that have come with the calls, one for two calls or more: work may
// have left them in a server that runs since before the check. It returns nil if there are none.
func (r *run) comeWithCalls() *words.MoreGoroutines {
	found := words.MoreGoroutines{Calls: r.worker.Calls.Load()}
	for root, n := range work.Unlabelled(r.id) {
		if n -= r.strangers[root]; n > found.Come || n == found.Come && root < found.Root {
			found.Come, found.Root = n, root
		}
	}
	if found.Come < max(enough, found.Calls/2) {
		return nil
	}
	return &found
}
