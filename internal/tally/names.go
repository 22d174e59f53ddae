package tally

import (
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/scaffold"
)

// Names remembers per function name what matching found out about it: which
// patterns match, which package it is in, which part it plays on the way in. A
// program has so many names and no more, so after its first window nothing is
// matched any more, and nothing is allocated.
type Names struct {
	index    *pattern.Index
	scaffold *scaffold.Matcher

	symbols    *decode.Symbols
	generation int

	// By id. Ids up to len(class) are known.
	matches [][]int32
	class   []scaffold.Class
	parked  []bool
	pkg     []int32

	packages   []string
	packageIDs map[string]int32
	buf        []int32
}

// NewNames returns an empty memory for an index of patterns.
func NewNames(index *pattern.Index) *Names {
	return &Names{index: index, scaffold: scaffold.NewMatcher()}
}

// Learn looks up every name of symbols that is not known yet.
func (n *Names) Learn(symbols *decode.Symbols) {
	if n.symbols != symbols || n.generation != symbols.Generation() {
		n.symbols, n.generation = symbols, symbols.Generation()
		n.matches, n.class, n.pkg = n.matches[:0], n.class[:0], n.pkg[:0]
		n.parked = n.parked[:0]
		n.packages, n.packageIDs = nil, map[string]int32{}
	}
	for id := len(n.class); id < symbols.Len(); id++ {
		name := symbols.Name(decode.ID(id))
		n.buf = n.index.Match(name, n.buf[:0])
		n.matches = append(n.matches, append([]int32(nil), n.buf...))
		n.class = append(n.class, n.scaffold.Class(name))
		n.parked = append(n.parked, scaffold.Parked(name))
		n.pkg = append(n.pkg, n.packageID(pattern.PackageOf(name)))
	}
}

func (n *Names) packageID(path string) int32 {
	id, ok := n.packageIDs[path]
	if !ok {
		id = int32(len(n.packages))
		n.packages = append(n.packages, path)
		n.packageIDs[path] = id
	}
	return id
}

// Matches lists the numbers of the patterns that match the name.
func (n *Names) Matches(id decode.ID) []int32 { return n.matches[id] }

// Match reports whether the name matches any of the patterns with the given
// numbers.
func (n *Names) Match(id decode.ID, patterns []int32) bool {
	for _, m := range n.matches[id] {
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
func (n *Names) ClassOf(name string) scaffold.Class { return n.scaffold.Class(name) }

// Package is the number of the name's package.
func (n *Names) Package(id decode.ID) int32 { return n.pkg[id] }

// runtime reports whether the name is of package runtime.
func (n *Names) runtime(id decode.ID) bool { return n.packages[n.pkg[id]] == "runtime" }

// PackageName is the path of a package by its number.
func (n *Names) PackageName(pkg int32) string { return n.packages[pkg] }

// PackageCount is the number of packages known.
func (n *Names) PackageCount() int { return len(n.packages) }
