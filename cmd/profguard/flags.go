package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// The exit status.
const (
	exitKept      = 0
	exitBroken    = 1
	exitMisuse    = 2
	exitUndecided = 3
)

// exits is what the exit status means in general, and commandExits for each command.
const exits = `Exit status:
  0  all budgets are kept, or budgets were suggested
  1  a budget is broken
  2  wrong use, or a profile that could not be read
  3  no budget is broken, but one is undecided, or there are too few samples to suggest any
`

var commandExits = map[string]string{
	"check": `Exit status:
  0  all budgets are kept
  1  a budget is broken
  2  wrong use, or a profile that could not be read
  3  no budget is broken, but one is undecided
`,
	"diff": `Exit status:
  0  all budgets of growth are kept
  1  a budget of growth is broken
  2  wrong use, or a profile that could not be read, or is of another program
  3  no budget is broken, but one is undecided
`,
	"suggest": `Exit status:
  0  budgets were suggested
  2  wrong use, or a profile that could not be read
  3  there are too few samples to suggest any
`,
	"compare": `Exit status:
  0  all benchmarks are kept
  1  a benchmark costs more than its budget, fails at the head, or does not compile there
  2  wrong use: no such revision, no module, no benchmark that matches -bench, a mistake in a budget
  3  none is broken, but one is undecided, none could be compared, or it was interrupted
`,
	"probe": `Exit status:
  0  it was told to end
  2  wrong use, or it could not serve
`,
}

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// newFlags returns the flags of a command, which are silent: errors are returned, and
// printed once.
func newFlags(name string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	return f
}

// parseFlags parses the flags, which may come after arguments, too, and writes the help
// if it is asked for.
func parseFlags(f *flag.FlagSet, args []string, help io.Writer) (rest []string, err error) {
	for {
		if err := f.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				switch f.Name() {
				case "compare":
					fmt.Fprint(help, compareHelp)
				case "probe":
					fmt.Fprintln(help, "profguard probe -b FILE -allow TARGETS [flags]")
				case "diff":
					fmt.Fprintln(help, "profguard diff [flags] OLD NEW")
				default:
					fmt.Fprintf(help, "profguard %s [flags] PROFILE...\n", f.Name())
				}
				f.SetOutput(help)
				f.PrintDefaults()
				fmt.Fprint(help, "\n"+commandExits[f.Name()])
				return nil, err
			}
			return nil, fmt.Errorf("%w; profguard %s -h lists the flags", err, f.Name())
		}
		if f.NArg() == 0 {
			return rest, nil
		}
		rest, args = append(rest, f.Arg(0)), f.Args()[1:]
	}
}

// appending reads a flag that may be given several times.
func appending(list *[]string) func(string) error {
	return func(s string) error { *list = append(*list, s); return nil }
}
