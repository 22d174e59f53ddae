package compare

import (
	"errors"
	"strings"

	"github.com/profguard/profguard/internal/compare/report"
	"github.com/profguard/profguard/internal/compare/slice"
)

// repeats are how often both sides are run again before a failure is one of the head.
const repeats = 3

// A failure is that of a benchmark, or of a test binary, on one side.
type failure struct {
	side      int
	both      bool // the other side fails, too
	sometimes bool // not in all runs
	output    string
}

func (f *failure) Error() string {
	text := "fails at the " + [...]string{"base", "head"}[f.side]
	if f.both {
		text = "fails on both sides"
	}
	if f.sometimes {
		text += " in some runs"
	}
	return text
}

// verdict is that of a benchmark that fails. Only what fails whenever it runs, and never at the base,
// is broken.
func (f *failure) verdict() report.Verdict {
	switch {
	case f.both || f.side == base:
		return report.Unjudged
	case f.sometimes:
		return report.Undecided
	}
	return report.Broken
}

// confirm runs both sides again, in the same way, after one failed: chance may have decided which was
// first, or that it failed at all. Until it has, the failure is one of some runs.
func (f *failure) confirm(run func(side int) error) error {
	f.sometimes = true
	for range repeats {
		for _, side := range [...]int{1 - f.side, f.side} {
			err := run(side)
			var fails *failure
			switch {
			case errors.As(err, &fails) && side != f.side:
				f.both, f.sometimes = true, false
				return nil
			case errors.As(err, &fails):
			case err != nil:
				return err
			case side == f.side:
				return nil
			}
		}
		if strings.Contains(f.output, slice.TimedOut) {
			break // which is no chance, and takes minutes each time
		}
	}
	f.sometimes = false
	return nil
}
