package pattern

import (
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/names"
)

// An Index answers which of many patterns match a name. A pattern is tried on the names
// that have a word of it; regular expressions, names that are not Go's, and patterns
// without a whole word are tried on all names.
// An Index is not safe for concurrent use.
type Index struct {
	patterns []*Pattern
	byWord   map[string][]int32
	always   []int32
	segments []names.Segment // of the last name, for the next
	names    int             // that were looked up
	tried    []int           // by pattern, the last of these names that it was tried on

	Cost int // of all tries of patterns on names until now, see [Index.try]
}

// NewIndex makes an index of patterns; their numbers are their positions.
func NewIndex(patterns []*Pattern) *Index {
	ix := &Index{patterns: patterns, byWord: map[string][]int32{}, tried: make([]int, len(patterns))}
	common := map[string]int{}
	for _, p := range patterns {
		for _, r := range p.readings {
			for _, word := range r.words() {
				common[word]++
			}
		}
	}
	rarest := func(words []string) string {
		return slices.MinFunc(words, func(a, b string) int { return common[a] - common[b] })
	}
	for i, p := range patterns {
		number := int32(i)
		if len(p.readings) == 0 || slices.ContainsFunc(p.readings, func(r reading) bool { return len(r.words()) == 0 }) {
			ix.always = append(ix.always, number)
			continue
		}
		for _, r := range p.readings {
			word := rarest(r.words())
			if have := ix.byWord[word]; len(have) == 0 || have[len(have)-1] != number {
				ix.byWord[word] = append(have, number)
			}
		}
	}
	return ix
}

// words are elements of the path and words of the item that every matching name has.
func (r reading) words() []string {
	words := slices.Clone([]string(r.path))
	for _, seg := range r.item {
		words = append(words, seg.Text)
	}
	return slices.DeleteFunc(words, func(word string) bool { return strings.Contains(word, "*") || word == everything })
}

// Match appends the numbers of all patterns that match the function name to dst,
// each once and in order, and returns it. It answers as [Pattern.Match] does.
func (ix *Index) Match(full string, dst []int32) []int32 {
	s := names.Parse(full, ix.segments[:0])
	ix.segments = s.Segments
	start := len(dst)
	ix.names++
	dst = ix.try(ix.always, &s, dst)
	if len(ix.byWord) > 0 {
		for rest, more := s.Path, s.Path != ""; more; {
			var element string
			element, rest, more = strings.Cut(rest, "/")
			dst = ix.try(ix.byWord[element], &s, dst)
		}
		if last := names.LastNames(s.Path); last[0] != last[2] {
			dst = ix.try(ix.byWord[last[1]], &s, dst)
			dst = ix.try(ix.byWord[last[2]], &s, dst)
		}
		for _, seg := range s.Segments {
			dst = ix.try(ix.byWord[seg.Text], &s, dst)
		}
	}
	slices.Sort(dst[start:])
	return dst
}

// A try costs 1, and more for long names: 1 for each nameBytes of them, or for each runBytes if a
// regular expression reads the name. 1 is about 0.25 us: expressions take 30 to 100 ns for each byte,
// and the look for the text that they need takes less than a try.
const (
	nameBytes = 256
	runBytes  = 4
)

// try appends the numbers of the patterns that match. Each is tried once on a name, however often
// the name has its word.
func (ix *Index) try(numbers []int32, s *names.Name, dst []int32) []int32 {
	for _, number := range numbers {
		if ix.tried[number] == ix.names {
			continue
		}
		ix.tried[number] = ix.names
		ix.Cost += 1 + len(s.Full)/nameBytes
		if ix.patterns[number].reads(s) {
			ix.Cost += len(s.Full) / runBytes
		}
		if ix.patterns[number].match(s) {
			dst = append(dst, number)
		}
	}
	return dst
}
