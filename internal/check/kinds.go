package check

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
)

// firstLook is when the profiles other than CPU are judged for the first time;
// each further look comes after twice the time. Ten looks at the level of one in
// a million are still one in 100,000.
const firstLook = 250 * time.Millisecond

// A kindsPhase judges what profiles other than CPU gain while work runs.
type kindsPhase struct {
	kinds  []string
	before map[string]*profile.Profile
	start  unitsRead
	next   time.Duration
	err    error
}

// newKindsPhase notes where the profiles stand.
func (r *run) newKindsPhase() (*kindsPhase, error) {
	k := &kindsPhase{
		kinds: r.plan.kinds(r.set), before: map[string]*profile.Profile{}, start: r.readUnits(),
		next: firstLook,
	}
	for _, kind := range k.kinds {
		if kinds.Of(kind).Taken == kinds.State {
			continue
		}
		p, err := cumulative(kind)
		if err != nil {
			return nil, err
		}
		k.before[kind] = p
	}
	return k, nil
}

// cumulative takes a profile of all since the process started, or of what there is.
func cumulative(kind string) (*profile.Profile, error) {
	if kind == "allocs" {
		process.Force(1, runtime.GC) // the profile is as of the last collection
	}
	return runtimeProfile(kind)
}

// done reports whether all of their budgets are decided.
func (k *kindsPhase) done(r *run) bool {
	return k.err != nil || !slices.ContainsFunc(r.plan.profiles, func(i int) bool { return r.outcomes[i].Verdict == budget.Inconclusive })
}

// look judges what has come since the start, if it is time, or the last one.
func (k *kindsPhase) look(r *run, after time.Duration, last bool) {
	if k.done(r) || after < k.next && !last {
		return
	}
	k.next = 2 * after
	now := r.readUnits()
	work := now.since(k.start)
	for _, kind := range k.kinds {
		p, err := k.profile(r, kind)
		if err != nil {
			k.err = err
			r.open(r.plan.profiles, noTime, err.Error())
			return
		}
		r.judged[kind] = p
		k.judge(r, kind, p, r.facts(kind, now.at.Sub(k.start.at), work))
	}
}

// profile is what there is of a kind, or what a difference gained.
func (k *kindsPhase) profile(r *run, kind string) (*profile.Profile, error) {
	if kind == kinds.Goroutine {
		return goroutineProfile(r.id)
	}
	after, err := cumulative(kind)
	if err != nil || kinds.Of(kind).Taken == kinds.State {
		return after, err
	}
	return gained(k.before[kind], after)
}

func (k *kindsPhase) judge(r *run, kind string, p *profile.Profile, facts judge.Facts) {
	var indices []int
	for _, i := range r.plan.profiles {
		if r.set[i].Kind == kind && r.outcomes[i].Verdict == budget.Inconclusive {
			indices = append(indices, i)
		}
	}
	for n, res := range judged(part(r.set, indices), p, facts) {
		i := indices[n]
		// Contention is recorded in full, so that none of it is none, whatever others
		// contend for. At a rate of the user's own, only no event at all is as good.
		full := kind == "mutex" && !r.test.mutex || kind == "block" && !r.test.block
		none := res.Budget.Per != "" && (len(p.Sample) == 0 && (kind == "mutex" || kind == "block") ||
			full && res.Verdict == budget.Inconclusive && res.Hits == 0 && res.Share == 0)
		switch {
		case none && facts.Work[res.Budget.Per] > 0:
			res.Verdict, res.Reason = budget.Pass, "there was none"
		case len(p.Sample) == 0 && res.Verdict == budget.Inconclusive:
			res.Reason = "nothing to judge: the " + kind + " profile has gained no samples from work"
		}
		if res.Verdict == budget.Inconclusive && kind == "allocs" {
			res.Reason += memoryRemedy
		}
		r.setResult(i, res)
	}
}

// memoryRemedy is what to do about too few samples of memory.
const memoryRemedy = "; the runtime samples one allocation in 512 KiB: let work do more, raise Checker.Max, " +
	"or set runtime.MemProfileRate lower at the start of TestMain"

// contention counts, by kind, the checks that need all events of mutex or block recorded.
// The rates are the process's.
var contention = struct {
	sync.Mutex
	checks   map[string]int
	fraction int // of mutex events, before
}{checks: map[string]int{}}

// recordContention has contention recorded if budgets ask for it, and returns what undoes
// that. What -mutexprofile and -blockprofile have set is left alone.
func (r *run) recordContention() (restore func()) {
	var kinds []string
	for _, kind := range r.plan.kinds(r.set) {
		if kind == "mutex" && !r.test.mutex || kind == "block" && !r.test.block {
			kinds = append(kinds, kind)
		}
	}
	countContention(kinds, 1)
	return func() { countContention(kinds, -1) }
}

func countContention(kinds []string, by int) {
	contention.Lock()
	defer contention.Unlock()
	for _, kind := range kinds {
		before := contention.checks[kind]
		contention.checks[kind] += by
		switch on, off := before == 0, before+by == 0; {
		case on && kind == "mutex":
			contention.fraction = runtime.SetMutexProfileFraction(1)
		case on:
			runtime.SetBlockProfileRate(1)
		case off && kind == "mutex":
			runtime.SetMutexProfileFraction(contention.fraction)
		case off:
			runtime.SetBlockProfileRate(0) // the runtime does not tell what it was before
		}
	}
}
