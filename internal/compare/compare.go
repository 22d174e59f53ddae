// Package compare measures the benchmarks of two revisions against each other, and says whether
// they cost more.
//
// The base is written into a folder of its own ([repo]). Both sides' test binaries have a clock of
// CPU time in package testing ([binary]). Benchmarks are run in short slices, each in a process of
// its own ([slice]), base and head in turns and in random order, until the evidence of the pairs
// decides ([evidence.Paired]). Where a benchmark fails, profiles of both sides say which function it
// was. [report] writes the outcome.
package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/profguard/profguard/internal/compare/binary"
	"github.com/profguard/profguard/internal/compare/repo"
	"github.com/profguard/profguard/internal/compare/report"
	"github.com/profguard/profguard/internal/compare/slice"
	"github.com/profguard/profguard/internal/unit"
)

// A Config says what to compare.
type Config struct {
	Dir      string        // where the patterns are meant
	Base     string        // the revision
	Bench    string        // which benchmarks, as in go test -bench
	Patterns []string      // of packages, as in go test
	Budgets  []Growth      // at least one
	Time     time.Duration // for measuring and profiling; 0 for what they need, up to minutes for each
	Same     bool          // measure also what is the same on both sides
	Profiles string        // where profiles are kept; "" for the user's cache
	Progress func(Progress)

	slice time.Duration // another sliceCPU, for tests
}

// Progress is what a comparison does now.
type Progress struct {
	Doing        string
	Decided, All int // benchmarks
	Pairs        int
	Left         time.Duration // at most
}

// A comparison is one run.
type comparison struct {
	Config
	repo     *repo.Repo
	temp     string // removed at the end
	from     repo.Revision
	changed  differences
	edits    *edits // from it, once they are asked for
	sides    [2]side
	report   *report.Report
	bins     []*pkg
	begin    time.Time
	deadline time.Time      // of measuring and profiling
	roots    []root         // where files of the module are
	names    map[string]int // of kept profiles
}

// A root is the beginning of the paths of files, as profiles have it, and that below the repository.
type root struct{ from, to string }

// rootsOf are the roots of both sides, and of modules in the repository, those of a module inside another one first.
func rootsOf(head, base string, modules map[string]string) []root {
	roots := []root{{filepath.ToSlash(head) + "/", ""}, {filepath.ToSlash(base) + "/", ""}}
	for from, dir := range modules {
		folder, err := filepath.Rel(head, dir)
		if err != nil || !filepath.IsLocal(folder) {
			continue
		}
		if folder = filepath.ToSlash(folder) + "/"; folder == "./" {
			folder = ""
		}
		roots = append(roots, root{from, folder})
	}
	slices.SortFunc(roots, func(a, b root) int { return cmp.Or(len(b.from)-len(a.from), strings.Compare(a.from, b.from)) })
	return roots
}

// A side is the code before or after.
type side struct {
	root    string // of the repository, or of the base's files in comparison.temp
	dir     string // in it, where go runs
	builder *binary.Builder
}

// A pkg is a package whose benchmarks can be run on both sides.
type pkg struct {
	path string
	bins [2]slice.Binary // of the base and the head
	from [2]*binary.Package
	trim bool
	new  bool // its benchmarks are: the base is built with the head's test files
}

const base, head = 0, 1

// tempPrefix begins the name of the folder for all that is written.
const tempPrefix = "profguard-compare-"

// Run compares. Its errors are mistakes of the user or the machine. When ctx ends, it returns
// what is known.
func Run(ctx context.Context, c Config) (*report.Report, error) {
	begin := time.Now()
	if !binary.Supported {
		return nil, fmt.Errorf("expected Linux, macOS or another Unix, where processes report their CPU time, found %s", runtime.GOOS)
	}
	temp, err := os.MkdirTemp("", tempPrefix)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	if temp, err = filepath.EvalSymlinks(temp); err != nil {
		return nil, err
	}
	r := &report.Report{System: report.System{OS: runtime.GOOS, Arch: runtime.GOARCH, Procs: runtime.GOMAXPROCS(0)}}
	m := &comparison{Config: c, temp: temp, report: r, begin: begin, names: map[string]int{}}
	for _, b := range c.Budgets {
		r.Budgets = append(r.Budgets, b.Sentence)
	}
	err = m.run(ctx)
	r.Stopped = ctx.Err() != nil
	r.System.Load = load()
	r.Took = time.Since(begin)
	if errors.Is(err, context.Canceled) && r.Stopped {
		err = nil
	}
	return r, err
}

