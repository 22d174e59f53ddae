package work_test

import (
	"testing"

	"github.com/google/pprof/profile"

	. "github.com/profguard/profguard/internal/work"
)

// What another check has started may work for this one, whether that check is over or runs.
func TestByRootOfOtherChecks(t *testing.T) {
	New(t.Context(), "over", nil).Stop(0, 0)
	running, ours := New(t.Context(), "running", nil), New(t.Context(), "ours", nil)
	defer running.Stop(0, 0)
	defer ours.Stop(0, 0)
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}}, PeriodType: &profile.ValueType{}}
	for i, id := range []string{"over", "running", "ours", ""} {
		f := &profile.Function{ID: uint64(i + 1), Name: "shop.serve" + id}
		at := &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
		s := &profile.Sample{Location: []*profile.Location{at}, Value: []int64{7}}
		if id != "" {
			s.Label = map[string][]string{Label: {id}}
		}
		p.Function, p.Location, p.Sample = append(p.Function, f), append(p.Location, at), append(p.Sample, s)
	}
	samples := ByRoot(tableOf(t, p), "ours")
	if len(samples) != 3 || samples["shop.serveover of the check in over"] != 7 || samples["shop.serverunning of the check in running"] != 7 || samples["shop.serve"] != 7 {
		t.Errorf("%v, want those of the other checks and those without a label", samples)
	}
}
