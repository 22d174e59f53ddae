package judge

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/evidence"
)

// A function is the evidence about one function of a rule about each.
type function struct {
	stream evidence.Stream
	near   time.Duration // the last window in which it was at a tenth of the limit
	window int           // the last that it was given
}

// functions are kept by name, those that have come near the limit.
type functions struct {
	byName map[string]*function
	window int
}

// maxFunctions bounds the functions that one rule remembers. At a limit of 10%
// and ten functions a sample there can be a thousand at a tenth of the limit in
// theory; the 256 that were near last are far more than can be over it.
const maxFunctions = 256

// suspicion is a twentieth of what is proof: odds of nearly three to one.
const suspicion = 0.05

// addEach gives a window to every function that is or was near the limit. The rule
// stands as the worst of them.
func (s *standing) addEach(w *window, r *rule, sums *charge.Sums, counts counts, at time.Duration, near bool) {
	all := &s.functions
	if all.byName == nil {
		all.byName = map[string]*function{}
	}
	all.window++
	add := func(f *function, k, n float64) {
		f.stream.Add(k, n, near)
		f.window = all.window
	}
	// Growth has a limit for each function: with a baseline of it, a larger one.
	sameLimit, first := r.Test != Grows, true
	for key := range w.ranked(r.query) {
		if !sameLimit && sums.Share(key) < r.Limit/10 {
			break // no limit is below the margin
		}
		name := w.keyName(sums, key)
		k, n, limit := counts(name, sums.By(key))
		if first && sameLimit {
			// Whether all keep to the limit shows in the worst of each window,
			// whoever that is.
			s.addOne(w, r, k, n, limit, near)
		}
		first = false
		if k < n*limit/10 {
			if sameLimit {
				break // all that follow have less
			}
			continue
		}
		f := all.byName[name]
		if f == nil {
			f = &function{stream: w.stream(r, name, limit, s.lnA)}
			all.byName[name] = f
		}
		f.near = at
		add(f, k, n)
	}
	// Those that were near before.
	for _, key := range sums.Keys {
		name := w.keyName(sums, key)
		if f := all.byName[name]; f != nil && f.window != all.window {
			k, n, _ := counts(name, sums.By(key))
			add(f, k, n)
		}
	}
	failed, passed := false, true
	s.evidence = 0
	for name, f := range all.byName {
		if f.window != all.window {
			k, n, _ := counts(name, 0)
			add(f, k, n)
		}
		s.evidence = max(s.evidence, f.stream.Strength())
		// Who may be over the limit now keeps the budget from being kept again.
		failed = failed || f.stream.Verdict() == evidence.Fail || s.verdict == evidence.Fail && f.stream.Strength() >= suspicion
		passed = passed && f.stream.Verdict() == evidence.Pass
	}
	switch {
	case failed:
		s.verdict = evidence.Fail
	case sameLimit && s.verdict == evidence.Fail:
		s.verdict = evidence.Pass // whoever was over the limit has been shown to be back
	case sameLimit && s.one.Verdict() == evidence.Pass, !sameLimit && passed:
		s.verdict = evidence.Pass
	case !sameLimit:
		s.verdict = evidence.Inconclusive // the baseline is too small to tell
	}
	all.forget()
}

// forget keeps the memory bounded: whoever has not been near the limit for the
// longest time goes; those that are over it stay the longest.
func (all *functions) forget() {
	if len(all.byName) <= maxFunctions {
		return
	}
	names := slices.SortedFunc(maps.Keys(all.byName), func(a, b string) int {
		x, y := all.byName[a], all.byName[b]
		return cmp.Or(
			cmp.Compare(severity(x.stream.Verdict()), severity(y.stream.Verdict())),
			cmp.Compare(x.near, y.near),
			cmp.Compare(x.stream.Strength(), y.stream.Strength()),
			cmp.Compare(a, b))
	})
	for _, name := range names[:len(names)-maxFunctions] {
		delete(all.byName, name)
	}
}
