package functions

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/profguard/profguard/internal/fleet"
)

// A pod is a simulated process whose functions are counted by a sketch with two hundred series.
type pod struct {
	*fleet.Pod
	sketch *sketch
}

func podsOf(random *rand.Rand, s *fleet.Service, n int) []*pod {
	var pods []*pod
	for range n {
		pods = append(pods, &pod{s.Start(random), newSketch(200)})
	}
	return pods
}

// minute runs a window of all.
func minute(random *rand.Rand, pods []*pod) {
	for _, p := range pods {
		samples, counts := p.Run(random, 1)
		hits := map[string]int64{}
		for f, n := range counts {
			if n > 0 {
				hits[functionNames[f]] = int64(n)
			}
		}
		p.sketch.add(int64(samples), hits)
	}
}

// exported is what Prometheus sees of them.
func exported(pods []*pod) []fleet.Process {
	list := make([]fleet.Process, len(pods))
	for i, p := range pods {
		list[i] = p.Process
		list[i].Rest, list[i].Hits = p.sketch.rest(), make([]float64, len(functionNames))
		for f, name := range functionNames {
			list[i].Hits[f] = -1
			if t := p.sketch.by[name]; t != nil && t.series {
				list[i].Hits[f] = float64(t.hits)
			}
		}
	}
	return list
}

var functionNames = func() (names []string) {
	for f := range 200 {
		names = append(names, fmt.Sprintf("main.f%03d", f))
	}
	return names
}()

// A release is found by the series that processes export, of which young ones have few: package fleet
// simulates releases with all of them. The old build has run for four hours. A function of 1% that costs
// a point more is found within half an hour, and equal releases raise no alarm.
func TestReleaseByExportedSeries(t *testing.T) {
	const onePer100 = 49
	s := fleet.Usual(len(functionNames))
	random := rand.New(rand.NewPCG(45, 11))
	old, before := fleet.NewOld(len(functionNames)), podsOf(random, s, 100)
	for at := range 240 {
		if minute(random, before); at%10 == 9 {
			old.See(exported(before))
		}
	}
	for _, points := range []float64{0, 0.005, 0.01} {
		var after []int
		for range 5 {
			is := *s
			is.Shares = slices.Clone(s.Shares)
			is.Shares[onePer100] += points
			found := 0
			pods := podsOf(random, &is, 100)
			for at := 1; at <= 60 && found == 0; at++ {
				if minute(random, pods); at%5 > 0 {
					continue
				}
				for f, d := range old.Compare(exported(pods)) {
					switch {
					case d.Sure && f != onePer100:
						t.Errorf("function %d is told of, which costs the same: %+v", f, d)
					case d.Sure:
						found = at
					}
				}
			}
			after = append(after, found)
		}
		slices.Sort(after)
		t.Logf("%.1f points more: found after %v minutes", 100*points, after)
		late := slices.ContainsFunc(after, func(at int) bool { return at == 0 || at > 30 })
		if points == 0 && after[4] > 0 || points == 0.01 && late || points > 0 && after[1] == 0 {
			t.Errorf("%.1f points more: found after %v minutes", 100*points, after)
		}
	}
}
