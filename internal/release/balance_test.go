package release

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestNearest: the function that says why nothing is decided is one that seems to be above the limit, and not one of
// narrow bounds far below it.
func TestNearest(t *testing.T) {
	function := func(name string, status Status, value, low, high float64) Function {
		return Function{Name: name, Status: status, Points: Growth{value, low, high}}
	}
	flat, caller, audit := function("main.flat", Undecided, -0.005, -0.006, 0.046), function("main.route", Undecided, 0.08, -0.1, 0.3), function("main.audit", Undecided, 0.05, 0.01, 0.09)
	small := function("main.small", Same, 0.002, 0.001, 0.003)
	for _, test := range []struct {
		name      string
		functions []Function
		want      string
	}{
		{"far below the limit", []Function{flat, small, caller}, "main.route"},
		{"surely above 0", []Function{flat, caller, audit, small}, "main.audit"},
		{"all below the limit", []Function{small, function("main.wide", Undecided, -0.01, -0.5, 0.5), flat}, "main.flat"},
		{"all decided", []Function{small}, ""},
	} {
		c := &Comparison{Limit: 0.03, Functions: test.functions}
		got := ""
		if f := c.Nearest(); f != nil {
			got = f.Name
		}
		if got != test.want {
			t.Errorf("%s: expected %q, found %q", test.name, test.want, got)
		}
		if says, seems := strings.Contains(c.Balance(), "; not sure yet: "+got+" "), got == "main.route" || got == "main.audit"; says != seems {
			t.Errorf("%s: %s", test.name, c.Balance())
		}
	}
}

// TestSurelyAboveIsFirst: functions that surely cost more stand before all others, the surest first, and are in the
// balance. Of a chain of calls it is the deepest. Of equal releases none is.
func TestSurelyAboveIsFirst(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	r := rand.New(rand.NewPCG(25, 26))
	found, n := 0, 20
	for range n {
		before := shop().run(t, r, load{windows: 60, work: 200, jitter: 0.05})
		now := shop().dearer(0.04, "main.(*Server).cart", ";main.audit").run(t, r, load{windows: 20, work: 200, jitter: 0.05})
		c := compare(t, before, now, "request")
		if name, above := c.Above(); len(above) > 0 && above[0].Name == "main.audit" && strings.Contains(c.Balance(), "; "+name+": main.audit +") || first(c) == "main.audit" {
			found++
		}
		open := false
		for _, f := range c.Functions {
			sure := f.Points.Low > 0 && f.Status != Moved
			if sure && open {
				t.Errorf("%s stands behind one that may cost as much as before: %s", f.Name, show(c))
			}
			open = open || !sure
			if f.Above && (f.Named || f.Points.Low <= 0) {
				t.Errorf("%s: %s", f.Name, show(c))
			}
		}
		c = compare(t, before, shop().run(t, r, halfHour), "request") // the clean twin
		if _, above := c.Above(); len(above) > 0 {
			t.Errorf("%s of an equal release: %s", above[0].Name, show(c))
		}
	}
	if found < n*9/10 {
		t.Errorf("found in %d of %d", found, n)
	}
}
