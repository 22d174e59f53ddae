package budget

import (
	"cmp"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/tally"
)

// A fate is the evidence about one function of a "no function" budget.
type fate struct {
	alarm evidence.Alarm
	near  time.Duration // the last window in which it was at a tenth of the limit
	fed   uint64        // the last window that it was given
}

// fates are kept by name, of functions that have come near the limit.
type fates struct {
	byName map[string]*fate
	window uint64
}

// maxFates bounds the functions that one budget remembers. At a limit of 10%
// and ten functions a sample there can be a thousand at a tenth of the limit in
// theory; the 256 that were near last are far more than can be over it.
const maxFates = 256

// feedEach gives a window to every function that is or was near the limit.
func (s *state) feedEach(w *window, r *rule, sums *tally.Sums, bet bet, at time.Duration, res *Result) {
	f := &s.fates
	if f.byName == nil {
		f.byName = map[string]*fate{}
	}
	f.window++
	sameLimit := r.budget.Rule != "grows"
	fed, first := 0, true
	feed := func(one *fate, k, n float64) {
		one.alarm.Add(k, n)
		one.fed = f.window
		fed++
	}
	for key := range w.ranked(r.query) {
		if !sameLimit && sums.Share(key) < r.limit/10 {
			break // no limit is below the margin
		}
		if w.excepted(r, sums, key) {
			continue
		}
		name := w.keyName(sums, key)
		k, n, limit := bet(name, sums.By[key])
		if first && sameLimit {
			// Whether all keep to the limit shows in the worst of each window,
			// whoever that is.
			s.add(w, r, k, n, limit)
		}
		first = false
		if k < n*limit/10 {
			if sameLimit {
				break // all that follow have less
			}
			continue
		}
		one := f.byName[name]
		if one == nil {
			one = &fate{alarm: w.alarm(r, name, limit, s.lnA)}
			f.byName[name] = one
		}
		one.near = at
		feed(one, k, n)
	}
	// Those that were near before.
	for _, key := range sums.Keys {
		if fed >= len(f.byName) {
			break
		}
		name := w.keyName(sums, key)
		if one := f.byName[name]; one != nil && one.fed != f.window {
			k, n, _ := bet(name, sums.By[key])
			feed(one, k, n)
		}
	}
	failed, passed := false, true
	s.evidence = 0
	for name, one := range f.byName {
		if one.fed != f.window {
			k, n, _ := bet(name, 0)
			one.alarm.Add(k, n)
		}
		if s.verdict == Fail { // whoever is over it now keeps it from being over
			failed = one.alarm.Join() || failed
		}
		s.evidence = max(s.evidence, strength(&one.alarm))
		failed = failed || one.alarm.Verdict() == evidence.Fail
		passed = passed && one.alarm.Verdict() == evidence.Pass
	}
	switch {
	case failed, s.verdict == Fail && res.Verdict == Fail:
		s.verdict = Fail
	case s.verdict == Fail && (sameLimit || passed):
		s.verdict = Pass // whoever was over it has been shown to be back
	case s.verdict == Fail:
		s.verdict = Inconclusive // and perhaps it has: the baseline is too small to tell
	case s.verdict == Inconclusive && sameLimit && s.alarm.Verdict() == evidence.Pass,
		s.verdict == Inconclusive && !sameLimit && passed:
		s.verdict = Pass
	}
	f.forget()
}

// forget keeps the memory bounded: whoever has not been near the limit for the
// longest time goes, those that are over it last.
func (f *fates) forget() {
	if len(f.byName) <= maxFates {
		return
	}
	names := make([]string, 0, len(f.byName))
	for name := range f.byName {
		names = append(names, name)
	}
	firing := func(one *fate) int {
		if one.alarm.Verdict() == evidence.Fail {
			return 1
		}
		return 0
	}
	slices.SortFunc(names, func(a, b string) int {
		x, y := f.byName[a], f.byName[b]
		return cmp.Or(
			cmp.Compare(firing(x), firing(y)),
			cmp.Compare(x.near, y.near),
			cmp.Compare(x.alarm.Evidence(), y.alarm.Evidence()),
			cmp.Compare(a, b))
	})
	for _, name := range names[:len(names)-maxFates] {
		delete(f.byName, name)
	}
}
