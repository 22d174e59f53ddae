package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
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

// An instance is of another build after some minutes without a scrape, so that the series of both builds
// are there for five minutes. It is left out as long; the others are judged, and so is another job.
func TestTwoBuildsOfAnInstance(t *testing.T) {
	const down, up = 70, 72
	s := &scenario{minutes: until, rules: 2}
	for job, more := range map[string]float64{"shop": 0, "cart": 0.1} {
		s.job = job
		random := rand.New(rand.NewPCG(45, 12))
		old := simulated(random, service(0), 20, 0, deployed, nil)
		now := simulated(random, service(more), 20, deployed, until, nil)
		for i := range old {
			s.instance(fmt.Sprint("old-", i), "v1", "request", old[i])
			if name := fmt.Sprint("new-", i); job == "shop" && i == 0 {
				next := simulated(random, service(0), 1, up, until, nil)[0]
				s.runs(name, "v2", now[i][:down])
				s.runs(name, "v3", next)
				s.exports(name, "request", append(now[i][:down:down], next[down:]...))
			} else {
				s.instance(name, "v2", "request", now[i])
			}
		}
	}
	// A series of a rule, of the time before Prometheus started anew: for five minutes it does not end.
	s.series.WriteString(`      - {series: 'instance_build_unit:profguard_work:total{job="shop", instance="new-1", version="v0", revision="r-v0", unit="request"}', values: "_x81 7 _x5"}` + "\n")
	for minute := deployed + 8; minute < until; minute += 2 {
		n := 20.0
		if minute >= up {
			n = 19
		}
		s.want(minute, `sum by (version) (job_build:profguard_instances:count{job="shop",version="v2"})`, map[string]float64{`{version="v2"}`: n})
		s.want(minute, `count by (job) (ALERTS{alertname="ProfguardReleaseCostsMore"})`, map[string]float64{`{job="cart"}`: 1})
		s.want(minute, `count(job_build_unit:profguard_samples:sum{version="v2"} / job_build_unit:profguard_work:sum < 0.13)`, map[string]float64{`{}`: 2})
		s.want(minute, `timestamp(job_build_function:profguard_sure:ratio{job="cart",function="main.f2"})`, map[string]float64{`{job="cart",version="v2",revision="r-v2",unit="request",function="main.f2"}`: float64(60 * minute)})
	}
	s.run(t)
}

// All processes start again while Prometheus does not scrape: their functions without a series as yet have
// that of the process before for five minutes.
func TestRestartsWithoutScrapes(t *testing.T) {
	random := rand.New(rand.NewPCG(45, 14))
	const down, up = 80, 81
	s := &scenario{minutes: until}
	again := simulated(random, service(0), 20, up, until, nil)
	for i, l := range simulated(random, service(0), 20, deployed, down, nil) {
		for _, p := range again[i][up:] {
			p.Hits[2], p.Hits[3] = -1, -1
		}
		s.instance(fmt.Sprint("new-", i), "v2", "request", append(l, again[i][down:]...))
	}
	for i, l := range simulated(random, service(0), 20, 0, deployed, nil) {
		s.instance(fmt.Sprint("old-", i), "v1", "request", l)
	}
	for minute := deployed + 5; minute < until; minute++ {
		s.costsMore(minute, "")
	}
	s.want(down-2, `count(job_build_function:profguard_cost:mean{version="v2"})`, map[string]float64{`{}`: 4})
	s.want(until-1, `count(job_build_function:profguard_cost:mean{version="v2"})`, map[string]float64{`{}`: 2})
	s.run(t)
}

// A build that costs more is told of until a day after it was first seen, also if it has run for longer
// than the one before by then. If another build comes in the meantime, it is the one before.
func TestBuildOutlivesTheOneBefore(t *testing.T) {
	const day, was, third, end = 144, 6, 100, 156 // of ten minutes
	for _, next := range []bool{false, true} {
		t.Run(fmt.Sprint("another build: ", next), func(t *testing.T) {
			t.Parallel()
			s := &scenario{minutes: end, step: 10}
			gone := end
			if next {
				gone = third
			}
			for job, more := range map[string]float64{"shop": 0.1, "calm": 0} {
				s.job = job
				random := rand.New(rand.NewPCG(45, 13))
				for i, l := range simulated(random, service(0), 20, 0, was, nil) {
					s.instance(fmt.Sprint("a", i), "v1", "request", l)
				}
				for i, l := range simulated(random, service(more), 20, was, gone, nil) {
					s.instance(fmt.Sprint("b", i), "v2", "request", l)
				}
				if next {
					for i, l := range simulated(random, service(more), 20, third, end, nil) {
						s.instance(fmt.Sprint("c", i), "v3", "request", l)
					}
				}
			}
			for _, at := range []int{was + 3, 2*was + 3, 90, third + 5, was + day - 3, was + day + 1} {
				samples := map[string]float64{}
				if at < was+day && !(next && at > third) {
					samples[`{job="shop",version="v2"}`] = 1
				}
				s.want(at, `count by (job, version) (ALERTS{alertname="ProfguardReleaseCostsMore",alertstate="firing"})`, samples)
			}
			s.run(t)
		})
	}
}

// Clocks of processes differ: the rules on fleets and releases read none. Samples have the time at
// which Prometheus has scraped them, and time() is its own.
func TestFault_115_Clocks(t *testing.T) {
	data, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	_, groups, _ := strings.Cut(string(data), "- name: profguard-fleet")
	groups, rest, found := strings.Cut(groups, "- name: profguard-alerts")
	for _, clock := range []string{"_time_seconds", "_timestamp_seconds"} {
		if !found || strings.Contains(groups, clock) {
			t.Errorf("the rules of fleets use metrics with %s", clock)
		}
		if !strings.Contains(rest, clock) { // ProfguardNoGoodWindow
			t.Errorf("no rule uses a metric with %s", clock)
		}
	}
}

// Prometheus looks back five minutes. What a group records has to be there until it records the next, and
// until that is computed: otherwise alerts that read it begin anew each time.
func TestRecordsLast(t *testing.T) {
	data, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	intervals := regexp.MustCompile(`(?m)^    interval: (.*)$`).FindAllSubmatch(data, -1)
	for _, found := range intervals {
		if d, err := time.ParseDuration(string(found[1])); err != nil || d > 4*time.Minute {
			t.Errorf("a group has an interval of %s", found[1])
		}
	}
	if len(intervals) == 0 {
		t.Error("no group has an interval")
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
