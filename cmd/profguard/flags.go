package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// The exit status.
const (
	exitKept      = 0
	exitBroken    = 1
	exitMisuse    = 2
	exitUndecided = 3
)

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
				c, _ := named(f.Name())
				fmt.Fprintf(help, "profguard %s %s\n\n%s\nFlags:\n", c.name, c.arguments, c.help)
				f.SetOutput(help)
				f.PrintDefaults()
				fmt.Fprint(help, "\n"+exits)
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

// either joins words with commas, and "or" before the last.
func either(list []string) string {
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}

// appending reads a flag that may be given several times.
func appending(list *[]string) func(string) error {
	return func(s string) error { *list = append(*list, s); return nil }
}
