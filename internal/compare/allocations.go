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
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/unit"
)

// mostRows is how many functions or lines are named. What differs by less than this part of the largest
// difference is not.
const mostRows, littlePart = 8, 50

// A change is what a line allocates more a call.
type change struct {
	release.Frame // of the head, or of the base if it is gone
	gone          bool
	count, bytes  float64 // a call
	largest       float64 // bytes of the line in place, if there are several
	before        float64 // allocations a call at the base
	same          bool    // the line did not change
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
		if m.isOurs(a.File) != m.isOurs(b.File) { // such as the runtime's, of goroutines
			return map[bool]int{true: -1, false: +1}[m.isOurs(a.File)]
		}
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(b.count, a.count), cmp.Compare(a.Function, b.Function), cmp.Compare(a.Line, b.Line))
	})
	why := &report.Why{}
	for _, c := range list[:min(len(list), mostRows)] {
		file, grows, said := m.inRepository(c.File), c.bytes > 0 || c.count > 0, ""
		text := fmt.Sprintf("%s%s a call: %s, %s:%d", sign(c.bytes), unit.Format(math.Round(math.Abs(c.bytes)), unit.Bytes), c.Function, file, c.Line)
		if math.Abs(c.count) >= leastAllocs {
			text = fmt.Sprintf("%+.3g allocations, ", c.count) + text
		}
		unchanged := c.same && c.before < leastAllocs && c.count >= leastAllocs
		if unchanged {
			said = escaped(file, c.Line)
		}
		at := release.Frame{File: file, Line: c.Line} // to look at
		switch caller := m.changedCaller(sides[head], c); {
		case said != "":
			text += ", a line that did not change: now the compiler says " + said
		case grows && caller.Line > 0:
			at = caller
			text += fmt.Sprintf(", called from %s, %s:%d, which is changed", at.Function, at.File, at.Line)
		case unchanged:
			text += ", a line that did not change"
		case c.gone:
			text += " of the base"
		}
		if why.File == "" && m.isOurs(c.File) && grows {
			why.File, why.Line = at.File, at.Line
		}
		why.Rows = append(why.Rows, report.Row{Function: c.Function, Text: text})
	}
	if len(list) == 0 {
		why.Note = "no line stands out; profiles miss some allocations of less than 16 bytes"
	}
	return why
}

// changes are the differences between both sides, line by line, as lines are at the head. Lines that the
// change touches are one where a function of theirs allocated at the base already, in other such lines.
func (m *comparison) changes(t *trial, sides [2]*profiled) (list []*change) {
	gone := map[release.Frame]bool{} // functions with allocations in lines of the base that are no more
	by := map[release.Frame]*change{}
	for side, s := range sides {
		for at, v := range m.allocated(s.table) {
			k, line, same := release.Frame{File: m.inRepository(at.File)}, at.Line, true
			ours := m.isOurs(at.File)
			edited := ours && !(t.pkg.new && strings.HasSuffix(at.File, "_test.go")) // the base has the head's
			switch {
			case !ours:
				same, k.Function = false, at.Function // of other modules there is no difference
			case side == base && edited:
				line, same = repo.Now(m.edits.files[k.File], at.Line)
			case edited:
				same = !m.edits.touched(k.File, at.Line).Line
			}
			if k.Line = line; !same {
				k.Function, k.Line = names.Fold(at.Function), 0
				if side == head && ours && !gone[k] {
					k.Line = at.Line
				}
				gone[k] = gone[k] || side == base
			}
			c := by[k]
			if c == nil {
				c = &change{Frame: release.Frame{Function: at.Function, File: at.File, Line: line}, gone: side == base && ours && !same, same: same && m.edits.files != nil}
				if !same {
					c.Line = at.Line
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
			if bytes > c.largest || bytes == c.largest && at.Line < c.Line {
				c.Frame, c.gone, c.largest = at, false, bytes
			}
		}
	}
	return list
}

// changedCaller is the nearest line on the way to one that did not change which the change touches, if most of what
// the line allocates more comes by it: a helper is called more often.
func (m *comparison) changedCaller(s *profiled, c *change) (caller release.Frame) {
	if !c.same {
		return caller
	}
	by := map[release.Frame]float64{} // bytes, or allocations if there are no more bytes
	value, grown := 1, c.bytes
	if !(grown > 0) {
		value, grown = 0, c.count
	}
	for sample := range s.table.Each() {
		found := false
		for p := range places(s.table, sample) {
			if !found && m.isOurs(p.File) {
				if found = p.File == c.File && p.Line == c.Line; !found {
					break
				}
			}
			if p.File = m.inRepository(p.File); found && !strings.HasSuffix(p.File, "_test.go") && m.edits.touched(p.File, p.Line).Line {
				by[p] += float64(sample.Values[value])
				break
			}
		}
	}
	most := grown * float64(s.calls) / 2
	for p, v := range by {
		if v > most || v == most && caller.Line > 0 && cmp.Or(cmp.Compare(p.File, caller.File), cmp.Compare(p.Line, caller.Line)) < 0 {
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
func (m *comparison) allocated(t *decode.Table) map[release.Frame][2]float64 {
	sums := map[release.Frame][2]float64{}
	for s := range t.Each() {
		var at release.Frame
		for p := range places(t, s) {
			if at.Function == "" || !m.isOurs(at.File) && m.isOurs(p.File) {
				at = p
			}
		}
		if len(s.Values) >= 2 && at.Function != "" {
			v := sums[at]
			sums[at] = [2]float64{v[0] + float64(s.Values[0]), v[1] + float64(s.Values[1])}
		}
	}
	return sums
}

// places are the lines of a sample, the innermost first.
func places(t *decode.Table, s decode.Stack) iter.Seq[release.Frame] {
	return func(yield func(release.Frame) bool) {
		for _, l := range s.Locations {
			for _, line := range t.Lines[t.Locations[l].LineLo:t.Locations[l].LineHi] {
				if !yield(release.Frame{Function: t.Symbols.Name(line.Name), File: t.Symbols.Name(t.Funcs[line.Func].File), Line: int(line.Line)}) {
					return
				}
			}
		}
	}
}

// isOurs reports whether a file is one of the repository's. Paths are trimmed to begin with the path of
// a module, or are those of a side.
func (m *comparison) isOurs(file string) bool { return m.inRepository(file) != file }

// inRepository is a file below the root of the repository, and other files as they are. The path of a module that is
// not the main one has a version, also if a folder is in its place.
func (m *comparison) inRepository(file string) string {
	for _, cut := range m.roots {
		rest, ok := strings.CutPrefix(file, cut.from)
		if ok && strings.HasSuffix(cut.from, "@") {
			_, rest, ok = strings.Cut(rest, "/")
		}
		if ok && !strings.Contains(rest, "@") {
			return cut.to + rest
		}
	}
	return file
}
