package page

import (
	"cmp"
	"slices"

	"github.com/profguard/profguard/internal/decode"
)

// A Function is a row of the table beneath a flame graph.
type Function struct {
	Name      string
	Flat, Cum float64 // in the unit of the Flame
}

// Top lists the functions of a profile that spend most in their own bodies, at
// most n.
func Top(t *decode.Table, n int) []Function {
	if len(t.Types) == 0 {
		return nil
	}
	column := t.DefaultType
	if column < 0 {
		column = len(t.Types) - 1
	}
	_, factor := UnitOf(t.Types[column].Unit)
	flat, cum := map[decode.ID]float64{}, map[decode.ID]float64{}
	counted := map[decode.ID]int{} // the sample in which a function was counted last
	steps := maxSteps
	for i, s := range t.Samples {
		v := float64(t.Values[i*len(t.Types)+column]) * factor
		if v <= 0 {
			continue
		}
		leaf := true
		for _, at := range t.Stacks[s.StackLo:s.StackHi] {
			loc := t.Locations[at]
			for _, line := range t.Lines[loc.LineLo:loc.LineHi] {
				if steps--; steps < 0 {
					return nil // a part would be wrong, and such a profile is nobody's
				}
				if leaf {
					flat[line.Name] += v
					leaf = false
				}
				if counted[line.Name] != i+1 {
					counted[line.Name] = i + 1
					cum[line.Name] += v
				}
			}
		}
	}
	var list []Function
	for id, v := range flat {
		list = append(list, Function{Name: t.Symbols.Name(id), Flat: v, Cum: cum[id]})
	}
	slices.SortFunc(list, func(a, b Function) int {
		return cmp.Or(cmp.Compare(b.Flat, a.Flat), cmp.Compare(b.Cum, a.Cum), cmp.Compare(a.Name, b.Name))
	})
	return list[:min(len(list), n)]
}
