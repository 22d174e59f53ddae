package compare

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/compare/repo"
	"github.com/profguard/profguard/internal/compare/report"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/names"
	"github.com/profguard/profguard/internal/unit"
)

// mostRows is how many functions or lines are named. What differs by less than this part of the largest
// difference is not.
const mostRows, littlePart = 8, 50

// A place is a line that allocates.
type place struct {
	function, file string
	line           int
}

// A change is what a line allocates more a call.
type change struct {
	place        // of the head, or of the base if it is gone
	gone         bool
	count, bytes float64 // a call
	largest      float64 // bytes of the line in place, if there are several
	before       float64 // allocations a call at the base
	same         bool    // the line did not change
}

// allocations says which lines allocate more a call. The profiles have each allocation. escaped is what the
// compiler says of a line of the head that did not change, if that is new.
func (m *comparison) allocations(t *trial, sides [2]*profiled, escaped func(file string, line int) string) *report.Why {
	list := m.changes(t, sides)
	mostCount, mostBytes := 0.0, 0.0
	for _, c := range list {
		mostCount, mostBytes = max(mostCount, math.Abs(c.count)), max(mostBytes, math.Abs(c.bytes))
	}
	list = slices.DeleteFunc(list, func(c *change) bool {
		return math.Abs(c.count) < max(leastAllocs, mostCount/littlePart) && math.Abs(c.bytes) < max(leastBytes, mostBytes/littlePart)
	})
	slices.SortFunc(list, func(a, b *change) int {
		if m.isOurs(a.file) != m.isOurs(b.file) { // such as the runtime's, of goroutines
			return map[bool]int{true: -1, false: +1}[m.isOurs(a.file)]
		}
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(b.count, a.count), cmp.Compare(a.function, b.function), cmp.Compare(a.line, b.line))
	})
	why := &report.Why{}
	for _, c := range list[:min(len(list), mostRows)] {
		file, grows, said := m.inRepository(c.file), c.bytes > 0 || c.count > 0, ""
		text := fmt.Sprintf("%+.3g allocations, %s%s a call: %s, %s:%d", c.count, sign(c.bytes), unit.Format(math.Round(math.Abs(c.bytes)), unit.Bytes), c.function, file, c.line)
		unchanged := c.same && c.before < leastAllocs && c.count >= leastAllocs
		if unchanged {
			said = escaped(file, c.line)
		}
		at := place{file: file, line: c.line} // to look at
		switch caller := m.changedCaller(sides[head], c); {
		case said != "":
			text += ", a line that did not change: now the compiler says " + said
		case grows && caller.line > 0:
			at = caller
			text += fmt.Sprintf(", called from %s, %s:%d, which is changed", at.function, at.file, at.line)
		case unchanged:
			text += ", a line that did not change"
		case c.gone:
			text += " of the base"
		}
		if why.File == "" && m.isOurs(c.file) && grows {
			why.File, why.Line = at.file, at.line
		}
		why.Rows = append(why.Rows, report.Row{Function: c.function, Text: text})
	}
	if len(list) == 0 {
		why.Note = "no line stands out; profiles miss some allocations of less than 16 bytes"
	}
	return why
}

// changes are the differences between both sides, line by line, as lines are at the head. Lines that the
// change touches are one where a function of theirs allocated at the base already, in other such lines.
func (m *comparison) changes(t *trial, sides [2]*profiled) (list []*change) {
	type key struct {
		function, file string
		line           int
	}
	gone := map[key]bool{} // functions with allocations in lines of the base that are no more
	by := map[key]*change{}
	for side, s := range sides {
		for at, v := range m.allocated(s.table) {
			k, line, same := key{file: m.inRepository(at.file)}, at.line, true
			ours := m.isOurs(at.file)
			edited := ours && !(t.pkg.new && strings.HasSuffix(at.file, "_test.go")) // the base has the head's
			switch {
			case !ours:
				same, k.function = false, at.function // of other modules there is no difference
			case side == base && edited:
				line, same = repo.Now(m.edits.files[k.file], at.line)
			case edited:
				same = !m.edits.touched(k.file, at.line).Line
			}
			if k.line = line; !same {
				k.function, k.line = names.Fold(at.function), 0
				if side == head && ours && !gone[k] {
					k.line = at.line
				}
				gone[k] = gone[k] || side == base
			}
			c := by[k]
			if c == nil {
				c = &change{place: place{at.function, at.file, line}, gone: side == base && ours && !same, same: same && m.edits.files != nil}
				if !same {
					c.line = at.line
				}
				by[k] = c
				list = append(list, c)
			}
			count, bytes := v[0]/float64(s.calls), v[1]/float64(s.calls)
			if side == base {
				c.count, c.bytes, c.before = c.count-count, c.bytes-bytes, c.before+count
				continue
			}
			c.count, c.bytes = c.count+count, c.bytes+bytes
			if bytes > c.largest || bytes == c.largest && at.line < c.line {
				c.place, c.gone, c.largest = at, false, bytes
			}
		}
	}
	return list
}

// changedCaller is the nearest line on the way to one that did not change which the change touches, if most of what
// the line allocates more comes by it: a helper is called more often.
func (m *comparison) changedCaller(s *profiled, c *change) (caller place) {
	if !c.same {
		return caller
	}
	by := map[place]float64{} // bytes, or allocations if there are no more bytes
	value, grown := 1, c.bytes
	if !(grown > 0) {
		value, grown = 0, c.count
	}
	for sample := range s.table.Each() {
		found := false
		for p := range places(s.table, sample) {
			if !found && m.isOurs(p.file) {
				if found = p.file == c.file && p.line == c.line; !found {
					break
				}
			}
			if p.file = m.inRepository(p.file); found && !strings.HasSuffix(p.file, "_test.go") && m.edits.touched(p.file, p.line).Line {
				by[p] += float64(sample.Values[value])
				break
			}
		}
	}
	most := grown * float64(s.calls) / 2
	for p, v := range by {
		if v > most || v == most && caller.line > 0 && cmp.Or(cmp.Compare(p.file, caller.file), cmp.Compare(p.line, caller.line)) < 0 {
			caller, most = p, v
		}
	}
	return caller
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
		for p := range places(t, s) {
			if at.function == "" || !m.isOurs(at.file) && m.isOurs(p.file) {
				at = p
			}
		}
		if len(s.Values) >= 2 && at.function != "" {
			v := sums[at]
			sums[at] = [2]float64{v[0] + float64(s.Values[0]), v[1] + float64(s.Values[1])}
		}
	}
	return sums
}

// places are the lines of a sample, the innermost first.
func places(t *decode.Table, s decode.Stack) iter.Seq[place] {
	return func(yield func(place) bool) {
		for _, l := range s.Locations {
			for _, line := range t.Lines[t.Locations[l].LineLo:t.Locations[l].LineHi] {
				if !yield(place{t.Symbols.Name(line.Name), t.Symbols.Name(t.Funcs[line.Func].File), int(line.Line)}) {
					return
				}
			}
		}
	}
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