func (m *comparison) run(ctx context.Context) error {
	if err := m.open(ctx); err != nil {
		return err
	}
	if err := m.build(ctx); err != nil {
		return err
	}
	list, err := m.discover(ctx)
	if err != nil {
		return err
	}
	if paths := len(m.bins); paths > 0 && len(list)+len(m.report.Benchmarks)+len(m.report.Packages) == 0 && m.Bench != "." {
		return fmt.Errorf("-bench: expected a benchmark that matches %q, none in %s has run", m.Bench, unit.Plural(int64(paths), "package"))
	}
	m.noteNew(list)
	trials, err := m.measure(ctx, list)
	if err != nil {
		return err
	}
	m.explain(ctx, trials)
	slices.SortStableFunc(m.report.Benchmarks, func(a, b report.Benchmark) int { return cmp.Compare(a.Package, b.Package) })
	m.report.Shorten()
	m.tidyOutputs()
	return nil
}

func (m *comparison) say(p Progress) {
	if m.Progress != nil {
		m.Progress(p)
	}
}

// open finds the repository and the base, and writes the base's files.
func (m *comparison) open(ctx context.Context) (err error) {
	m.say(Progress{Doing: "reading the base"})
	b, h := &m.sides[base], &m.sides[head]
	if h.dir, err = filepath.Abs(m.Dir); err != nil {
		return err
	}
	if h.dir, err = filepath.EvalSymlinks(h.dir); err != nil {
		return err
	}
	if m.repo, err = repo.Open(ctx, h.dir); err != nil {
		return err
	}
	from, common, err := m.repo.Base(ctx, m.Base)
	if err != nil {
		return fmt.Errorf("-base: %w", err)
	}
	now, err := m.repo.Resolve(ctx, "HEAD")
	if err != nil {
		return err
	}
	modified, err := m.repo.Modified(ctx)
	if err != nil {
		return err
	}
	m.report.Base = report.Side{Name: m.Base, Revision: from.Short()}
	m.report.Head = report.Side{Revision: now.Short(), Modified: modified}
	if !common {
		m.note("%s and HEAD have no common commit here, so the newest of %s is the base: the difference includes changes that others made there", m.Base, m.Base)
	}
	if from.Hash == now.Hash && !modified && !m.Same {
		m.note("the base is HEAD, and nothing is changed: say -base with an earlier revision, or -same to see how much equal code seems to differ here")
	}
	h.root, b.root, m.from = m.repo.Root(), filepath.Join(m.temp, "base"), from
	if err := m.repo.Checkout(ctx, from, b.root); err != nil {
		return err
	}
	if err := m.readChanges(ctx); err != nil {
		return err
	}
	inside, err := filepath.Rel(h.root, h.dir)
	if err != nil {
		return err
	}
	b.dir = filepath.Join(b.root, inside)
	if h.builder, err = m.builder(ctx, "head", binary.Place{Dir: h.dir}); err != nil {
		if errors.Is(err, binary.ErrNoModule) {
			return m.noModule(ctx)
		}
		return err
	}
	m.report.Head.Go = h.builder.Go
	m.roots = rootsOf(h.root, b.root, h.builder.Folders)
	before := binary.Place{Dir: b.dir, Copy: b.root, Cache: binary.Cache(), Tree: from.Tree + inside}
	if work := h.builder.Work; work != "" && !m.repo.Has(ctx, work) {
		before.Work = work // one's own, around all revisions
	}
	b.builder, err = m.builder(ctx, "before", before)
	switch {
	case errors.Is(err, binary.ErrNoModule), errors.Is(err, os.ErrNotExist):
		m.note("the base has no module in this folder, so nothing can be compared")
		b.builder = nil
		return nil
	case err != nil:
		return fmt.Errorf("base: %w", err)
	}
	m.report.Base.Go = b.builder.Go
	if was, now := b.builder.Module, h.builder.Module; was != now {
		m.note("the module is %s at the base and %s now: packages are compared by their import paths", was, now)
	}
	if m.report.Base.Go != m.report.Head.Go {
		m.note("the base is built by %s and the head by %s: the difference includes what changed between these Go releases", m.report.Base.Go, m.report.Head.Go)
	}
	return nil
}

