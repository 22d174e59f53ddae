package guard

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/pattern"
)

// entryShare is the share of the samples from which a function that the literal
// calls is taken for a part of the test, and not for its setup.
const entryShare = 0.1

// noteEntries tells those who give Check a literal that calls several functions
// that these are entry points, if one of them is over a limit that it is exempt
// from.
//
// It is a note and not a verdict. A literal that calls one function says what is
// to be run, and that function stands near 100%; to charge functions only where
// there are several would take a share from which there are, and a test near
// that share would pass today and fail tomorrow.
func (r *checkRun) noteEntries(p *profile.Profile) {
	entries := entriesOf(p)
	if len(entries) < 2 {
		return
	}
	for i, b := range r.set {
		limit := b.Limit.Value / 100
		if r.results[i].Verdict == budget.Inconclusive || b.Subject != "no function" || b.Rule != "" || b.Flat ||
			b.Limit.Unit != "%" || b.In != "" || len(b.Where) > 0 || (b.Kind != "" && b.Kind != "cpu") ||
			entries[0].share <= limit || isExcepted(b, entries[0].name) {
			continue
		}
		r.notes = append(r.notes, fmt.Sprintf("work calls %s (%.0f%%) and %s (%.0f%%) directly. They are entry points, which %q judges by what they call. "+
			"To have them judged too, give Check a function with a name that calls them, instead of a literal",
			entries[0].name, 100*entries[0].share, entries[1].name, 100*entries[1].share, b.String()))
		return
	}
}

// An entryPointShare is a function that work calls, and its share of all samples.
type entryPointShare struct {
	name  string
	share float64
}

// entriesOf lists the functions that the literal calls and that take more than
// a trifle, the costliest first.
func entriesOf(p *profile.Profile) []entryPointShare {
	values, total := map[string]int64{}, int64(0)
	for _, s := range p.Sample {
		total += s.Value[0]
		stack := stackOf(s)
		if i := slices.IndexFunc(stack, func(name string) bool { return name == guardPackage+".runWork" }); i >= 2 {
			values[stack[i-2]] += s.Value[0]
		}
	}
	var out []entryPointShare
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if share := float64(values[name]) / float64(total); share >= entryShare {
			out = append(out, entryPointShare{name, share})
		}
	}
	slices.SortStableFunc(out, func(a, b entryPointShare) int { return cmp.Compare(b.share, a.share) })
	return out
}

// isExcepted reports whether a budget exempts a function by name, or no entry
// point at all.
func isExcepted(b budget.Budget, name string) bool {
	return slices.ContainsFunc(b.Except, func(text string) bool {
		if text == "none" {
			return true
		}
		p, err := pattern.Parse(text)
		return err == nil && p.Match(name)
	})
}
