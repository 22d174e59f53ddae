package tally

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/scaffold"
)

// Bounds of Names, in numbers of patterns that match a name, added up over the
// sets that differ: functions of one package mostly match the same patterns.
// A program within reason stays below a tenth of keptMatches (4 MiB), where what
// is known is forgotten and worked out anew for the profile at hand; one that
// needs more than maxMatches (64 MiB) for a single profile is refused.
const (
	keptMatches = 1 << 20
	maxMatches  = 1 << 24
)

// maxEffort is what one profile may cost in matching names with patterns, half a
// second (a second and a half on a machine with ten times the work that it can
// do): 300,000 names times expressions that must be tried, or millions that a
// literal rules out. What is left over is for the next profile.
const maxEffort pattern.Effort = 1 << 24

// lookEvery is how many names are learnt between two looks at the context. A
// name takes a microsecond for each regular expression at the worst.
const lookEvery = 64

// Names remembers per function name what matching found out about it: which
// patterns match, which package it is in, which part it plays on the way in. A
// program has so many names and no more, so after its first window nothing is
// matched any more, and nothing is allocated. A program whose names change all
// the time makes it forget.
type Names struct {
	index    *pattern.Index
	scaffold *scaffold.Matcher // made for the first name: many watches never see one

	symbols    *decode.Symbols
	generation int

	// By id.
	set    []int32 // place in sets
	class  []scaffold.Class
	parked []bool
	pkg    []int32

	sets    [][]int32        // those of unknown and waiting are empty
	places  map[uint64]int32 // of the sets, by hash
	matches int              // in all sets
	settled int              // matches when all had last been forgotten and learnt anew
	kept    int              // keptMatches
	most    int              // maxMatches
	effort  pattern.Effort   // maxEffort
	waiting int              // functions of the last table that have not been matched

	packages   []string
	packageIDs map[string]int32
	buf        []int32
}

const (
	unknown = iota // is the set of names that have not been learnt,
	waiting        // and of those that have been, but not matched
)

// NewNames returns an empty memory for an index of patterns.
func NewNames(index *pattern.Index) *Names {
	return &Names{index: index, kept: keptMatches, most: maxMatches, effort: maxEffort}
}

// Learn looks up every function name of the table that is not known yet. If that
// takes too long, [Names.Waiting] names are left for the next call. Its error is
// that of a context that has ended, or says that the patterns match too much.
func (n *Names) Learn(ctx context.Context, t *decode.Table) error {
	n.waiting = 0
	if len(t.Funcs) == 0 {
		return nil // nothing that could be asked about: no need for a matcher
	}
	if n.symbols == t.Symbols && n.generation == t.Symbols.Generation() && n.matches <= max(n.kept, 2*n.settled) {
		if err := n.learn(ctx, t); !errors.Is(err, errMatches) {
			return err
		}
	}
	n.symbols, n.generation = t.Symbols, t.Symbols.Generation()
	if err := n.relearn(ctx, t); err != nil {
		n.symbols = nil // what is there is not all
		return err
	}
	n.settled = n.matches
	return nil
}

var errMatches = errors.New("the patterns of the budgets match too much: budget packages instead of so many expressions")

func (n *Names) relearn(ctx context.Context, t *decode.Table) error {
	n.set, n.class, n.parked, n.pkg = n.set[:0], n.class[:0], n.parked[:0], n.pkg[:0]
	n.sets, n.places, n.matches = [][]int32{unknown: nil, waiting: nil}, map[uint64]int32{}, 0
	n.packages, n.packageIDs = nil, map[string]int32{}
	return n.learn(ctx, t)
}

func (n *Names) learn(ctx context.Context, t *decode.Table) error {
	n.grow(t.Symbols.Len())
	if n.set[0] == unknown {
		n.learnName(0, "") // so that package 0 is that of unknown names
	}
	left := n.effort
	matched := 0
	for i := range t.Funcs {
		id := t.Funcs[i].Name
		if n.set[id] > waiting {
			continue
		}
		name := t.Symbols.Name(id)
		if n.set[id] == unknown {
			n.learnName(id, name)
		}
		if left <= 0 {
			n.waiting++
			continue
		}
		if matched++; matched%lookEvery == 0 && ctx.Err() != nil {
			return fmt.Errorf("match function names: %w", context.Cause(ctx))
		}
		var effort pattern.Effort
		n.buf, effort = n.index.Measure(name, n.buf[:0])
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
		n.class = append(n.class, make([]scaffold.Class, more)...)
		n.parked = append(n.parked, make([]bool, more)...)
		n.pkg = append(n.pkg, make([]int32, more)...)
	}
}

func (n *Names) learnName(id decode.ID, name string) {
	n.set[id] = waiting
	n.class[id] = n.ClassOf(name)
	n.parked[id] = scaffold.Parked(name) || n.class[id] == scaffold.Runner
	n.pkg[id] = n.packageID(pattern.PackageOf(name))
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

// Class is the name's part on the way in.
func (n *Names) Class(id decode.ID) scaffold.Class { return n.class[id] }

// ClassOf is the part on the way in of a function by its name.
func (n *Names) ClassOf(name string) scaffold.Class {
	if n.scaffold == nil {
		n.scaffold = scaffold.NewMatcher()
	}
	return n.scaffold.Class(name)
}

// Package is the number of the name's package.
func (n *Names) Package(id decode.ID) int32 { return n.pkg[id] }

// runtime reports whether the name is of package runtime.
func (n *Names) runtime(id decode.ID) bool { return n.packages[n.pkg[id]] == "runtime" }

// PackageName is the path of a package by its number.
func (n *Names) PackageName(pkg int32) string { return n.packages[pkg] }

// PackageCount is the number of packages known.
func (n *Names) PackageCount() int { return len(n.packages) }
