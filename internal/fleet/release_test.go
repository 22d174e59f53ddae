package fleet

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
)

var releases = flag.Int("releases", 20, "how many equal releases are simulated")

const (
	functions = 200
	onePer100 = 49 // the function with a share of 1%
	minutes   = 5  // between two looks
)

// fleets are simulated processes of two builds.
type fleets struct {
	*rand.Rand
	old *Old
	now []*Pod
}

// rollOut lets so many processes of a service run for a day, and replaces them by others of another.
func rollOut(seed uint64, before, after *Service, was, is int) *fleets {
	return rollOutLoads(seed, before, after, loads(was, 1), loads(is, 1))
}

// loads are those of so many processes, of which the first has another one.
func loads(n int, first float64) []float64 {
	return append([]float64{first}, slices.Repeat([]float64{1}, n-1)...)
}

// rollOutLoads is rollOut with processes that have so much work.
func rollOutLoads(seed uint64, before, after *Service, was, is []float64) *fleets {
	f := &fleets{Rand: rand.New(rand.NewPCG(45, seed)), old: NewOld(len(before.Shares))}
	var pods []*Pod
	for _, load := range was {
		pods = append(pods, before.Start(f.Rand))
		pods[len(pods)-1].Load = load
	}
	for range 4 { // quarters of the day
		for _, p := range pods {
			p.Run(f.Rand, 360)
		}
		f.old.See(snapshot(pods))
	}
	for _, load := range is {
		f.now = append(f.now, after.Start(f.Rand))
		f.now[len(f.now)-1].Load = load
	}
	return f
}

func snapshot(pods []*Pod) []Process {
	list := make([]Process, len(pods))
	for i, p := range pods {
		list[i] = p.Process
	}
	return list
}

// look runs the new processes until the next look.
func (f *fleets) look() []Difference {
	for _, p := range f.now {
		p.Run(f.Rand, minutes)
	}
	return f.old.Compare(snapshot(f.now))
}

func isSure(d Difference) bool { return d.Sure }

// found are the minutes after which a function is found, and 0 if it is not within the time.
func (f *fleets) found(function, within int) int {
	for at := minutes; at <= within; at += minutes {
		if f.look()[function].Sure {
			return at
		}
	}
	return 0
}

// dearer is a service in which a function costs more, by a part of what a unit of work costs, and
// with it the work.
func dearer(s *Service, function int, points float64) *Service {
	d := *s
	d.Shares = slices.Clone(s.Shares)
	d.Samples *= 1 + points
	for f := range d.Shares {
		d.Shares[f] /= 1 + points
	}
	d.Shares[function] += points / (1 + points)
	return &d
}

// Equal releases raise no alarm: at most 2 of 1,000, whatever the number of processes. Each is looked
// at every 5 minutes for 6 hours.
//
//	go test ./internal/fleet -run TestEqualReleases -v -releases 1000 -timeout 1h
func TestEqualReleases(t *testing.T) {
	s := Usual(functions)
	for _, size := range []struct{ was, is int }{{100, 100}, {100, 1}, {20, 20}, {19, 19}, {15, 15}, {12, 12}, {5, 5}, {3, 40}, {2, 2}} {
		alarms := 0
		for seed := range *releases {
			f := rollOut(uint64(seed), s, s, size.was, size.is)
			for range 6 * 60 / minutes {
				if list := f.look(); slices.ContainsFunc(list, isSure) {
					t.Logf("%d and %d processes, seed %d: %+v", size.was, size.is, seed, list[slices.IndexFunc(list, isSure)])
					alarms++
					break
				}
			}
		}
		t.Logf("%d processes before, %d now: %d alarms in %d equal releases", size.was, size.is, alarms, *releases)
		if allowed := *releases * 2 / 1000; alarms > allowed {
			t.Errorf("%d processes before, %d now: %d alarms in %d equal releases, want at most %d", size.was, size.is, alarms, *releases, allowed)
		}
	}
}

