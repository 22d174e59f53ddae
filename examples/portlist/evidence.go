package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/profguard/profguard/budget"
)

// everybodys are functions that all others end in: that they are hot says nothing.
const everybodys = " except runtime, internal/..., syscall.RawSyscall*, syscall.Syscall*, syscall.read, syscall.Read, os, bufio"

// What is asked of the profiles that are collected. These limits are no budgets:
// they are low, so that the worst functions are listed whether they matter or not.
// Those of CPU step down: each lists a few functions, and what is big comes first.
var (
	total = budget.Must("process below 1 core")
	spots = budget.Must(
		"no function above 0.2 cores"+everybodys,
		"no function above 0.1 cores"+everybodys,
		"no function above 0.05 cores"+everybodys,
		"no function above 0.02 cores"+everybodys,
		"no function above 0.01 cores"+everybodys,
	)
	worst = map[string]budget.Set{
		"heap":      budget.Must("no function above 1KiB of heap"),
		"goroutine": budget.Must("no function above 10 of goroutine"),
		"mutex":     budget.Must("no function above 0.001 cores of mutex except runtime, sync"),
	}
	kinds = []string{"heap", "goroutine", "mutex"}
)

// seconds is how long a CPU profile is: of half a core 300 samples, which tell
// its use to about a fifth.
const seconds = 6

// attempts is how many profiles are taken until one names a function: on an overloaded machine, one
// may be too poor for that.
const attempts = 3

// Evidence is what profiles of all kinds say about the process at one time.
type evidence struct {
	cpu   budget.Result            // of the process, in cores
	spots []budget.Offender        // of CPU, the worst first
	why   string                   // there are none
	worst map[string]budget.Result // of the other kinds
}

// collect takes the profiles, keeps them in dir, and looks at them. The CPU
// profile comes from the guard's page: the runtime has one profiler, and the
// guard shares it.
func collect(ctx context.Context, page, dir string) (evidence, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return evidence{}, err
	}
	e := evidence{worst: map[string]budget.Result{}}
	for range attempts {
		cpu, err := profile(ctx, page)
		if err != nil {
			return evidence{}, err
		}
		all, err := judge(filepath.Join(dir, "cpu.pb.gz"), cpu, total, spots)
		if err != nil {
			return evidence{}, err
		}
		if e.cpu, e.spots = all[0], hotSpots(all[1:]); len(e.spots) > 0 {
			break
		}
		e.why = all[len(all)-1].Reason
	}
	for _, kind := range kinds {
		var data bytes.Buffer
		if err := pprof.Lookup(kind).WriteTo(&data, 0); err != nil {
			return evidence{}, err
		}
		all, err := judge(filepath.Join(dir, kind+".pb.gz"), data.Bytes(), worst[kind])
		if err != nil {
			return evidence{}, err
		}
		e.worst[kind] = all[0]
	}
	return e, nil
}

// profile takes a CPU profile, again if an overloaded machine has spoilt it.
func profile(ctx context.Context, page string) ([]byte, error) {
	for {
		var cpu bytes.Buffer
		err := get(ctx, http.DefaultClient, fmt.Sprintf("%s/profile?seconds=%d", page, seconds), &cpu)
		if err == nil {
			return cpu.Bytes(), nil
		}
		if !pause(ctx, time.Second) {
			return nil, err
		}
	}
}

// judge keeps a profile, and judges it.
func judge(file string, data []byte, sets ...budget.Set) ([]budget.Result, error) {
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return nil, err
	}
	return slices.Concat(sets...).JudgeReader(bytes.NewReader(data), budget.Facts{})
}

// hotSpots are the three worst functions of which none calls another: of a chain,
// the deepest.
func hotSpots(results []budget.Result) []budget.Offender {
	var list []budget.Offender
	for _, r := range results {
		for _, o := range r.Offenders {
			if len(list) < 3 && !slices.ContainsFunc(list, func(s budget.Offender) bool { return related(s, o) }) {
				list = append(list, o)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b budget.Offender) int { return cmp.Compare(b.Share, a.Share) })
	return list
}

// related reports whether one of two functions is on the other's way in or out.
func related(a, b budget.Offender) bool {
	is := func(name string) func(budget.Frame) bool {
		return func(f budget.Frame) bool { return f.Function == name }
	}
	return slices.ContainsFunc(slices.Concat(a.Callers, a.Callees), is(b.Function)) ||
		slices.ContainsFunc(slices.Concat(b.Callers, b.Callees), is(a.Function)) || a.Function == b.Function
}

// tell lists what the evidence is.
func (e evidence) tell(out io.Writer, when string) {
	fmt.Fprintf(out, "\n%s: %.2f cores (%.2f to %.2f). The worst of it, and of the other profiles:\n", when, e.cpu.Value, e.cpu.Low, e.cpu.High)
	if len(e.spots) == 0 {
		fmt.Fprintf(out, "    cpu        %s\n", e.why)
	}
	for i, s := range e.spots {
		fmt.Fprintf(out, "    %d. %.2f cores (%.2f to %.2f)  %s\n", i+1, s.Share, s.Low, s.High, s.Function)
	}
	for _, kind := range kinds {
		r := e.worst[kind]
		if len(r.Offenders) == 0 {
			fmt.Fprintf(out, "    %-10s nothing to speak of\n", kind)
			continue
		}
		fmt.Fprintf(out, "    %-10s %s  %s\n", kind, amount(r.Offenders[0].Share, r.Unit), r.Offenders[0].Function)
	}
}

func amount(v float64, unit string) string {
	switch unit {
	case "bytes":
		return fmt.Sprintf("%.1f MiB", v/(1<<20))
	case "cores":
		return fmt.Sprintf("%.3f cores", v)
	case "ratio":
		return fmt.Sprintf("%.0f%%", 100*v)
	}
	return fmt.Sprintf("%.0f", v)
}

// saved is what two profiles prove, and cannot exclude. Both are samples, so the
// least is the lower bound of the first less the upper bound of the second.
func saved(before, after budget.Result) (least, measured, most float64) {
	return before.Low - after.High, before.Value - after.Value, before.High - after.Low
}
