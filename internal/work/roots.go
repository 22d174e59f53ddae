package work

import (
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/kinds"
)

// Some work is done by goroutines without the check's label: those of a server that was started
// before the check, or by another check, those that run finalizers and callbacks of C code, and
// work itself where it has replaced the label. Their samples look like those of another test
// that runs in parallel. So they are counted by their root, the function that the goroutine
// began with.

// ByRoot returns the samples of a profile without the label of the check with this id that may
// be done for its work. In the place of the label they have the root of their stack, and the name
// of another check if that has started the goroutine.
func ByRoot(p *profile.Profile, id string) *profile.Profile {
	p = p.Compact() // a copy, in which each sample has its own labels
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		stack := stackOf(s)
		root, ok := rootOf(stack)
		for _, other := range s.Label[label] { // what the loop of another check calls is its own work
			root += " of the check in " + testOf(other)
			ok = ok && other != id && !slices.ContainsFunc(stack, isLoop)
		}
		s.Label[label] = []string{root}
		return !ok
	})
	Cut(p)
	return p
}

// testOf is the name of the test of the check with this id.
func testOf(id string) string {
	if i := strings.LastIndexByte(id, '#'); i >= 0 {
		return id[:i]
	}
	return id
}

// OfRoots is the number of samples of each root in profiles of [ByRoot].
func OfRoots(profiles ...*profile.Profile) map[string]int64 {
	samples := map[string]int64{}
	for _, p := range profiles {
		for _, s := range p.Sample {
			samples[s.Label[label][0]] += s.Value[0]
		}
	}
	return samples
}

// Unlabelled counts the goroutines that have no running check's label, but may work for the
// check with this id, by their roots.
func Unlabelled(id string) map[string]int64 {
	p := Take(kinds.Goroutine)
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		return slices.ContainsFunc(s.Label[label], func(id string) bool { _, runs := running.Load(id); return runs })
	})
	return OfRoots(ByRoot(p, id))
}
