package compare

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/compare/binary"
	"github.com/profguard/profguard/internal/compare/report"
	"github.com/profguard/profguard/internal/compare/slice"
)

// crashes is how many benchmarks of a package may end the process, until the rest is left.
const crashes = 10

// A found benchmark is one that was run once.
type found struct {
	slice.Record
	output  string // of one that failed
	failure *failure
}

// discover runs each benchmark once on both sides, and returns those that can be compared.
func (m *comparison) discover(ctx context.Context) ([]*trial, error) {
	same, err := m.same(ctx)
	if err != nil {
		return nil, err
	}
	var list []*trial
	for _, p := range m.bins {
		m.say(Progress{Doing: "trying " + p.path, All: len(list)})
		if same[p.path] {
			m.leaveSame(p.path)
			continue
		}
		trials, err := m.try(ctx, p)
		if err != nil {
			return nil, err
		}
		list = append(list, trials...)
	}
	return list, nil
}

// try finds the benchmarks of a package. If one fails, it may look for files by the paths that are
// compiled in, so it is tried again with paths that are not trimmed.
func (m *comparison) try(ctx context.Context, p *pkg) ([]*trial, error) {
	for {
		var sides [2][]found
		for i := range sides {
			var err error
			if sides[i], err = m.runOnce(ctx, p.bins[i], m.Bench); err != nil {
				return nil, fmt.Errorf("%s: %w", p.path, err)
			}
		}
		if !p.trim || !failed(sides[base]) && !failed(sides[head]) {
			if err := m.confirm(ctx, p, sides[head]); err != nil {
				return nil, err
			}
			list, added := m.match(p, sides)
			if len(added) == 0 {
				return list, nil
			}
			more, err := m.tryNew(ctx, p, added)
			return append(list, more...), err
		}
		p.trim = false
		for _, err := range m.buildBoth(ctx, p) {
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.path, err)
			}
		}
	}
}

