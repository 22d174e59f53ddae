package pattern

import (
	"slices"
	"strings"
)

// An Index answers which of many patterns match a name. Patterns that state a
// package's path, its last element, the root of a subtree, or the function alone are
// looked up; regular expressions, and names with * or an inner ..., are tried in turn.
//
// An Index does not change and may be used concurrently. The zero Index has no
// patterns.
type Index struct {
	byKey map[key][]entry
	tried []entry
}

// A key is what readings are looked up by.
type key struct {
	kind pathKind // exactPath, lastPath, underPath, or anyPath for a function alone
	text string
}

// An entry is one reading of the pattern with this number; of a regular expression, and
// of a name that is not Go's, it is the pattern.
type entry struct {
	number int32
	reading
	pattern *Pattern
}

// NewIndex makes an index of patterns; their numbers are their positions.
func NewIndex(patterns []*Pattern) *Index {
	ix := &Index{byKey: map[key][]entry{}}
	for i, p := range patterns {
		if p.regexp != nil || p.foreign != "" {
			ix.tried = append(ix.tried, entry{number: int32(i), pattern: p})
		}
		for _, r := range p.readings {
			k := key{r.path.kind, r.path.text}
			switch {
			case k.kind == anyPath && r.item != nil && !strings.Contains(r.item[0].text, "*"):
				k.text = r.item[0].text
			case k.kind != exactPath && k.kind != lastPath && k.kind != underPath:
				ix.tried = append(ix.tried, entry{number: int32(i), reading: r})
				continue
			}
			ix.byKey[k] = append(ix.byKey[k], entry{number: int32(i), reading: r})
		}
	}
	return ix
}

// Effort is how much of a Match cannot be looked up and must be tried, in units of
// some 20 ns: one for each pattern that is tried, and one for each byte that a
// regular expression reads.
type Effort int

// Match appends the numbers of all patterns that match the function name to dst,
// each once and in order, and returns it. It answers as [Pattern.Match] does.
func (ix *Index) Match(full string, dst []int32) []int32 {
	dst, _ = ix.Measure(full, dst)
	return dst
}

// Measure is [Index.Match], and tells what it took.
func (ix *Index) Measure(full string, dst []int32) ([]int32, Effort) {
	var s symbol
	s.parse(full)
	start, effort := len(dst), Effort(len(ix.tried))
	if len(ix.byKey) > 0 {
		if s.path != "" {
			dst = ix.lookUp(key{exactPath, s.path}, &s, dst)
			last, unversioned := lastNames(s.path)
			dst = ix.lookUp(key{lastPath, last}, &s, dst)
			if unversioned != "" {
				dst = ix.lookUp(key{lastPath, unversioned}, &s, dst)
			}
			for end := len(s.path); end > 0; end = strings.LastIndexByte(s.path[:end], '/') {
				dst = ix.lookUp(key{underPath, s.path[:end]}, &s, dst)
			}
		}
		for _, seg := range s.segments() {
			dst = ix.lookUp(key{anyPath, seg.text}, &s, dst)
			if s.lastMark < 0 {
				break // only the first word can be the item's
			}
		}
	}
	for i := range ix.tried {
		e := &ix.tried[i]
		if e.pattern != nil {
			if e.pattern.match(&s) {
				dst = append(dst, e.number)
			}
			if re := e.pattern.regexp; re != nil {
				effort += re.effort(full)
			}
		} else if e.path.match(s.path) && s.has(e.item) {
			dst = append(dst, e.number)
		}
	}
	found := dst[start:]
	slices.Sort(found) // a pattern may have been found by several readings
	return dst[:start+len(slices.Compact(found))], effort
}

func (ix *Index) lookUp(k key, s *symbol, dst []int32) []int32 {
	entries := ix.byKey[k]
	for i := range entries {
		if s.has(entries[i].item) {
			dst = append(dst, entries[i].number)
		}
	}
	return dst
}