func (m *comparison) builder(ctx context.Context, name string, at binary.Place) (*binary.Builder, error) {
	if _, err := os.Stat(at.Dir); err != nil {
		return nil, err
	}
	at.Root, at.Out = m.sides[head].root, filepath.Join(m.temp, name+"-bin")
	if err := os.Mkdir(at.Out, 0o700); err != nil {
		return nil, err
	}
	return binary.New(ctx, at)
}

func (m *comparison) noModule(ctx context.Context) error {
	modules, err := m.repo.Modules(ctx)
	if err != nil {
		return err
	}
	if len(modules) == 0 {
		return fmt.Errorf("expected a Go module around %s, and the repository has no go.mod", m.sides[head].dir)
	}
	return fmt.Errorf("expected a Go module around %s; this repository has modules in %s: run the command there", m.sides[head].dir, strings.Join(modules, ", "))
}

func (m *comparison) note(format string, args ...any) {
	m.report.Notes = append(m.report.Notes, fmt.Sprintf(format, args...))
}

// build builds the test binaries of all packages with benchmarks, the two sides at the same time.
func (m *comparison) build(ctx context.Context) error {
	m.say(Progress{Doing: "listing packages"})
	now, err := m.sides[head].builder.Packages(ctx, m.Patterns)
	if err != nil {
		return err
	}
	var before []binary.Package
	if m.sides[base].builder != nil {
		if before, err = m.sides[base].builder.Packages(ctx, m.Patterns); err != nil {
			return fmt.Errorf("base: %w", err)
		}
	}
	if now, before, err = m.wanted(now, before); err != nil {
		return err
	}
	old := map[string]*binary.Package{}
	for i := range before {
		if before[i].Err == nil {
			old[before[i].Path] = &before[i]
		}
	}
	both := 0
	for i := range now {
		if old[now[i].Path] != nil {
			both++
		}
	}
	for i := range now {
		p := &now[i]
		was := old[p.Path]
		delete(old, p.Path)
		switch {
		case p.Err != nil && was == nil && len(now) == 1:
			return p.Err
		case p.Err != nil:
			m.leave(p.Path, report.Broken, "go list fails at the head", p.Err)
			continue
		case m.changed == differences{} && !m.Same:
			m.leaveSame(p.Path)
			continue
		}
		built := &pkg{path: p.Path, from: [2]*binary.Package{was, p}, trim: true}
		if was == nil {
			if built.from[base] = m.withTests(p); built.from[base] == nil {
				m.leave(p.Path, report.Unjudged, "its benchmarks are new: the base does not have the package", nil)
				continue
			}
			built.new = true
		}
		m.say(Progress{Doing: "building " + p.Path, All: both})
		errs := m.buildBoth(ctx, built)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errs[base] != nil && errs[head] != nil && !built.new:
			m.leave(p.Path, report.Unjudged, "does not compile, neither at the base nor at the head", errs[head])
		case errs[base] != nil && errs[head] == nil && built.new:
			m.leave(p.Path, report.Unjudged, "its benchmarks are new, and the head's test files do not compile at the base", errs[base])
		case errs[base] != nil && !built.new:
			m.leave(p.Path, report.Unjudged, "does not compile at the base", errs[base])
		case errs[head] != nil:
			m.leave(p.Path, report.Broken, "does not compile at the head", errs[head])
		default:
			m.bins = append(m.bins, built)
		}
	}
	for _, p := range before {
		if old[p.Path] != nil && p.Err == nil {
			m.leave(p.Path, report.Unjudged, "its benchmarks are gone: there are none at the head", nil)
		}
	}
	return nil
}

func (m *comparison) buildBoth(ctx context.Context, p *pkg) (errs [2]error) {
	var built sync.WaitGroup
	for i, s := range m.sides {
		built.Go(func() {
			p.bins[i].Dir, p.bins[i].Env = p.from[i].Dir, s.builder.Env()
			p.bins[i].Path, errs[i] = s.builder.Build(ctx, p.from[i], p.trim)
		})
	}
	built.Wait()
	return errs
}

// leaveSame reports a package that need not be measured.
func (m *comparison) leaveSame(path string) {
	m.leave(path, report.Kept, "the same code on both sides", nil)
}

// leave reports a package that is not measured.
func (m *comparison) leave(path string, v report.Verdict, reason string, err error) {
	p := report.Package{Path: path, Verdict: v, Reason: reason}
	if err != nil {
		p.Output = err.Error()
	}
	m.report.Packages = append(m.report.Packages, p)
}