// confirm finds out whose the failures at the head are.
func (m *comparison) confirm(ctx context.Context, p *pkg, list []found) error {
	for i, f := range list {
		if f.State != slice.Failed {
			continue
		}
		bench := m.Bench // of all, if it is the process that fails
		if f.Name != "" {
			bench = exactly(f.Name)
		}
		list[i].failure = &failure{side: head, output: f.output}
		err := list[i].failure.confirm(func(side int) error {
			r, err := p.bins[side].Run(ctx, m.records(), bench, "1x")
			if err == nil && (r.Err != nil || unfinished(r.Records) >= 0) {
				err = &failure{side: side}
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
	}
	return nil
}

func failed(list []found) bool {
	return slices.ContainsFunc(list, func(f found) bool { return f.State == slice.Failed })
}

// runOnce runs the benchmarks of a binary once. One that ends the process fails, and the others are
// run without it. The name of a result is "" if the process fails without a benchmark.
func (m *comparison) runOnce(ctx context.Context, b slice.Binary, bench string) ([]found, error) {
	var list []found
	var skip []string
	known := map[string]bool{}
	for range crashes {
		r, err := b.Run(ctx, m.records(), bench, "1x", "skip="+strings.Join(skip, "|"))
		if err != nil {
			return nil, err
		}
		culprit := unfinished(r.Records)
		for i, record := range r.Records {
			f := found{Record: record}
			switch {
			case known[record.Name], record.Name == "Main", record.State == slice.Parent, record.State == slice.Starts && i != culprit:
				continue
			case i == culprit:
				f.State, f.output = slice.Failed, r.Output
			case record.State == slice.Failed:
				f.output = said(r.Output, record.Name)
			}
			known[record.Name] = true
			list = append(list, f)
		}
		switch {
		case culprit >= 0 && r.Records[culprit].Name != "Main":
			skip = append(skip, exactly(r.Records[culprit].Name))
			continue
		case r.Err != nil && !failed(list):
			list = append(list, found{Record: slice.Record{State: slice.Failed}, output: r.Output})
		}
		break
	}
	whole := slices.Clone(list)
	return slices.DeleteFunc(list, func(f found) bool { return f.State == slice.Failed && failsBelow(whole, f.Name) }), nil
}

// failsBelow reports whether a sub-benchmark fails, and its parents with it. They are not counted once more.
func failsBelow(list []found, name string) bool {
	return slices.ContainsFunc(list, func(f found) bool {
		return f.State == slice.Failed && name != "" && strings.HasPrefix(f.Name, name+"/")
	})
}

// unfinished is the index of the benchmark that ended the process, or -1. Its parents did not end
// either, and the next one may have begun while it panicked.
func unfinished(list []slice.Record) int {
	culprit := -1
	for i, r := range list {
		switch {
		case r.State != slice.Starts:
		case culprit < 0, list[culprit].Name == "Main", strings.HasPrefix(r.Name, list[culprit].Name+"/"):
			culprit = i
		}
	}
	return culprit
}

// said is the part of an output that is about the failure of a benchmark, or all of it.
func said(output, name string) string {
	at := strings.Index(output, "--- FAIL: "+name)
	if at < 0 {
		return output
	}
	output = output[at:]
	for _, next := range []string{"\n--- FAIL: ", "\nBenchmark", "\npanic: ", "\nFAIL\n"} {
		output, _, _ = strings.Cut(output, next)
	}
	return output
}

// match returns the benchmarks that ran on both sides, and those of the head that the base does not have.
// It reports the others.
func (m *comparison) match(p *pkg, sides [2][]found) (list []*trial, added []found) {
	sides = wholeOnly(sides)
	old := map[string]found{}
	for _, f := range sides[base] {
		old[f.Name] = f
	}
	leave := func(f found, v report.Verdict, reason string) {
		if f.Name == "" {
			m.report.Packages = append(m.report.Packages, report.Package{Path: p.path, Verdict: v, Reason: "the test binary " + reason, Output: f.output})
			return
		}
		m.report.Benchmarks = append(m.report.Benchmarks, report.Benchmark{Package: p.path, Name: f.Name, Verdict: v, Reason: reason, Output: f.output})
	}
	for _, now := range sides[head] {
		was, both := old[now.Name]
		delete(old, now.Name)
		switch {
		case now.failure != nil:
			leave(now, now.failure.verdict(), now.failure.Error())
		case !both && now.Name != "" && now.State != slice.Skipped && !p.new:
			added = append(added, now)
		case !both:
			leave(now, report.Unjudged, "is new: the base does not have it")
		case was.State == slice.Failed && p.new:
			leave(was, report.Unjudged, "is new: it fails at the base")
		case was.State == slice.Failed:
			leave(was, report.Unjudged, "fails at the base")
		case now.State == slice.Skipped:
			leave(now, report.Unjudged, "is skipped at the head")
		case was.State == slice.Skipped:
			leave(now, report.Unjudged, "is skipped at the base")
		default:
			list = append(list, m.newTrial(p, now.Name, [2]slice.Record{was.Record, now.Record}))
		}
	}
	for _, was := range sides[base] {
		if _, gone := old[was.Name]; gone {
			switch {
			case was.State == slice.Failed:
				leave(was, report.Unjudged, "fails at the base")
			case failedAbove(sides[head], was.Name) != "":
				leave(was, report.Unjudged, failedAbove(sides[head], was.Name)+" fails at the head")
			default:
				leave(was, report.Unjudged, "is gone: the head does not have it")
			}
		}
	}
	return list, added
}

// failedAbove is the failed benchmark that a sub-benchmark is of, and which may not have come to it; "" if there is none.
func failedAbove(list []found, name string) string {
	for _, f := range list {
		if f.State == slice.Failed && strings.HasPrefix(name, f.Name+"/") {
			return f.Name
		}
	}
	return ""
}

// wholeOnly are the failures of the process itself, where there are any: each of its benchmarks fails with
// it, and is not counted once more.
func wholeOnly(sides [2][]found) (whole [2][]found) {
	is := func(f found) bool { return f.Name == "" }
	if !slices.ContainsFunc(sides[base], is) && !slices.ContainsFunc(sides[head], is) {
		return sides
	}
	for i, list := range sides {
		for _, f := range list {
			if is(f) {
				whole[i] = append(whole[i], f)
			}
		}
	}
	return whole
}

// exactly is the pattern of go test for one benchmark.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

func (m *comparison) records() string { return filepath.Join(m.temp, "records") }

// same are the packages that need not be measured: their test binaries have the same code and data, and
// what has changed in the repository is nothing that they run or read.
func (m *comparison) same(ctx context.Context) (map[string]bool, error) {
	if m.Same || m.changed.data {
		return nil, nil
	}
	same := map[string]bool{}
	for _, p := range m.bins {
		if binary.SameCode(p.bins[base].Path, p.bins[head].Path) {
			same[p.path] = true
		}
	}
	if len(same) == 0 || !m.changed.code {
		return same, nil
	}
	readers, err := m.sides[head].builder.Readers(ctx, slices.Sorted(maps.Keys(same)))
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(same, func(path string, _ bool) bool { return readers[path] })
	return same, nil
}

// Differences are of files between the two sides: data, which any benchmark may read, or code and documentation,
// which are known to be in a binary or not. Documentation may be embedded, but no command runs it. Comments are none.
type differences struct{ data, code, docs bool }

func (m *comparison) readChanges(ctx context.Context) error {
	changes, err := m.repo.Changes(ctx, m.from)
	for _, name := range changes {
		switch ext := filepath.Ext(name); {
		case strings.Contains("/"+name, "/testdata/"):
			m.changed.data = true
		case ext == ".go" && m.sameSource(name):
		case ext == ".md":
			m.changed.docs = true
		case ext == ".go", ext == ".mod", ext == ".sum", ext == ".work":
			m.changed.code = true
		default:
			m.changed.data = true
		}
	}
	return err
}

// sameSource reports whether a Go file of the repository is the same on both sides, but for comments.
func (m *comparison) sameSource(name string) bool {
	before, errBefore := os.ReadFile(filepath.Join(m.sides[base].root, filepath.FromSlash(name)))
	now, errNow := os.ReadFile(filepath.Join(m.sides[head].root, filepath.FromSlash(name)))
	return errBefore == nil && errNow == nil && binary.SameSource(before, now)
}
