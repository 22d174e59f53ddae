package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/compare"
	"github.com/profguard/profguard/internal/compare/report"
)

const compareHelp = `profguard compare -base REF [flags] [packages]

Compares the benchmarks of the working tree with those of a revision, in any Go repository. The
base is where the histories of REF and HEAD part. Without packages: ./...

`

// compareBenchmarks compares the benchmarks of two revisions.
func compareBenchmarks(ctx context.Context, args []string, std streams) (int, error) {
	c := compare.Config{Dir: "."}
	var sentences []string
	f := newFlags("compare")
	f.StringVar(&c.Base, "base", "", "the `revision` to compare with, such as origin/main")
	f.StringVar(&c.Bench, "bench", ".", "run the benchmarks that match the `expression`, as in go test")
	f.Func("budget", "a `sentence` such as \"process grows below 3% per call\"; may be given several times (by default 5% of CPU time and of allocations)", appending(&sentences))
	f.DurationVar(&c.Time, "time", 0, "measure for at most this `duration`, all benchmarks together (by default two minutes for each, at most 30)")
	format := f.String("o", "text", "write `"+strings.Join(report.Formats(), ", ")+"`")
	f.BoolVar(&c.Same, "same", false, "measure packages too whose test binary is the same on both sides, to see how far equal code seems to differ")
	f.StringVar(&c.Profiles, "profiles", "", "keep the profiles of benchmarks that fail in this `folder` (by default in the user's cache)")
	patterns, err := parseFlags(f, args, std.out)
	if err != nil {
		return exitMisuse, err
	}
	switch {
	case c.Base == "":
		return exitMisuse, errors.New("expected -base with the revision to compare with, such as -base origin/main, or -base HEAD for what is not committed yet")
	case !slices.Contains(report.Formats(), *format):
		return exitMisuse, fmt.Errorf("-o: expected one of %s, found %q", strings.Join(report.Formats(), ", "), *format)
	case c.Time < 0:
		return exitMisuse, fmt.Errorf("-time: expected a duration above zero, found %v", c.Time)
	}
	if _, err := regexp.Compile(c.Bench); err != nil {
		return exitMisuse, fmt.Errorf("-bench: %w", err)
	}
	if len(sentences) == 0 {
		sentences = compare.DefaultBudgets
	}
	if c.Budgets, err = compare.ParseBudgets(sentences); err != nil {
		return exitMisuse, err
	}
	if c.Patterns = patterns; len(patterns) == 0 {
		c.Patterns = []string{"./..."}
	}
	line := progressLine{w: std.err, terminal: isTerminal(std.err)}
	c.Progress = line.show
	r, err := compare.Run(ctx, c)
	line.clear()
	if err != nil {
		return exitMisuse, err
	}
	if err := r.Write(std.out, *format); err != nil {
		return exitMisuse, err
	}
	return [...]int{exitKept, exitBroken, exitUndecided}[r.Status()], nil
}

// A progressLine shows what a comparison does, in one line of a terminal, and nothing elsewhere.
type progressLine struct {
	w        io.Writer
	terminal bool
	shown    time.Time
	doing    string
}

func (l *progressLine) show(p compare.Progress) {
	if !l.terminal || p.Doing == l.doing && time.Since(l.shown) < 200*time.Millisecond {
		return
	}
	l.shown, l.doing = time.Now(), p.Doing
	text := p.Doing
	if p.Left > 0 {
		text = fmt.Sprintf("%s: %d of %d decided, %d pairs, at most %v left", p.Doing, p.Decided, p.All, p.Pairs, p.Left.Round(time.Second))
	}
	fmt.Fprintf(l.w, "\r\x1b[K%s", text)
}

func (l *progressLine) clear() {
	if l.terminal {
		fmt.Fprint(l.w, "\r\x1b[K")
	}
}

// isTerminal reports whether people see what is written there.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("CI") != "" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
