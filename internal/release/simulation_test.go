package release

import (
	"flag"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// releases is how many releases a simulation has: 1,000 take some minutes.
var releases = flag.Int("releases", 60, "releases of a simulation")

// loads are what equal releases are compared under: as before, with more and less work, on a faster and on a
// slower machine, with another mix of work, and for a short time.
var loads = []load{
	{windows: 30, work: 200, jitter: 0.2},
	{windows: 30, work: 2000, jitter: 0.2},
	{windows: 30, work: 50, jitter: 0.3},
	{windows: 60, work: 200, jitter: 0.3, speed: 1.15},
	{windows: 60, work: 200, jitter: 0.3, speed: 0.87},
	{windows: 5, work: 200, jitter: 0.2},
	{windows: 200, work: 200, jitter: 0.1},
}

// TestEqualReleases: no alarm of equal releases, whatever they are compared under.
func TestEqualReleases(t *testing.T) {
	for _, per := range []string{"request", ""} {
		r := rand.New(rand.NewPCG(5, 6))
		named, process := 0, 0
		for i := range *releases {
			before, now := shop().run(t, r, hour), shop().run(t, r, loads[i%len(loads)])
			c := compare(t, before, now, per)
			if first(c) != "" {
				named++
				t.Logf("load %d: named %s: %s", i%len(loads), first(c), show(c))
			}
			if l := loads[i%len(loads)]; l.speed == 0 && l.work == hour.work && c.Known && c.Process.Low > 0.1 {
				process++
				t.Log(show(c))
			}
		}
		t.Logf("per %q: %d releases, %d false alarms, %d of the process", per, *releases, named, process)
		if most := *releases / 1000; named > most || process > most {
			t.Errorf("per %q: %d functions and %d processes of %d equal releases alarmed, want at most %d", per, named, process, *releases, most)
		}
	}
}

// TestRefactoredReleases: nor of releases that only move cost, under all loads and in two shapes of the
// program.
func TestRefactoredReleases(t *testing.T) {
	kinds := slices.Sorted(maps.Keys(refactorings))
	for _, per := range []string{"request", ""} {
		r := rand.New(rand.NewPCG(15, 16))
		named := 0
		for i := range *releases {
			build := shop
			if i%2 == 1 {
				build = entered
			}
			kind := kinds[i/2%len(kinds)]
			before, now := build().run(t, r, hour), refactorings[kind](build()).run(t, r, loads[r.IntN(len(loads))])
			if c := compare(t, before, now, per); first(c) != "" {
				named++
				t.Logf("%s: named %s: %s", kind, first(c), show(c))
			}
		}
		t.Logf("per %q: %d refactorings, %d false alarms", per, *releases, named)
		if most := *releases / 1000; named > most {
			t.Errorf("per %q: %d of %d refactorings alarmed, want at most %d", per, named, *releases, most)
		}
	}
}

// TestImprovedReleases: when a function gets cheaper, none seems to be dearer, and the process's bounds
// hold.
func TestImprovedReleases(t *testing.T) {
	for _, per := range []string{"request", ""} {
		r := rand.New(rand.NewPCG(7, 8))
		missed := 0
		for range *releases / 3 {
			before := shop().dearer(0.3, "main.sum", ";regexp.MustCompile;regexp.compile").run(t, r, hour)
			c := compare(t, before, shop().run(t, r, halfHour), per)
			if first(c) != "" {
				t.Errorf("per %q: named %s: %s", per, first(c), show(c))
			}
			if f := find(t, c, "regexp.MustCompile"); f.Status != Cheaper {
				missed++
			}
			if truth := 1/1.3 - 1; c.Known && (c.Process.Low > truth || c.Process.High < truth || c.Process.Value > 0) {
				t.Errorf("%s", show(c))
			}
		}
		if missed > 0 {
			t.Errorf("per %q: %d improvements were not noticed", per, missed)
		}
	}
}

// TestTrafficChanges: ten times the load makes no function grow. Another mix of handlers makes the average
// request another one, and hardly ever seems to be growth.
func TestTrafficChanges(t *testing.T) {
	for _, per := range []string{"request", ""} {
		r := rand.New(rand.NewPCG(9, 10))
		mixes := 0
		for i := range *releases / 3 {
			l := load{windows: 30, work: 2000, jitter: 0.2}
			mixed := shop().edit(func(c *costly) {
				c.cost *= map[byte]float64{'e': 1.6, 'h': 0.7, 'a': 0.8}[handlerOf(c)]
			})
			if i%2 == 0 {
				mixed = shop()
			}
			switch c := compare(t, shop().run(t, r, hour), mixed.run(t, r, l), per); {
			case first(c) == "":
			case i%2 == 0:
				t.Errorf("per %q: named %s: %s", per, first(c), show(c))
			default:
				mixes++
			}
		}
		t.Logf("per %q: %d alarms of %d other mixes", per, mixes, *releases/6)
		if mixes > 1+*releases/6/20 {
			t.Errorf("per %q: %d alarms of %d other mixes", per, mixes, *releases/6)
		}
	}
}

// handlerOf is a letter of the handler that a stack is of.
func handlerOf(c *costly) byte {
	for name, letter := range map[string]byte{".search": 'e', ".checkout": 'h', ".cart": 'a'} {
		if strings.Contains(c.frames, "main.(*Server)"+name) {
			return letter
		}
	}
	return 'h'
}

// TestFoundWithin: at a tenth of a core, 10 points are found within 30 minutes, and 30 within ten.
func TestFoundWithin(t *testing.T) {
	perWindow := math.Round(0.1 * 10 / shop().unit()) // a tenth of a core
	for _, test := range []struct {
		points  float64
		windows int
		jitter  float64
	}{{0.1, 30, 0.1}, {0.3, 10, 0.1}} {
		r := rand.New(rand.NewPCG(11, 12))
		found, n := 0, *releases/3
		for range n {
			before := shop().run(t, r, load{windows: 60, work: perWindow, jitter: test.jitter})
			now := shop().dearer(test.points, "main.cart.step3", ";main.audit").run(t, r, load{windows: test.windows, work: perWindow, jitter: test.jitter})
			c := compare(t, before, now, "request")
			if first(c) == "main.audit" {
				found++
			} else if found == 0 {
				t.Log(show(c))
			}
		}
		t.Logf("%g points in %d windows: found in %d of %d", 100*test.points, test.windows, found, n)
		if found < n*9/10 {
			t.Errorf("%g points in %d windows were found in %d of %d", 100*test.points, test.windows, found, n)
		}
	}
}

// TestMovedAndGrownFound: a function of 20 points that was renamed and is twice as dear is named within an hour at
// a sixth of a core, and not the equal one.
func TestMovedAndGrownFound(t *testing.T) {
	for _, per := range []string{"request", ""} {
		r := rand.New(rand.NewPCG(23, 24))
		l := load{windows: 60, work: 200, jitter: 0.1}
		found, n := 0, *releases/3
		for range n {
			before := pricing(entered(), "price", 0.2).run(t, r, l)
			if c := compare(t, before, pricing(entered(), "quote", 0.4).run(t, r, l), per); first(c) == "main.quote" {
				found++
			}
			if c := compare(t, before, pricing(entered(), "quote", 0.2).run(t, r, l), per); first(c) != "" {
				t.Errorf("named %s: %s", first(c), show(c))
			}
		}
		t.Logf("per %q: found in %d of %d", per, found, n)
		if found < n*9/10 {
			t.Errorf("per %q: found in %d of %d", per, found, n)
		}
	}
}
