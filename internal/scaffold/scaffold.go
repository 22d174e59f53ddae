// Package scaffold knows the functions that stand at the root of almost every
// stack of a Go program, whatever the program does: the runtime's and testing's
// own, the serving loops of net/http and gRPC, routers, errgroup and the like.
//
// A reading of "no function above 20% cumulative" that took them by their word
// would always fail. So they are charged with what they spend in their own
// bodies only, and so are the functions that they call directly: handlers,
// middleware, worker bodies. [Cut] finds where a stack ends to be the way in
// and begins to be the program's own work.
package scaffold

import (
	"slices"

	"github.com/profguard/profguard/internal/pattern"
)

// Class says what part a function plays on the way in.
type Class uint8

const (
	// Work is any function that is not listed.
	Work Class = iota
	// Root functions are scaffolding where nothing but scaffolding is below
	// them. runtime.systemstack, for one, stands at the root of a garbage
	// collector's stack and in the middle of anybody's: only the first is the
	// way in. Where they stand in the middle they are not judged either.
	Root
	// Server functions hand control to a handler. Whatever is below them, known
	// to this list or not, has led there: a router, a middleware.
	Server
	// Runner functions are servers of closures that only say what is to be run:
	// a test function, a benchmark, the closures given to guard.Check and to an
	// errgroup. The function that they call is scaffolding too, as the one that a
	// go statement starts.
	Runner
	// Handler functions are entry points by their name: ServeHTTP has one
	// meaning, so a middleware that calls the next handler directly, without
	// net/http in between, is recognised all the same.
	Handler
	// Interrupt functions were put on the stack by the runtime, in the middle of
	// the function behind them. On a busy machine a third of a loop's samples were
	// seen in them.
	Interrupt
)

// Cut returns how many frames of a stack, counted from the leaf, are the
// program's own work. The frames behind them (entry point and scaffolding) are
// the way in. frames are ids of functions, the leaf first, and classes the
// classes of functions by id.
func Cut[ID ~int32](frames []ID, classes []Class) int {
	n := len(frames)
	cut := n
	wayIn := true // nothing but the way in has been seen below frame i
	for i := n - 1; i >= 0; i-- {
		c := classes[frames[i]]
		switch {
		case c == Handler:
			cut, wayIn = i, false
		case c == Runner:
			// The runner at i, the closure at i-1, the entry point at i-2.
			cut, wayIn = i-2, true
			i--
		case c == Server, c == Root && wayIn, i == n-1:
			// The bottom frame is what a go statement started: scaffolding by
			// its place.
			cut, wayIn = i-1, true
		default:
			wayIn = false
		}
	}
	return max(cut, 0)
}

// A Matcher classifies function names. It is not safe for concurrent use.
type Matcher struct {
	index *pattern.Index
	buf   []int32
}

// NewMatcher returns a matcher for the list of this package.
func NewMatcher() *Matcher {
	patterns := make([]*pattern.Pattern, len(list))
	for i, e := range list {
		p, err := pattern.Parse(e.pattern)
		if err != nil {
			panic("scaffold: " + err.Error()) // the list is a constant, and tested
		}
		patterns[i] = p
	}
	return &Matcher{index: pattern.NewIndex(patterns)}
}

// Class returns the class of a function by its name as profiles show it.
func (m *Matcher) Class(name string) Class {
	m.buf = m.index.Match(name, m.buf[:0])
	if len(m.buf) == 0 {
		return Work
	}
	return list[slices.Min(m.buf)].class
}

// Patterns lists what a matcher matches; the first that matches decides.
func Patterns() []string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = e.pattern
	}
	return out
}
