package reference

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/release"
)

// writePieces writes a line for each fact.
func writePieces(b *strings.Builder, p *release.Pieces) {
	fmt.Fprintf(b, "pieces %v %v %v %v %v\n", p.Count, p.Samples, p.CPU, p.Elapsed, p.Squares)
	for _, unit := range slices.Sorted(maps.Keys(p.Costs)) {
		c := p.Costs[unit]
		fmt.Fprintf(b, "cost %q %v %v %v %v %v %v %v %v %v\n", unit, c.N, c.C, c.W, c.CC, c.CW, c.WW, c.NextCC, c.NextCW, c.NextWW)
	}
	if m := p.Machine; m.Cores > 0 {
		fmt.Fprintf(b, "machine %v %v %v %v %v\n", p.CPUThere, m.Waited, m.Others, m.Stolen, m.Cores)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Hits)) {
		fmt.Fprintf(b, "function %q", name)
		writeHits(b, p.Hits[name])
	}
	for _, label := range slices.Sorted(maps.Keys(p.Values)) {
		v := p.Values[label]
		fmt.Fprintf(b, "label %q %v %v %v %v %v\n", label, v.Count, v.Samples, v.Squares, v.Without, v.Lost)
		for _, name := range slices.Sorted(maps.Keys(v.Hits)) {
			fmt.Fprintf(b, "value %q %q", label, name)
			writeHits(b, v.Hits[name])
		}
	}
}

func writeHits(b *strings.Builder, h *release.HitSum) {
	fmt.Fprintf(b, " %v %v %v", h.H, h.HH, h.HN)
	for _, unit := range slices.Sorted(maps.Keys(h.HW)) {
		fmt.Fprintf(b, " %q %v", unit, h.HW[unit])
	}
	b.WriteByte('\n')
}

func readHits(f *fields) *release.HitSum {
	h := &release.HitSum{H: f.number(), HH: f.number(), HN: f.number(), HW: map[string]float64{}}
	for f.err == nil && f.rest != "" {
		unit := f.text()
		h.HW[unit] = f.number()
	}
	return h
}

// readPieces reads such a line.
func readPieces(p *release.Pieces, key string, f *fields) {
	switch key {
	case "pieces":
		*p = release.Pieces{
			Counts: release.Counts{Count: f.number(), Samples: f.number(), Hits: map[string]*release.HitSum{}},
			CPU:    f.number(), Elapsed: f.number(), Work: map[string]float64{}, Costs: map[string]*release.CostSum{},
		}
		p.Squares = f.number()
	case "machine":
		p.CPUThere = f.number()
		p.Machine = release.Machine{Waited: f.number(), Others: f.number(), Stolen: f.number(), Cores: f.number()}
	case "cost":
		unit := f.text()
		c := &release.CostSum{
			N: f.number(), C: f.number(), W: f.number(), CC: f.number(), CW: f.number(), WW: f.number(),
			NextCC: f.number(), NextCW: f.number(), NextWW: f.number(),
		}
		if p.Costs == nil {
			f.err = errOrder
			return
		}
		if p.Costs[unit] = c; unit != "" {
			p.Work[unit] = c.W
		}
	case "function":
		name := f.text()
		h := readHits(f)
		if p.Hits == nil {
			f.err = errOrder
			return
		}
		p.Hits[name] = h
	case "label":
		if label := f.text(); len(p.Values) < release.MostLabels {
			if p.Values == nil {
				p.Values = map[string]*release.Values{}
			}
			p.Values[label] = &release.Values{
				Counts:  release.Counts{Count: f.number(), Samples: f.number(), Squares: f.number(), Hits: map[string]*release.HitSum{}},
				Without: f.number(), Lost: f.number(),
			}
		}
	case "value":
		label, name := f.text(), clipped(f.text())
		h := readHits(f)
		if v := p.Values[label]; v != nil {
			v.Hits[name] = h
		}
	}
}