// A function of 1% that costs half a point more is found within 20 minutes, with 100 processes that
// have 10 samples a minute.
func TestDearerRelease(t *testing.T) {
	s := Usual(functions)
	for _, tt := range []struct {
		points          float64
		was, is, within int
		atLeast         int // of 20
	}{
		{0.005, 100, 100, 20, 14},
		{0.01, 100, 100, 10, 19},
		{0.05, 20, 20, 10, 19},
		{0.05, 20, 10, 20, 18}, // a rollout that stops half way
		{0.05, 10, 10, 60, 14},
		{0.20, 20, 1, 60, 14}, // a revision with one process
	} {
		var after []int
		for seed := range 20 {
			if at := rollOut(1000+uint64(seed), s, dearer(s, onePer100, tt.points), tt.was, tt.is).found(onePer100, tt.within); at > 0 {
				after = append(after, at)
			}
		}
		slices.Sort(after)
		t.Logf("%.1f points, %d processes before, %d now: found in %d of 20, after %v minutes", 100*tt.points, tt.was, tt.is, len(after), after)
		if len(after) < tt.atLeast {
			t.Errorf("%.1f points: found in %d of 20 within %d minutes, want %d", 100*tt.points, len(after), tt.within, tt.atLeast)
		}
	}
}

// One process less takes a twentieth of what 20 have told, and no alarm ends because one of them starts
// again: the formulas for many and for few processes go over into each other.
func TestOneProcessLess(t *testing.T) {
	s := Usual(functions)
	for seed := range uint64(20) {
		f := rollOut(2000+seed, s, dearer(s, onePer100, 0.03), 20, 20)
		f.look()
		f.look()
		now := snapshot(f.now)
		for n := 20; n > 9; n-- {
			all, less := f.old.Compare(now[:n])[onePer100].Evidence, f.old.Compare(now[:n-1])[onePer100].Evidence
			if less < 0.7*all {
				t.Errorf("seed %d: the evidence is %.1f of %d processes, and %.1f of %d", seed, all, n, less, n-1)
			}
		}
	}
}

// A service takes a twentieth of its CPU, or a fifth, whatever work there is. A build that has less work than
// the one before, as at night or in a canary, or more, is no dearer for it; what costs more is told of.
func TestOtherWork(t *testing.T) {
	for _, always := range []float64{0.5, 2} {
		s := *Usual(functions)
		s.Always = always
		for _, load := range []float64{0.1, 0.5, 0.8, 2} {
			for _, size := range []struct{ was, is int }{{100, 100}, {20, 1}, {12, 12}} {
				is := slices.Repeat([]float64{load}, size.is)
				found := 0
				for seed := range uint64(10) {
					equal := rollOutLoads(3000+seed, &s, &s, loads(size.was, 1), is)
					more := rollOutLoads(3000+seed, &s, dearer(&s, onePer100, 0.2), loads(size.was, 1), is)
					told := false
					for range 12 {
						if list := equal.look(); slices.ContainsFunc(list, isSure) {
							t.Errorf("%v processes, %g of the work, seed %d: %d is told of", size, load, seed, slices.IndexFunc(list, isSure))
						}
						told = told || more.look()[onePer100].Sure
					}
					if told {
						found++
					}
				}
				if size.was == 100 && load >= 0.5 && found < 10 {
					t.Errorf("%v processes, %g of the work: 20 points more are found in %d of 10", size, load, found)
				}
			}
		}
	}
}

// Of 20 processes one has 50 times the work of each other: they tell as much as two, which is nothing. With
// twice the work, they tell.
func TestUnequalWork(t *testing.T) {
	s := Usual(functions)
	for _, first := range []float64{2, 10, 50} {
		found := 0
		for seed := range uint64(20) {
			equal := rollOutLoads(4000+seed, s, s, loads(20, first), loads(20, first))
			more := rollOutLoads(4000+seed, s, dearer(s, onePer100, 0.05), loads(20, first), loads(20, first))
			told := false
			for range 36 {
				if list := equal.look(); slices.ContainsFunc(list, isSure) {
					t.Errorf("one with %g times the work, seed %d: %d is told of", first, seed, slices.IndexFunc(list, isSure))
				}
				told = told || more.look()[onePer100].Sure
			}
			if told {
				found++
			}
		}
		t.Logf("one with %g times the work: 5 points more are found in %d of 20", first, found)
		if first == 2 && found < 19 {
			t.Errorf("one with %g times the work: 5 points more are found in %d of 20", first, found)
		}
	}
}
