package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

const (
	deployed = 60 // the minute in which the new build is there
	until    = 90
)

// Fleets of which something goes wrong raise no alarm about an equal release, and the alarm about
// one that costs more is not lost.
func fleetFault(t *testing.T, broken func(random *rand.Rand, old, now []life), want func(s *scenario, more bool)) {
	t.Helper()
	for _, more := range []float64{0, 0.1} {
		t.Run(fmt.Sprintf("%g more", more), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(45, 8))
			old := simulated(random, service(0), 30, 0, until, nil)
			now := simulated(random, service(more), 30, deployed, until, nil)
			broken(random, old, now)
			s := &scenario{minutes: until}
			for i := range old {
				s.instance(fmt.Sprint("old-", i), "v1", "request", old[i])
				s.instance(fmt.Sprint("new-", i), "v2", "request", now[i])
			}
			want(s, more > 0)
			s.run(t)
		})
	}
}

// alarmed expects the alarm if the release costs more.
func alarmed(s *scenario, more bool) {
	build := ""
	if more {
		build = "v2"
	}
	s.costsMore(until-1, build)
}

// Processes start again: their counters, too.
func TestFault_110_CountersReset(t *testing.T) {
	fleetFault(t, func(random *rand.Rand, old, now []life) {
		for i := range 10 {
			copy(old[i][deployed-10:], simulated(random, service(0), 1, 0, until, nil)[0])
			again := now[i+1][deployed:]
			copy(now[i][deployed+10:], again) // as another one was after its start
		}
	}, alarmed)
}

// A process hangs, and is scraped or not: its counters stay, or are gone for a while.
func TestFault_111_ProcessHangs(t *testing.T) {
	fleetFault(t, func(_ *rand.Rand, old, now []life) {
		for minute := deployed + 5; minute < until; minute++ {
			old[0][minute], now[0][minute] = old[0][deployed+5], now[0][deployed+5]
			old[1][minute], now[1][minute] = nil, nil
			if minute < deployed+12 {
				old[2][minute], now[2][minute] = nil, nil
			}
		}
	}, alarmed)
}

// A rollout stops half way: both builds go on. And it ends: the old one is gone.
func TestRolloutStopsAndEnds(t *testing.T) {
	fleetFault(t, func(_ *rand.Rand, old, now []life) {
		for i := range 15 {
			now[i] = nil
			old[29-i] = old[29-i][:deployed]
		}
	}, alarmed)
	fleetFault(t, func(_ *rand.Rand, old, _ []life) {
		for i := range old {
			old[i] = old[i][:deployed+5]
		}
	}, alarmed)
}

// The names of all functions differ in the new build: that is no cost.
func TestFault_112_AllNamesDiffer(t *testing.T) {
	fleetFault(t, func(_ *rand.Rand, old, now []life) {
		renamed := func(lives []life, from int) {
			for _, l := range lives {
				for _, p := range l {
					if p != nil {
						hits := []float64{-1, -1, -1, -1, -1, -1, -1, -1}
						copy(hits[from:], p.Hits)
						p.Hits = hits
					}
				}
			}
		}
		renamed(old, 0)
		renamed(now, 4)
	}, func(s *scenario, _ bool) { s.costsMore(until-1, "") })
}

// The new build counts its work in another unit: there is nothing to compare, and no alarm.
func TestFault_114_UnitOfOneBuild(t *testing.T) {
	random := rand.New(rand.NewPCG(45, 9))
	s := &scenario{minutes: until}
	for i, l := range simulated(random, service(0), 30, 0, until, nil) {
		s.instance(fmt.Sprint("old-", i), "v1", "request", l)
	}
	for i, l := range simulated(random, service(0.3), 30, deployed, until, nil) {
		s.instance(fmt.Sprint("new-", i), "v2", "job", l)
	}
	s.costsMore(until-1, "")
	s.want(until-1, `sum by (unit) (job_unit:profguard_unit:sum > bool 0)`, map[string]float64{`{unit="request"}`: 1})
	s.want(until-1, `count(job_build:profguard_new:count)`, map[string]float64{`{}`: 1})
	s.run(t)
}

// Clocks of processes differ: the rules on fleets and releases read none. Samples have the time at
// which Prometheus has scraped them.
func TestFault_115_Clocks(t *testing.T) {
	data, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	_, groups, _ := strings.Cut(string(data), "- name: profguard-fleet")
	groups, rest, found := strings.Cut(groups, "- name: profguard-alerts")
	for _, clock := range []string{"time()", "timestamp"} {
		if !found || strings.Contains(groups, clock) {
			t.Errorf("the rules of fleets use %s", clock)
		}
		if !strings.Contains(rest, clock) { // ProfguardNoGoodWindow
			t.Errorf("no rule uses %s", clock)
		}
	}
}

// With one process on each side nobody can tell, however large the difference: processes differ.
// One new process beside many is judged by how those differ, see TestRulesAreTheFormula.
func TestFault_116_OneProcess(t *testing.T) {
	random := rand.New(rand.NewPCG(45, 10))
	s := &scenario{minutes: until}
	s.instance("old", "v1", "request", simulated(random, service(0), 1, 0, until, nil)[0])
	s.instance("new", "v2", "request", simulated(random, service(0.5), 1, deployed, until, nil)[0])
	s.costsMore(until-1, "")
	s.want(until-1, `count(job_build_function:profguard_points:ratio)`, map[string]float64{`{}`: float64(len(service(0).Shares))})
	s.run(t)
}
