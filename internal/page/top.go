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

// topSteps bounds the frames that Top looks at, some 10 ns each: several times
// those of sixty-four busy cores over ten seconds.
const topSteps = 8_000_000

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
	names := t.Symbols.Len()
	flat, cum := make([]float64, names), make([]float64, names)
	counted := make([]int, names) // the sample in which a function was counted last
	steps := topSteps
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
		if v > 0 {
			list = append(list, Function{Name: t.Symbols.Name(decode.ID(id)), Flat: v, Cum: cum[id]})
		}
	}
	slices.SortFunc(list, func(a, b Function) int {
		return cmp.Or(cmp.Compare(b.Flat, a.Flat), cmp.Compare(b.Cum, a.Cum), cmp.Compare(a.Name, b.Name))
	})
	return list[:min(len(list), n)]
}
