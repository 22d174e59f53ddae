// Package blocks lends the judge of a test's blocks, which is package budget's, to package
// check. It is no part of the language, so budget does not export it.
package blocks

import (
	"io"

	"github.com/google/pprof/profile"
)

// A Judge judges a test: a piece of work that is done again and again and profiled block
// by block (100 ms, say, each a CPU profile of its own), until every budget is decided.
// It may be asked after each block without erring more often. It is not safe for
// concurrent use. F, R and V are budget.Facts, budget.Result and budget.Verdict.
type Judge[F, R, V any] interface {
	// Block takes the profile of the next block. What the runtime put on top of a
	// function to interrupt it is that function's.
	Block(profile io.Reader, facts F) error
	// Decided returns the verdict on budget i as far as it is certain.
	Decided(i int) V
	// Closing returns the verdict that Close would give on budget i, as far as that is
	// known without the whole profile: growth is open until it is decided.
	Closing(i int) V
	// Vacuous says why no amount of such work decides budget i: it has seen enough of
	// it, and none was in the budget's scope ("where", "in") or came when it applies
	// ("when"). It returns "" for all others.
	Vacuous(i int) string
	// Done reports whether every budget is decided, Failed whether one has failed.
	Done() bool
	Failed() bool
	// Samples returns how many samples were judged, and how many of the labelled ones
	// were dropped.
	Samples() (judged, dropped int64)
	// Close returns the results when there is no time left, or no need for more. p holds
	// all blocks' samples, and facts are those of all blocks together. A budget that is
	// not decided by then passes when a share of 1.5 times its limit would have been
	// caught: a test near its limit must not flake. Its Reason says so. Otherwise it is
	// inconclusive, and the Reason says what was missing.
	Close(p *profile.Profile, facts F) ([]R, error)
}

// Options say what blocks are.
type Options struct {
	// Where are labels: only samples with all of them are judged.
	Where map[string]string

	// Keep cuts stacks to what is the work's. It is given the names of the functions of
	// a stack that has the labels, the leaf first, which it must not hold on to, and
	// returns how many of them are kept; a sample of which none is, is dropped.
	Keep func(stack []string) int

	// Runs says that each block is one whole run of the work, or several, so that blocks
	// are alike and few of them are enough.
	Runs bool

	// Once says that the blocks end when somebody else decides, as a benchmark's do, and
	// not by a verdict. Close then fails a budget that is exceeded by all blocks
	// together, without the confirmation that more blocks would be.
	Once bool
}

// New is a func(budget.Set, Options) (Judge[...], error) that package budget sets.
var New any
