package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/compare/report"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/unit"
)

// mostRows is how many functions or lines are named.
const mostRows = 8

// A place is a line that allocates.
type place struct {
	function, file string
	line           int
}

// allocations says which functions of the module allocate more a call, and at which lines. The
// profiles have each allocation.
func (m *comparison) allocations(t *trial, sides [2]*profiled) *report.Why {
	type change struct {
		place
		count, bytes float64
	}
	changes := map[string]*change{} // by function, as lines move
	for i, s := range sides {
		sign := [...]float64{-1, +1}[i]
		for at, v := range m.allocated(s.table) {
			c := changes[at.function]
			if c == nil {
				c = &change{place: at}
				changes[at.function] = c
			}
			if i == head {
				c.place = at
			}
			c.count += sign * v[0] / float64(s.parts[0].calls)
			c.bytes += sign * v[1] / float64(s.parts[0].calls)
		}
	}
	var list []*change
	for _, c := range changes {
		if math.Abs(c.count) >= leastAllocs || math.Abs(c.bytes) >= leastBytes {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *change) int {
		if m.isOurs(a.file) != m.isOurs(b.file) { // such as the runtime's, of goroutines
			return map[bool]int{true: -1, false: +1}[m.isOurs(a.file)]
		}
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.function, b.function))
	})
	why := &report.Why{}
	for _, c := range list[:min(len(list), mostRows)] {
		file := m.inRepository(c.file)
		if why.File == "" && m.isOurs(c.file) && (c.bytes > 0 || c.count > 0) {
			why.File, why.Line = file, c.line
		}
		why.Rows = append(why.Rows, report.Row{Function: c.function, Text: fmt.Sprintf("%+.3g allocations, %s%s a call: %s, %s:%d",
			c.count, sign(c.bytes), unit.Format(math.Abs(c.bytes), unit.Bytes), c.function, file, c.line)})
	}
	if len(list) == 0 {
		why.Note = "no function stands out; profiles do not have each allocation of less than 16 bytes"
	}
	return why
}

func sign(v float64) string {
	if v < 0 {
		return "-"
	}
	return "+"
}

// allocated adds up allocations, as their number and bytes, by the nearest line of the module.
func (m *comparison) allocated(t *decode.Table) map[place][2]float64 {
	sums := map[place][2]float64{}
	for s := range t.Each() {
		var at place
		for _, l := range s.Locations {
			for _, line := range t.Lines[t.Locations[l].LineLo:t.Locations[l].LineHi] {
				p := place{t.Symbols.Name(line.Name), t.Symbols.Name(t.Funcs[line.Func].File), int(line.Line)}
				if at.function == "" || !m.isOurs(at.file) && m.isOurs(p.file) {
					at = p
				}
			}
		}
		if len(s.Values) >= 2 && at.function != "" {
			v := sums[at]
			sums[at] = [2]float64{v[0] + float64(s.Values[0]), v[1] + float64(s.Values[1])}
		}
	}
	return sums
}

// isOurs reports whether a file is one of the module's. Paths are trimmed to begin with the path of
// the module, or are those of a side.
func (m *comparison) isOurs(file string) bool { return m.inRepository(file) != file }

// inRepository is a file below the root of the repository, and other files as they are.
func (m *comparison) inRepository(file string) string {
	for _, cut := range m.roots {
		if rest, ok := strings.CutPrefix(file, cut.from); ok {
			return cut.to + rest
		}
	}
	return file
}
