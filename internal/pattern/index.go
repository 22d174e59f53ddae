package pattern

import (
	"slices"
	"strings"
)

// An Index answers which of many patterns match a name, without trying them one
// by one: patterns are found by the package's path, its last element, or its
// parents, and then by function name. Only regular expressions and patterns with
// * or an inner ... in the package are tried in turn.
//
// For 50,000 names, 1,000 literal patterns take some 50 ms in all, 100 regular
// expressions that need a literal, or 100 patterns with * in the package, 0.4 s,
// and 100 expressions that need none seconds, so remember the answers
// (go test -bench Index ./internal/pattern).
//
// An Index does not change and may be used concurrently. The zero Index has no
// patterns.
type Index struct {
	any     *bucket
	byPath  [pathKinds]map[string]*bucket // by the kinds with a plain text
	globs   []entry                       // by globPath, which no table can hold
	lasts   []entry                       // by lastGlob, likewise
	foreign map[string][]int32
	regexps []entry
	folds   bool // some regexp compares without case
}

// A bucket holds the readings for one package, or one family of packages.
type bucket struct {
	whole  []int32            // the package itself
	byItem map[string][]entry // by the first word of the item
	globs  []entry            // items whose first word has a *
}

// An entry is one reading of the pattern with this number.
type entry struct {
	number int32
	reading
	regexp *matcher
}

// NewIndex makes an index of patterns; their numbers are their positions.
func NewIndex(patterns []*Pattern) *Index {
	ix := &Index{any: &bucket{}, foreign: map[string][]int32{}}
	for i, p := range patterns {
		number := int32(i)
		switch {
		case p.regexp != nil:
			ix.regexps = append(ix.regexps, entry{number: number, regexp: p.regexp})
			ix.folds = ix.folds || p.regexp.fold
		case p.foreign != "":
			ix.foreign[p.foreign] = append(ix.foreign[p.foreign], number)
		}
		for _, r := range p.readings {
			ix.add(entry{number: number, reading: r})
		}
	}
	ix.sortClauses()
	return ix
}

// sortClauses lets each expression look first for what tells it from the others.
func (ix *Index) sortClauses() {
	all := map[string]int{} // how many expressions look for a literal
	for _, e := range ix.regexps {
		for _, clause := range e.regexp.needed {
			for _, literal := range clause {
				all[literal]++
			}
		}
	}
	for i := range ix.regexps {
		ix.regexps[i].regexp = ix.regexps[i].regexp.among(all)
	}
}

func (ix *Index) add(e entry) {
	kind := e.path.kind
	b := ix.any
	switch kind {
	case globPath:
		ix.globs = append(ix.globs, e)
		return
	case lastGlob:
		ix.lasts = append(ix.lasts, e)
		return
	case anyPath:
	default:
		if ix.byPath[kind] == nil {
			ix.byPath[kind] = map[string]*bucket{}
		}
		if b = ix.byPath[kind][e.path.text]; b == nil {
			b = &bucket{}
			ix.byPath[kind][e.path.text] = b
		}
	}
	switch {
	case e.item == nil:
		b.whole = append(b.whole, e.number)
	case strings.Contains(e.item[0].text, "*"):
		b.globs = append(b.globs, e)
	default:
		if b.byItem == nil {
			b.byItem = map[string][]entry{}
		}
		b.byItem[e.item[0].text] = append(b.byItem[e.item[0].text], e)
	}
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
	effort := Effort(len(ix.globs) + len(ix.lasts) + ix.any.tried() + len(ix.regexps))
	var s symbol
	s.parse(full)
	start := len(dst)
	dst = ix.any.match(&s, dst)
	if s.path != "" {
		dst = ix.matchPath(&s, dst)
	}
	if len(ix.regexps) > 0 {
		s.prepare(ix.folds)
	}
	for i := range ix.regexps {
		m := ix.regexps[i].regexp
		if !m.possible(&s) {
			continue
		}
		effort += m.effort(len(full))
		if m.re.MatchString(s.canonical()) {
			dst = append(dst, ix.regexps[i].number)
		}
	}
	if len(ix.foreign) > 0 {
		dst = append(dst, ix.foreign[full]...)
	}
	found := dst[start:]
	slices.Sort(found) // a pattern may have been found by several readings
	return dst[:start+len(slices.Compact(found))], effort
}

// matchPath looks the symbol's package up in every table that has entries, and
// tries what no table can hold.
func (ix *Index) matchPath(s *symbol, dst []int32) []int32 {
	if table := ix.byPath[exactPath]; table != nil {
		dst = table[s.path].match(s, dst)
	}
	last, unversioned := lastNames(s.path)
	if table := ix.byPath[lastPath]; table != nil {
		dst = table[last].match(s, dst)
		if unversioned != "" {
			dst = table[unversioned].match(s, dst)
		}
	}
	if table := ix.byPath[underPath]; table != nil {
		for end := len(s.path); end > 0; end = strings.LastIndexByte(s.path[:end], '/') {
			dst = table[s.path[:end]].match(s, dst)
		}
	}
	if table := ix.byPath[endPath]; table != nil {
		for rest, more := s.path, true; more; _, rest, more = strings.Cut(rest, "/") {
			dst = table[rest].match(s, dst)
		}
	}
	for i := range ix.globs {
		if e := &ix.globs[i]; e.path.match(s.path) && s.has(e.item) {
			dst = append(dst, e.number)
		}
	}
	for i := range ix.lasts {
		if e := &ix.lasts[i]; e.path.matchLast(last, unversioned) && s.has(e.item) {
			dst = append(dst, e.number)
		}
	}
	return dst
}

// tried is how many of a bucket's patterns are tried on every name.
func (b *bucket) tried() int {
	if b == nil {
		return 0
	}
	return len(b.globs)
}

// match appends the numbers of the bucket's patterns that match the symbol. A
// nil bucket has none.
func (b *bucket) match(s *symbol, dst []int32) []int32 {
	if b == nil {
		return dst
	}
	dst = append(dst, b.whole...)
	if b.byItem != nil {
		for _, seg := range s.segments() {
			entries := b.byItem[seg.text]
			for i := range entries {
				if s.has(entries[i].item) {
					dst = append(dst, entries[i].number)
				}
			}
			if s.lastMark < 0 {
				break // only the first word can be the item's
			}
		}
	}
	for i := range b.globs {
		if s.has(b.globs[i].item) {
			dst = append(dst, b.globs[i].number)
		}
	}
	return dst
}
