package rollout

import (
	"strings"
	"testing"

	"github.com/profguard/profguard/internal/release"
)

// TestNewNames: a function of a new name that costs more for sure is undecided, and says why. Where a process that has no
// series of it may have had it before, nothing is sure.
func TestNewNames(t *testing.T) {
	f := release.Function{Name: "main.audit", Above: true, MayMove: true, Points: release.Growth{Value: 0.3, Low: 0.2, High: 0.4}}
	for want, missing := range map[string]float64{
		"+30.00 points (+20.00 to +40.00), unless it only moved": 0,
		"+30.00 points (-5.00 to +40.00)":                        0.25,
	} {
		if x := functionOf(&f, 0.05, missing, 0); x.State != Undecided || x.Costs() != want {
			t.Errorf("%s: %s, want %s", x.State, x.Costs(), want)
		}
	}
}

// TestWhole: a process that costs more names no function where none is sure, or all that are were accepted.
func TestWhole(t *testing.T) {
	r := Outcome{Job: "shop", State: Dearer, Unit: request, Process: &Change{0.5, 0.2, 0.8}}
	if text := r.sentence(); !strings.Contains(text, "costs more as a whole, with no function to name; a request takes 150.0%") {
		t.Error(text)
	}
}

// TestUnknownUnit: a unit that nobody counts is named, as it may be misspelt.
func TestUnknownUnit(t *testing.T) {
	r, err := Judge(t.Context(), release.Build{Version: "v1"}, release.Build{Version: "v2"}, nil, nil, Options{Job: "shop", Per: "requets"})
	if err != nil || r.State != Undecided || !strings.Contains(r.Text, `work of the unit "requets"`) {
		t.Errorf("%+v, %v", r, err)
	}
}
