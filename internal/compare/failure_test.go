package compare

import (
	"errors"
	"testing"

	"github.com/profguard/profguard/internal/compare/report"
	"github.com/profguard/profguard/internal/compare/slice"
)

// A failure is the head's only if the head fails each time, and the base never.
func TestConfirm(t *testing.T) {
	always := func(int) bool { return true }
	never := func(int) bool { return false }
	second := func(n int) bool { return n == 1 }
	for _, c := range []struct {
		name       string
		side       int
		base, head func(n int) bool // whether run n fails
		output     string
		want       report.Verdict
		reason     string
		runs       int
	}{
		{"the head", head, never, always, "", report.Broken, "fails at the head", 6},
		{"both", head, always, always, "", report.Unjudged, "fails on both sides", 1},
		{"both, seen at the base", base, always, always, "", report.Unjudged, "fails on both sides", 1},
		{"both, the base not always", head, second, always, "", report.Unjudged, "fails on both sides", 3},
		{"the base", base, always, never, "", report.Unjudged, "fails at the base", 6},
		{"once", head, never, never, "", report.Undecided, "fails at the head in some runs", 2},
		{"not always", head, never, func(n int) bool { return n != 1 }, "", report.Undecided, "fails at the head in some runs", 4},
		{"a timeout", head, never, always, slice.TimedOut + " 10m0s", report.Broken, "fails at the head", 2},
	} {
		f := &failure{side: c.side, output: c.output}
		var count [2]int
		err := f.confirm(func(side int) error {
			n := count[side]
			count[side]++
			if fails := [...]func(int) bool{c.base, c.head}[side]; fails(n) {
				return &failure{side: side}
			}
			return nil
		})
		if err != nil || f.verdict() != c.want || f.Error() != c.reason || count[base]+count[head] != c.runs {
			t.Errorf("%s: expected %s, %q after %d runs, found %s, %q after %d, %v", c.name, c.want, c.reason, c.runs, f.verdict(), f, count, err)
		}
	}
	f, stopped := &failure{side: head}, errors.New("interrupted")
	if err := f.confirm(func(int) error { return stopped }); !errors.Is(err, stopped) || f.verdict() != report.Undecided {
		t.Errorf("interrupted: found %s, %v", f.verdict(), err)
	}
}
