package release

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// releases is how many pairs of releases a simulation has. 1,000 take some minutes.
var releases = flag.Int("releases", 60, "pairs of releases of a simulation")

// A tally counts pairs of releases: in how many a function was named, and in how many it was the right one.
type tally struct{ pairs, named, right int }

// add compares a pair. right are the functions that may be named.
func (y *tally) add(t testing.TB, c *Comparison, right ...string) {
	t.Helper()
	y.pairs++
	got := first(c)
	switch {
	case slices.Contains(right, got):
		y.named, y.right = y.named+1, y.right+1
		return
	case got != "":
		y.named++
	}
	if missed := y.pairs - y.right; got != "" && y.named-y.right == 1 || len(right) > 0 && missed == 1 {
		t.Logf("named %q, want %q: %s", got, right, show(c))
	}
}

// expect checks that at most such a part of the pairs has a wrong name, and at least such a part the right one. Both
// may be missed by three standard deviations. Where there are to be no wrong names, 1 of 1,000 pairs may have one.
func (y *tally) expect(t testing.TB, what string, wrong, right float64) {
	t.Helper()
	n := float64(y.pairs)
	deviation := func(part float64) float64 { return 3 * math.Sqrt(n*part*(1-part)) }
	most, least := math.Floor(n*max(wrong, 0.001)+deviation(wrong)), math.Ceil(n*right-deviation(right))
	t.Logf("%-50s wrong %d (at most %.0f), right %d (at least %.0f) of %d", what, y.named-y.right, most, y.right, max(least, 0), y.pairs)
	if float64(y.named-y.right) > most || float64(y.right) < least {
		t.Errorf("%s: of %d pairs %d have a wrong name, want at most %.0f; %d the right one, want at least %.0f", what, y.pairs, y.named-y.right, most, y.right, least)
	}
}

// An hour before, and half an hour now, at a sixth of a core.
var (
	hour     = load{windows: 60, work: 200, jitter: 0.2}
	halfHour = load{windows: 30, work: 200, jitter: 0.2}
)

// loads are what equal releases are compared under: as before, with more and less work, on a faster and on a
// slower machine, with another mix of work, and for a short and a long time.
var loads = []load{
	{windows: 30, work: 200, jitter: 0.2},
	{windows: 30, work: 2000, jitter: 0.2},
	{windows: 30, work: 50, jitter: 0.3},
	{windows: 60, work: 200, jitter: 0.3, speed: 1.15},
	{windows: 60, work: 200, jitter: 0.3, speed: 0.87},
	{windows: 5, work: 200, jitter: 0.2},
	{windows: 200, work: 200, jitter: 0.1},
}

// units are those of comparisons: a unit of work, or none.
var units = []string{"request", ""}

func unitName(per string) string {
	if per == "" {
		return ", by shares"
	}
	return ", per " + per
}

// TestEqualReleases: no alarm of equal releases, whatever they are compared under.
func TestEqualReleases(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	for _, per := range units {
		r := rand.New(rand.NewPCG(5, 6))
		var equal tally
		process := 0
		for i := range *releases {
			l := loads[i%len(loads)]
			c := compare(t, shop().run(t, r, hour), shop().run(t, r, l), per)
			equal.add(t, c)
			if l.speed == 0 && l.work == hour.work && c.Known && c.Process.Low > 0.1 {
				process++
				t.Log(show(c))
			}
		}
		equal.expect(t, "equal"+unitName(per), 0, 0)
		if most := *releases / 1000; process > most {
			t.Errorf("per %q: the process has grown in %d of %d, want at most %d", per, process, *releases, most)
		}
	}
}

// TestRefactoredReleases: nor of releases that only move cost, under all loads and in two shapes of the
// program.
func TestRefactoredReleases(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	kinds := slices.Sorted(maps.Keys(refactorings))
	for _, per := range units {
		r := rand.New(rand.NewPCG(15, 16))
		var refactored tally
		for i := range *releases {
			build := shop
			if i%2 == 1 {
				build = entered
			}
			change := refactorings[kinds[i/2%len(kinds)]]
			refactored.add(t, compare(t, build().run(t, r, hour), change(build()).run(t, r, loads[r.IntN(len(loads))]), per))
		}
		refactored.expect(t, "refactored"+unitName(per), 0, 0)
	}
}

