package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/forms"
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
	return given(func(s string) { *list = append(*list, s) })
}

// given reads a flag that has a value. A script may have taken it from a variable that is not set.
func given(set func(string)) func(string) error {
	return func(s string) error {
		if strings.TrimSpace(s) == "" {
			return errors.New("expected a value, found none")
		}
		set(s)
		return nil
	}
}

// authorizationFlag is -authorization, the same for all commands that ask others.
func authorizationFlag(f *flag.FlagSet, file *string) {
	f.StringVar(file, "authorization", "", "a `file` with a bearer token, or with user:password")
}

// outputs are the formats of a report, each with its file, "" for standard output.
type outputs struct {
	out  io.Writer
	list []output
}

type output struct{ format, file string }

// outputsFlag is -o, the same for all commands. A file is made at once, because a comparison takes long.
func outputsFlag(f *flag.FlagSet, out io.Writer, formats ...string) *outputs {
	o := &outputs{out: out}
	f.Func("o", "write this `format`: "+either(formats)+" (default text), or format=FILE into a file; may be given several times", func(s string) error {
		format, file, named := strings.Cut(s, "=")
		if !slices.Contains(formats, format) {
			return fmt.Errorf("expected %s", either(formats))
		}
		o.list = append(o.list, output{format, file})
		if named {
			return os.WriteFile(file, nil, 0o666)
		}
		return nil
	})
	return o
}

// write writes a report in each of the formats. Writing to the buffer that it gets does not fail.
func (o *outputs) write(report func(w io.Writer, format string) error) error {
	list := o.list
	if len(list) == 0 {
		list = []output{{format: "text"}}
	}
	for _, to := range list {
		var b bytes.Buffer
		err := report(&b, to.format)
		switch {
		case err != nil:
		case to.file == "":
			_, err = o.out.Write(b.Bytes())
		default:
			err = os.WriteFile(to.file, b.Bytes(), 0o666)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// failed writes an error for programs that read JSON: an empty file would tell them nothing.
func (o *outputs) failed(err error) {
	o.list = slices.DeleteFunc(o.list, func(to output) bool { return to.format != "json" })
	if len(o.list) == 0 {
		return
	}
	_ = o.write(func(w io.Writer, _ string) error { // the command returns the first error
		return forms.JSON(w, struct {
			Version int    `json:"version"`
			Error   string `json:"error"`
		}{1, err.Error()})
	})
}
