package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/profguard/profguard/internal/compare"
	"github.com/profguard/profguard/internal/compare/report"
	"github.com/profguard/profguard/internal/unit"
)

// compareBenchmarks compares the benchmarks of two revisions.
func compareBenchmarks(ctx context.Context, args []string, std streams) (int, error) {
	c := compare.Config{Dir: "."}
	var sentences []string
	f := newFlags("compare")
	f.StringVar(&c.Base, "base", "", "the `revision` to compare with, such as origin/main")
	f.StringVar(&c.Bench, "bench", ".", "run the benchmarks that match the `expression`, as in go test")
	f.Func("budget", "a `sentence` such as \"process grows below 3% per call\"; may be given several times (by default 5% of CPU time and of allocations)", appending(&sentences))
	f.DurationVar(&c.Time, "time", 0, "measure and profile for at most this `duration` in all (default: two minutes for each benchmark, at most 30)")
	o := outputsFlag(f, std.out, report.Formats()...)
	f.BoolVar(&c.Same, "same", false, "also measure packages whose test binaries have equal code, to see how much equal code seems to differ")
	f.StringVar(&c.Profiles, "profiles", "", "keep the profiles of benchmarks that fail in this `folder` (by default in the user's cache)")
	patterns, err := parseFlags(f, args, std.out)
	if err != nil {
		return exitMisuse, err
	}
	switch {
	case c.Base == "":
		return exitMisuse, errors.New("expected -base with the revision to compare with, such as -base origin/main, or -base HEAD for what is not committed yet")
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
	log := progressLog{w: std.err}
	c.Progress = log.show
	log.start()
	r, err := compare.Run(ctx, c)
	log.stop()
	if err != nil {
		return exitMisuse, err
	}
	if err := o.write(r.Write); err != nil {
		return exitMisuse, err
	}
	return map[report.Verdict]int{report.Kept: exitKept, report.Broken: exitBroken, report.Undecided: exitUndecided}[r.Verdict()], nil
}

// A progressLog writes what a comparison does: a line for each kind of work, and one each progressEach while it
// takes long.
type progressLog struct {
	mu   sync.Mutex // guards last and writes to w
	w    io.Writer
	last compare.Progress
	end  chan struct{}
	done sync.WaitGroup
}

// progressEach is how long a log may be silent: CI systems take ten minutes for the end.
const progressEach = 30 * time.Second

// start starts what writes while nothing is reported. Call stop at the end.
func (l *progressLog) start() {
	l.end = make(chan struct{})
	l.done.Go(func() {
		tick := time.NewTicker(progressEach)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				l.mu.Lock()
				fmt.Fprintln(l.w, progressText(l.last))
				l.mu.Unlock()
			case <-l.end:
				return
			}
		}
	})
}

func (l *progressLog) show(p compare.Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was, _, _ := strings.Cut(l.last.Doing, " ")
	if now, _, _ := strings.Cut(p.Doing, " "); now != was {
		fmt.Fprintln(l.w, progressText(p))
	}
	l.last = p
}

func (l *progressLog) stop() {
	close(l.end)
	l.done.Wait()
}

func progressText(p compare.Progress) string {
	if p.Left > 0 {
		return fmt.Sprintf("%s: %d of %d decided, %s, at most %v left", p.Doing, p.Decided, p.All, unit.Plural(p.Pairs, "pair"), p.Left.Round(time.Second))
	}
	return p.Doing
}
