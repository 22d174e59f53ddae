package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"golang.org/x/perf/benchmath"

	"github.com/profguard/profguard/internal/compare/report"
	"github.com/profguard/profguard/internal/compare/slice"
	"github.com/profguard/profguard/internal/evidence"
)

// A row is what was planted, and for which budget.
type row struct{ growth, limit float64 }

// tables prints what was found of what was planted.
func tables(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	by := map[row][]result{}
	for d := json.NewDecoder(file); ; {
		var r result
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if r.Pairs > 0 {
			by[row{r.Growth, r.Limit}] = append(by[row{r.Growth, r.Limit}], r)
		}
	}
	rows := slices.SortedFunc(maps.Keys(by), func(a, b row) int {
		return cmp.Or(cmp.Compare(a.limit, b.limit), cmp.Compare(a.growth, b.growth))
	})
	fmt.Println("| planted | limit | comparisons | broken | kept | cheaper | undecided | stopped early | time in the median | in 9 of 10 | benchstat says more | less |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, w := range rows {
		count, more, less, tested := map[string]int{}, 0, 0, 0
		var took []time.Duration
		for _, r := range by[w] {
			name := string(r.Verdict)
			switch {
			case r.Short:
				name = "short"
			case r.Improved:
				name = "cheaper"
			}
			count[name]++
			took = append(took, r.Took)
			if p, up, ok := benchstat(r.Slices); ok {
				if tested++; p < 0.05 && up {
					more++
				} else if p < 0.05 {
					less++
				}
			}
		}
		slices.Sort(took)
		fmt.Printf("| %+g%% | %g%% | %d | %d | %d | %d | %d | %d | %v | %v | %d of %d | %d |\n", w.growth, w.limit, len(by[w]),
			count[string(report.Broken)], count[string(report.Kept)], count["cheaper"], count[string(report.Undecided)], count["short"],
			took[len(took)/2].Round(time.Second), took[len(took)*9/10].Round(time.Second), more, tested, less)
	}
	redraw(by)
	return nil
}

// benchstat is the p-value of benchstat for the first ten slices of each side, by wall time, and
// whether the head's median is larger.
func benchstat(records [2][]slice.Record) (p float64, up, ok bool) {
	var sides [2][]float64
	for side, list := range records {
		if len(list) < 10 {
			return 0, false, false
		}
		for _, r := range list[:10] {
			sides[side] = append(sides[side], float64(r.Wall)/float64(r.N))
		}
	}
	t := benchmath.DefaultThresholds
	base, head := benchmath.NewSample(sides[0], &t), benchmath.NewSample(sides[1], &t)
	c := benchmath.AssumeNothing.Compare(base, head)
	return c.P, benchmath.AssumeNothing.Summary(head, 0.95).Center > benchmath.AssumeNothing.Summary(base, 0.95).Center, true
}

// redraw draws comparisons from the pairs that were measured, with a growth that is put on top.
func redraw(by map[row][]result) {
	type pair struct{ base, head float64 }
	pairs := map[string][]pair{} // by kind of work, of all comparisons; what was planted is taken out
	each := map[string]time.Duration{}
	n := 0
	for w, list := range by {
		for _, r := range list {
			for i := range min(len(r.Slices[0]), len(r.Slices[1])) {
				base, head := r.Slices[0][i], r.Slices[1][i]
				if base.CPU <= 0 || head.CPU <= 0 {
					continue
				}
				pairs[r.Kind] = append(pairs[r.Kind], pair{float64(base.CPU) / float64(base.N), float64(head.CPU) / float64(head.N) / (1 + w.growth/100)})
				n++
			}
			each[r.Kind] += r.Took
		}
	}
	if n == 0 {
		return
	}
	var pairTime time.Duration
	for kind := range pairs {
		pairTime += each[kind]
	}
	pairTime /= time.Duration(n)
	fmt.Printf("\nDrawn from the %d measured pairs, of %v each in the mean, 1,000 comparisons a row and kind of work, of at most %d pairs:\n\n", n, pairTime.Round(time.Millisecond), mostPairs)
	fmt.Println("| growth | limit | broken | kept | undecided | pairs in the median | in 8 of 10 |")
	fmt.Println("|---|---|---|---|---|---|---|")
	r := rand.New(rand.NewPCG(1, 2))
	for _, w := range []row{{0, 5}, {10, 5}, {8, 5}, {5, 2}, {-10, 5}} {
		var count [3]int
		var took []int
		for _, list := range pairs {
			for range 1000 {
				p := evidence.NewPaired(w.limit/100, 1e-3)
				for p.Pairs() < mostPairs && p.Verdict() == evidence.Inconclusive {
					// Three in a row, so that what lasts for longer than a pair is kept.
					at := r.IntN(len(list))
					for k := range 3 {
						x := list[(at+k)%len(list)]
						if r.IntN(2) == 1 {
							x.base, x.head = x.head, x.base
						}
						p.Add(x.base, x.head*(1+w.growth/100))
					}
				}
				count[p.Close()]++
				took = append(took, p.Pairs())
			}
		}
		slices.Sort(took)
		all := len(took)
		percent := func(v evidence.Verdict) float64 { return 100 * float64(count[v]) / float64(all) }
		fmt.Printf("| %+g%% | %g%% | %.1f%% | %.1f%% | %.1f%% | %d | %d |\n", w.growth, w.limit,
			percent(evidence.Fail), percent(evidence.Pass), percent(evidence.Inconclusive), took[all/2], took[all*8/10])
	}
}

// mostPairs are those of two minutes at 0.38 s each, as at a load of 9 on two processors.
const mostPairs = 316
