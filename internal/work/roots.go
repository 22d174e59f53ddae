package work

import (
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
)

// Some work is done by goroutines without the check's label: those of a server that was started
// before the check, or by another check, those that run finalizers and callbacks of C code, and
// work itself where it has replaced the label. Their samples look like those of another test
// that runs in parallel. So they are counted by their root, the function that the goroutine
// began with.

// ByRoot counts the samples of a profile without the label of the check with this id that may be
// done for its work, by the root of their stack, and the name of another check if that has started
// the goroutine.
func ByRoot(t *decode.Table, id string) map[string]int64 {
	samples := map[string]int64{}
	for s := range t.Each() {
		if root := besideOf(t, s, id); root != "" {
			samples[root] += s.Values[0]
		}
	}
	return samples
}

// Beside returns the samples that ByRoot counts, cut as [Cut] does.
func Beside(t *decode.Table, id string) *decode.Table {
	cut, _ := Cut(t.Filter(func(s *decode.Stack) bool {
		is := besideOf(t, *s, id) != ""
		takeLabel(t, s)
		return is
	}))
	return cut
}

// besideOf is the root by which ByRoot counts a sample, "" if it does not.
func besideOf(t *decode.Table, s decode.Stack, id string) string {
	stack := stackOf(t, s)
	root, ok := rootOf(stack)
	if other := labelOf(t, s); other != "" { // what the loop of another check calls is its own work
		root += " of the check in " + testOf(other)
		ok = ok && other != id && !slices.ContainsFunc(stack, isLoop)
	}
	if !ok || workOf(stack) == 0 {
		return ""
	}
	return root
}

// testOf is the name of the test of the check with this id.
func testOf(id string) string {
	if i := strings.LastIndexByte(id, '#'); i >= 0 {
		return id[:i]
	}
	return id
}

// Unlabelled counts the goroutines that have no running check's label, but may work for the
// check with this id, by their roots.
func Unlabelled(id string) map[string]int64 {
	t := Take(kinds.Goroutine)
	return ByRoot(t.Filter(func(s *decode.Stack) bool {
		_, runs := running.Load(labelOf(t, *s))
		return !runs
	}), id)
}
