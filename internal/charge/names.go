package charge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/pattern"
)

// maxMatches bounds Names, in numbers of patterns that match a name, added up over the
// sets that differ (64 MiB): functions of one package mostly match the same patterns.
// Where there are more, all is forgotten, and worked out anew for the profile at hand;
// one that needs more by itself is refused.
const maxMatches = 1 << 24

// maxEffort is what one profile may cost in matching names with patterns, half a
// second (a second and a half on a machine with ten times the work that it can
// do): 300,000 names times expressions that must be tried, or millions that a
// literal rules out. What is left over is for the next profile.
const maxEffort pattern.Effort = 1 << 24

// lookEvery is how many names are learnt between two looks at the context. A
// name takes a microsecond for each regular expression at the worst.
const lookEvery = 64

// Names remembers per function name what matching found out about it: which
// patterns match, which package it is in, and what else is known of it. A
// program has so many names and no more, so after its first window nothing is
// matched any more, and nothing is allocated. A program whose names change all
// the time makes it forget.
type Names struct {
	index *pattern.Index

	symbols    *decode.Symbols
	generation int

	// By id.
	set    []int32 // place in sets
	parts  []part
	hashes []uint64 // of the names
	pkg    []int32

	sets       [][]int32              // those of unlearnt and unmatched are empty
	places     map[uint64]int32       // of the sets, by hash
	matches    int                    // in all sets
	most       int                    // maxMatches
	effort     pattern.Effort         // maxEffort
	waiting    int                    // functions of the last table that have not been matched
	around     map[decode.ID][]uint64 // of function literals: hashes of what may be the functions around them
	packages   []string
	packageIDs map[string]int32
	buf        []int32
}

const (
	unlearnt  = iota // is the set of names that have not been learnt,
	unmatched        // and of those that have been, but not matched
)

// NewNames returns an empty memory for an index of patterns.
func NewNames(index *pattern.Index) *Names {
	return &Names{index: index, most: maxMatches, effort: maxEffort}
}

// Learn looks up every function name of the table that is not known yet. If that
// takes too long, [Names.Waiting] names are left for the next call. Its error is
// that of a context that has ended, or says that the patterns match too much.
func (n *Names) Learn(ctx context.Context, t *decode.Table) error {
	n.waiting = 0
	if len(t.Funcs) == 0 {
		return nil // nothing that could be asked about: no need for a matcher
	}
	if n.symbols == t.Symbols && n.generation == t.Symbols.Generation() {
		if err := n.learn(ctx, t); !errors.Is(err, errMatches) {
			return err
		}
	}
	n.symbols, n.generation = t.Symbols, t.Symbols.Generation()
	if err := n.relearn(ctx, t); err != nil {
		n.symbols = nil // what is there is not all
		return err
	}
	return nil
}

var errMatches = errors.New("the patterns of the budgets match too much: budget packages instead of so many expressions")

func (n *Names) relearn(ctx context.Context, t *decode.Table) error {
	n.set, n.parts, n.hashes, n.pkg = n.set[:0], n.parts[:0], n.hashes[:0], n.pkg[:0]
	n.sets, n.places, n.matches = [][]int32{unlearnt: nil, unmatched: nil}, map[uint64]int32{}, 0
	n.packages, n.packageIDs, n.around = nil, map[string]int32{}, map[decode.ID][]uint64{}
	return n.learn(ctx, t)
}

