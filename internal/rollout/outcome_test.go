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
	if text := r.sentence(); !strings.Contains(text, "costs more as a whole, with no function to name; each request takes 150.0%") {
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

// TestAccepted: what is accepted is no cost of the process either, and what costs more beside it still is.
func TestAccepted(t *testing.T) {
	const accepted, other = 10, 20
	s := usual()
	s.processes = 0.02
	for _, tt := range []struct {
		name   string
		after  service
		except []string
		want   State
	}{
		{"nothing is accepted", s.dearer(accepted, 0.3), nil, Dearer},
		{"the function is", s.dearer(accepted, 0.3), []string{functionNames[accepted]}, Equal},
		{"the process costs more beside it", s.dearer(accepted, 0.3).dearer(other, 0.3), []string{functionNames[accepted]}, Dearer},
		{"no such function", s.dearer(accepted, 0.3), []string{"main.other"}, Dearer},
	} {
		f := world{was: 50, is: 50, before: s, after: tt.after}.rollOut(1)
		f.run(f.now, 1, 600, false)
		r, err := Judge(t.Context(), release.Build{Version: "v1"}, release.Build{Version: "v2"}, f.processes(0), f.processes(1),
			Options{Job: "shop", Per: request, Limit: 0.05, Process: 0.1, Except: tt.except})
		if err != nil {
			t.Fatal(err)
		}
		if r.State != tt.want {
			t.Errorf("%s: %s, want %s: %s", tt.name, r.State, tt.want, r.Text)
		}
	}
}

// TestBuildNames: a build is known by what sentences call it, too.
func TestBuildNames(t *testing.T) {
	b := release.Build{Version: "v1", Revision: "abcdef0123456789-dirty-12345678"}
	for name, want := range map[string]bool{"v1": true, "abcdef0": true, "abcdef": false, "12345678": true, "5678": false, b.Revision: true, "v2": false, "": false} {
		if is(b, name) != want {
			t.Errorf("%q is %s: %t", name, b, !want)
		}
	}
	if got := b.String(); got != "v1 (abcdef0, modified, build 12345678)" {
		t.Error(got)
	}
}
