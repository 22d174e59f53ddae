package pattern

import (
	"slices"
	"strings"
)

// An Index answers which of many patterns match a name. A pattern is tried on the names
// that have a word of it; regular expressions, names that are not Go's, and patterns
// without a whole word are tried on all names.
// An Index is not safe for concurrent use.
type Index struct {
	patterns []*Pattern
	byWord   map[string][]int32 // at "" those that are tried on all names
	segments []segment          // of the last name, for the next
	names    int                // that were looked up
	tried    []int              // by pattern, the last of these names that it was tried on

	Tries int // of patterns on names until now
}

// NewIndex makes an index of patterns; their numbers are their positions.
func NewIndex(patterns []*Pattern) *Index {
	ix := &Index{patterns: patterns, byWord: map[string][]int32{}, tried: make([]int, len(patterns))}
	for i, p := range patterns {
		for _, word := range p.words() {
			ix.byWord[word] = append(ix.byWord[word], int32(i))
		}
	}
	return ix
}

// words are such that every matching name has one of them; all names have "".
func (p *Pattern) words() []string {
	if len(p.readings) == 0 {
		return []string{""}
	}
	var words []string
	for _, r := range p.readings {
		words = append(words, r.word())
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// word is a word that every matching name has: the last of the path, which few packages share, or
// else the first of the item.
func (r reading) word() string {
	words := []string{""}
	for _, seg := range slices.Backward(r.item) {
		words = append(words, seg.text)
	}
	words = append(words, r.path...)
	last := len(words) - 1
	for words[last] == everything || strings.Contains(words[last], "*") {
		last--
	}
	return words[last]
}

// Always is the number of patterns that are tried on all names.
func (ix *Index) Always() int { return len(ix.byWord[""]) }

// Match appends the numbers of all patterns that match the function name to dst,
// each once and in order, and returns it. It answers as [Pattern.Match] does.
func (ix *Index) Match(full string, dst []int32) []int32 {
	s := parseName(full, ix.segments[:0])
	ix.segments = s.segments
	start := len(dst)
	ix.names++
	dst = ix.try(ix.byWord[""], &s, dst)
	for element := range strings.SplitSeq(s.path, "/") {
		dst = ix.try(ix.byWord[element], &s, dst)
	}
	_, unversioned := lastNames(s.path)
	dst = ix.try(ix.byWord[unversioned], &s, dst)
	for _, seg := range s.segments {
		dst = ix.try(ix.byWord[seg.text], &s, dst)
	}
	slices.Sort(dst[start:])
	return dst
}

// try appends the numbers of the patterns that match. Each is tried once on a name, however often
// the name has its word.
func (ix *Index) try(numbers []int32, s *symbol, dst []int32) []int32 {
	for _, number := range numbers {
		if ix.tried[number] == ix.names {
			continue
		}
		ix.tried[number] = ix.names
		ix.Tries++
		if ix.patterns[number].match(s) {
			dst = append(dst, number)
		}
	}
	return dst
}