// TestImprovedReleases: when a function gets cheaper, none seems to be dearer, and the process's bounds
// hold.
func TestImprovedReleases(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	for _, per := range units {
		r := rand.New(rand.NewPCG(7, 8))
		var improved tally
		missed := 0
		for range *releases / 3 {
			before := shop().dearer(0.3, "main.sum", ";regexp.MustCompile;regexp.compile").run(t, r, hour)
			c := compare(t, before, shop().run(t, r, halfHour), per)
			improved.add(t, c)
			if f := find(t, c, "regexp.MustCompile"); f.Status != Cheaper {
				missed++
			}
			if truth := 1/1.3 - 1; c.Known && (c.Process.Low > truth || c.Process.High < truth || c.Process.Value > 0) {
				t.Errorf("%s", show(c))
			}
		}
		improved.expect(t, "improved by 30 points"+unitName(per), 0, 0)
		if missed > *releases/1000 {
			t.Errorf("per %q: %d improvements were not noticed", per, missed)
		}
	}
}

// TestTrafficChanges: neither ten times the load nor another mix of handlers with it makes a function grow.
func TestTrafficChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	shares := map[string]float64{"search": 1.6, "checkout": 0.7, "cart": 0.8}
	for _, per := range units {
		r := rand.New(rand.NewPCG(9, 10))
		l := load{windows: 30, work: 2000, jitter: 0.2}
		var ten, mix tally
		for range *releases / 6 {
			ten.add(t, compare(t, shop().run(t, r, hour), shop().run(t, r, l), per))
			mixed := shop().edit(func(c *costly) {
				if share := shares[strings.TrimPrefix(handlerOf(c.frames), "main.(*Server).")]; share > 0 {
					c.cost *= share
				}
			})
			mix.add(t, compare(t, shop().run(t, r, hour), mixed.run(t, r, l), per))
		}
		ten.expect(t, "ten times the load"+unitName(per), 0, 0)
		mix.expect(t, "ten times the load, another mix"+unitName(per), 0, 0)
	}
}

// TestFoundWithin: at a tenth of a core, 10 points are found within 30 minutes, 30 within ten, and 5 in two hours.
func TestFoundWithin(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	perWindow := math.Round(0.1 * 10 / shop().unit()) // a tenth of a core
	for _, test := range []struct {
		points           float64
		windows          int
		at, below, named string
		right            [2]float64 // per request, and by shares
	}{
		{0.1, 30, "main.cart.step3", ";main.audit", "main.audit", [2]float64{1, 1}},
		{0.3, 10, "main.cart.step3", ";main.audit", "main.audit", [2]float64{1, 1}},
		{0.1, 30, "main.valid", ";main.audit", "main.audit", [2]float64{1, 1}}, // many call main.valid
		{0.05, 120, "main.cart.step3", ";main.audit", "main.audit", [2]float64{0.95, 0.95}},
		{0.1, 30, "main.sum", "", "main.sum", [2]float64{0.95, 0.95}}, // in its own body
	} {
		for i, per := range units {
			r := rand.New(rand.NewPCG(11, 12))
			var found tally
			for range *releases / 6 {
				before := shop().run(t, r, load{windows: 60, work: perWindow, jitter: 0.1})
				now := shop().dearer(test.points, test.at, test.below).run(t, r, load{windows: test.windows, work: perWindow, jitter: 0.1})
				found.add(t, compare(t, before, now, per), test.named)
			}
			found.expect(t, fmt.Sprintf("%g points in %s, %d windows", 100*test.points, test.at, test.windows)+unitName(per), 0.01, test.right[i])
		}
	}
}

// TestMovedAndGrownFound: a function of 20 points that was renamed and is twice as dear is named within an hour at
// a sixth of a core, and not the equal one.
func TestMovedAndGrownFound(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	for _, per := range units {
		r := rand.New(rand.NewPCG(23, 24))
		l := load{windows: 60, work: 200, jitter: 0.1}
		var found, equal tally
		for range *releases / 6 {
			before := pricing(entered(), "price", 0.2).run(t, r, l)
			found.add(t, compare(t, before, pricing(entered(), "quote", 0.4).run(t, r, l), per), "main.quote")
			equal.add(t, compare(t, before, pricing(entered(), "quote", 0.2).run(t, r, l), per))
		}
		found.expect(t, "renamed and twice as dear"+unitName(per), 0, 0.95)
		equal.expect(t, "renamed and as dear"+unitName(per), 0, 0)
	}
}