func (n *Names) learn(ctx context.Context, t *decode.Table) error {
	n.grow(t.Symbols.Len())
	if n.set[0] == unlearnt {
		n.learnName(0, "") // so that package 0 is that of unknown names
	}
	left := n.effort
	matched := 0
	for i := range t.Funcs {
		id := t.Funcs[i].Name
		if n.set[id] == unlearnt {
			n.learnName(id, t.Symbols.Name(id))
		}
		if n.parts[id]&(standard|runtimes) == standard && isRuntimeFile(t.Symbols.Name(t.Funcs[i].File)) {
			n.parts[id] |= runtimes | floor | waiting // reflect.typedmemmove, which the runtime defines for others
		}
		if n.set[id] > unmatched {
			continue
		}
		if left <= 0 {
			n.waiting++
			continue
		}
		if matched++; matched%lookEvery == 0 && ctx.Err() != nil {
			return fmt.Errorf("match function names: %w", context.Cause(ctx))
		}
		var effort pattern.Effort
		n.buf, effort = n.index.Measure(t.Symbols.Name(id), n.buf[:0])
		left -= effort
		n.set[id] = n.setOf(n.buf)
		if n.matches > n.most {
			return fmt.Errorf("match function names: expected at most %d matches, found %d: %w", n.most, n.matches, errMatches)
		}
	}
	return nil
}

// grow makes room for ids below end.
func (n *Names) grow(end int) {
	if more := end - len(n.set); more > 0 {
		n.set = append(n.set, make([]int32, more)...)
		n.parts = append(n.parts, make([]part, more)...)
		n.hashes = append(n.hashes, make([]uint64, more)...)
		n.pkg = append(n.pkg, make([]int32, more)...)
	}
}

// mostAround bounds the functions that a literal may be in: nested literals and inlined
// functions are a few.
const mostAround = 16

func (n *Names) learnName(id decode.ID, name string) {
	n.set[id] = unmatched
	pkg := pattern.PackageOf(name)
	n.parts[id] = partsOf(name, pkg)
	n.pkg[id] = n.packageID(pkg)
	hash := fnvOffset
	for i, c := range []byte(name) {
		if n.parts[id]&literal != 0 && i > len(pkg) && (c == '.' || c == '-') && len(n.around[id]) < mostAround {
			n.around[id] = append(n.around[id], hash)
		}
		hash = (hash ^ uint64(c)) * fnvPrime
	}
	n.hashes[id] = hash
}

// isRuntimeFile reports whether a file is in a folder of the name runtime.
func isRuntimeFile(file string) bool {
	folder := file[:max(strings.LastIndexByte(file, '/'), 0)]
	return folder == "runtime" || strings.HasSuffix(folder, "/runtime")
}

// setOf returns the place of a set of patterns.
func (n *Names) setOf(matches []int32) int32 {
	hash := fnvOffset
	for _, m := range matches {
		hash = (hash ^ uint64(m)) * fnvPrime
	}
	place, known := n.places[hash]
	if known && slices.Equal(n.sets[place], matches) {
		return place
	}
	place = int32(len(n.sets))
	n.sets = append(n.sets, slices.Clone(matches))
	n.matches += len(matches)
	if !known { // of two sets with one hash, the second is kept as often as it comes
		n.places[hash] = place
	}
	return place
}

// FNV-1a, over numbers.
const (
	fnvOffset uint64 = 14695981039346656037
	fnvPrime  uint64 = 1099511628211
)

func (n *Names) packageID(path string) int32 {
	id, ok := n.packageIDs[path]
	if !ok {
		id = int32(len(n.packages))
		n.packages = append(n.packages, path)
		n.packageIDs[path] = id
	}
	return id
}

// Waiting is how many functions of the last table have yet to be matched, because
// that would have taken too long. Until then no pattern matches them.
func (n *Names) Waiting() int { return n.waiting }

// Matches lists the numbers of the patterns that match the name.
func (n *Names) Matches(id decode.ID) []int32 { return n.sets[n.set[id]] }

// MostMatches is the largest number of patterns that one name matches.
func (n *Names) MostMatches() int {
	most := 0
	for _, set := range n.sets {
		most = max(most, len(set))
	}
	return most
}

// Match reports whether the name matches any of the patterns with the given
// numbers.
func (n *Names) Match(id decode.ID, patterns []int32) bool {
	for _, m := range n.Matches(id) {
		for _, p := range patterns {
			if m == p {
				return true
			}
		}
	}
	return false
}

// Package is the path of the name's package.
func (n *Names) Package(id decode.ID) string { return n.packages[n.pkg[id]] }
