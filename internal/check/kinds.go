package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/words"
	"github.com/profguard/profguard/internal/work"
)

// firstLook is when the profiles other than CPU are judged for the first time. Each further
// look comes after twice the time. With ten looks, an error of one in a million becomes one
// in 100,000.
const firstLook = 250 * time.Millisecond

// A kindsPhase judges the difference of allocs, mutex and block profiles while work runs.
type kindsPhase struct {
	before map[string]*decode.Totals
	start  work.Done
	next   time.Duration
	found  map[int]outcome // by budget
}

func (r *run) newKindsPhase() *kindsPhase {
	k := &kindsPhase{before: map[string]*decode.Totals{}, start: r.done(), next: firstLook, found: map[int]outcome{}}
	for kind := range r.byKind(r.of(gained)) {
		k.before[kind] = work.Totals(cumulative(kind))
	}
	return k
}

func (k *kindsPhase) open(r *run) []int {
	return slices.DeleteFunc(r.of(gained), func(i int) bool { return k.found[i].Verdict != evidence.Inconclusive })
}

// look judges the difference since the start, if it is time for a look or the last look.
func (k *kindsPhase) look(r *run, after time.Duration, last bool) {
	if after < k.next && !last {
		return
	}
	k.next = 2 * after
	now := r.done()
	units := now.Since(k.start)
	for kind, open := range r.byKind(k.open(r)) {
		p, facts := work.Gained(k.before[kind], cumulative(kind)), r.about(kind, now.At.Sub(k.start.At), units)
		r.judged[kind] = p
		// If this check records contention in full, no event of work in some seconds means
		// that there is none. At a rate that the user has set, that takes a profile without
		// any event.
		sure := kinds.Of(kind).Sampling == kinds.Contention && (len(p.Samples) == 0 || r.records(kind)) && (last || after >= leastTime)
		for n, f := range judged(part(r.rules, open), p, facts) {
			rule := r.rules[open[n]]
			_, failed := f.Reason.(judge.Failed)
			measured := !failed && f.Cut == 0 && rule.When.UnmetBy(facts.Figures) == nil && units[cmp.Or(rule.Per, work.Call)] > 0
			if sure && measured && f.Verdict == evidence.Inconclusive && f.Hits == 0 && f.Value == 0 {
				f.Verdict, f.Reason, f.Notes = evidence.Pass, words.NoEvents{}, judge.Notes{}
			}
			k.found[open[n]] = outcome{Finding: f, kind: kind}
		}
	}
}

// records reports whether the check makes the runtime record all events of a kind. It does
// not if -mutexprofile or -blockprofile have set the rate.
func (r *run) records(kind string) bool {
	return (kind == kinds.Mutex && !r.test.mutexes || kind == kinds.Block && !r.test.blocking) && r.byKind(r.of(gained))[kind] != nil
}
