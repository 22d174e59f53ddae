package compare

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/compare/binary"
	"github.com/profguard/profguard/internal/compare/report"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/unit"
)

const (
	// explained is how many benchmarks get profiles: those that have grown most.
	explained = 5

	// windows is how many profiles a side gets, in turns with the other.
	windows = 4

	// The CPU time of a side's profiles: a growth of 10% takes more samples to find than one of 50%.
	leastProfiled, mostProfiled = 3 * time.Second, 12 * time.Second
)

// A profiled side is the profiles of one side of a benchmark, added up.
type profiled struct {
	table *decode.Table
	parts []window
	path  string // where it is kept
}

// A window is one profile.
type window struct {
	samples      int64
	calls        int
	cpu, elapsed time.Duration
}

// sampled is the part of the clock's CPU time that the profiles have: children are not in them.
func (p *profiled) sampled() float64 {
	clock := time.Duration(0)
	for _, w := range p.parts {
		clock += w.cpu
	}
	return float64(p.table.Count()*p.table.Period) / max(float64(clock), 1)
}

// explain profiles both sides of the benchmarks that fail, and says which functions cost more.
func (m *comparison) explain(ctx context.Context, list []*trial) {
	broken := slices.DeleteFunc(slices.Clone(list), func(t *trial) bool { return t.failure != nil || !t.breaks() })
	slices.SortStableFunc(broken, func(a, b *trial) int { return cmp.Compare(b.cpu.all.Value(), a.cpu.all.Value()) })
	if more := len(broken) - explained; more > 0 {
		m.note("%d more benchmarks fail than are profiled: say -bench with one of them to see which functions it is", more)
	}
	for _, t := range broken[:min(len(broken), explained)] {
		if ctx.Err() != nil {
			return
		}
		m.say(Progress{Doing: "profiling " + t.name})
		why, err := m.why(ctx, t)
		if err != nil {
			why = &report.Why{Note: "no profile: " + err.Error()}
		}
		for i := range m.report.Benchmarks {
			if b := &m.report.Benchmarks[i]; b.Package == t.pkg.path && b.Name == t.name {
				b.Why = why
			}
		}
	}
}

// breaks reports whether the benchmark breaks a budget.
func (t *trial) breaks() bool { return t.grows(t.costs()...) }

// grows reports whether one of the costs breaks a budget.
func (t *trial) grows(costs ...*cost) bool {
	for _, c := range costs {
		for i, g := range t.budgets {
			if c.verdict(i, g.Limit, true) == evidence.Fail {
				return true
			}
		}
	}
	return false
}

// why takes the profiles that tell most: of CPU time where that grew, or else of allocations.
func (m *comparison) why(ctx context.Context, t *trial) (*report.Why, error) {
	if t.grows(&t.cpu) {
		sides, err := m.profileCPU(ctx, t)
		if err != nil {
			return nil, err
		}
		why, err := m.functions(ctx, t, sides)
		if err != nil {
			return nil, err
		}
		why.Command = command("", sides)
		return why, nil
	}
	sides, err := m.profileAllocs(ctx, t)
	if err != nil {
		return nil, err
	}
	why := m.allocations(t, sides)
	why.Command = command("-sample_index=alloc_space ", sides)
	return why, nil
}

func command(flags string, sides [2]*profiled) string {
	return fmt.Sprintf("go tool pprof %s-diff_base %s %s", flags, sides[base].path, sides[head].path)
}

// profileCPU profiles both sides in turns.
func (m *comparison) profileCPU(ctx context.Context, t *trial) (sides [2]*profiled, err error) {
	growth := max(t.cpu.all.Value(), 0.01)
	total := min(max(time.Duration(0.03/growth/growth*float64(time.Second)), leastProfiled), mostProfiled)
	if m.slice > 0 {
		total = windows * 10 * m.slice
	}
	each := total.Seconds() / windows
	calls := max(1, int(each/max(median(t.cpu.each[base]), 1e-10)))
	var sums [2]decode.Merger
	for i := range sides {
		sides[i] = &profiled{}
	}
	file := filepath.Join(m.temp, "profile")
	for i := range windows {
		for k := range 2 {
			side := (i + k) % 2
			begin := time.Now()
			record, _, err := m.run1(ctx, t, side, strconv.Itoa(calls)+"x", "cpuprofile="+file)
			if err != nil {
				return sides, err
			}
			table, err := read(file)
			if err != nil {
				return sides, err
			}
			if err := sums[side].Add(table); err != nil {
				return sides, err
			}
			sides[side].parts = append(sides[side].parts, window{table.Count(), record.N, record.CPU, time.Since(begin)})
		}
	}
	for i := range sides {
		sides[i].table = sums[i].Table()
	}
	return sides, m.keep(t, sides, "cpu")
}

// profileAllocs profiles each allocation of one run of both sides.
func (m *comparison) profileAllocs(ctx context.Context, t *trial) (sides [2]*profiled, err error) {
	file := filepath.Join(m.temp, "profile")
	calls := min(t.n, 10_000) // each takes a microsecond more
	for i := range sides {
		record, _, err := m.run1(ctx, t, i, strconv.Itoa(calls)+"x", "memprofile="+file, "memprofilerate=1")
		if err != nil {
			return sides, err
		}
		table, err := read(file)
		if err != nil {
			return sides, err
		}
		sides[i] = &profiled{table: table, parts: []window{{calls: record.N}}}
	}
	return sides, m.keep(t, sides, "allocs")
}

func read(path string) (*decode.Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return new(decode.Decoder).Decode(f)
}

// keep writes the profiles of both sides where they stay.
func (m *comparison) keep(t *trial, sides [2]*profiled, kind string) error {
	dir := m.Profiles
	if dir == "" {
		dir = filepath.Join(binary.Cache(), "profiles-"+m.begin.Format("20060102-150405"))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	name := strings.Map(func(c rune) rune {
		if strings.ContainsRune("-_.", c) || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '-'
	}, strings.TrimPrefix(t.pkg.path, m.head.builder.Module+"/")+"."+t.name)
	if m.names[name]++; m.names[name] > 1 { // a/b and a-b have the same
		name += "." + strconv.Itoa(m.names[name])
	}
	for i, s := range sides {
		s.path = filepath.Join(dir, fmt.Sprintf("%s.%s.%s.pb.gz", name, [...]string{"base", "head"}[i], kind))
		if err := os.WriteFile(s.path, decode.Source{Made: s.table}.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// functions says which functions cost more CPU time a call, by the rules for releases: cost that
// only moved is told as moved. What is likely is told too, because that there is growth is proven.
func (m *comparison) functions(ctx context.Context, t *trial, sides [2]*profiled) (*report.Why, error) {
	var compared [2]*release.Side
	for i, s := range sides {
		compared[i] = &release.Side{Table: s.table, Module: m.head.builder.Module}
		for _, w := range s.parts {
			compared[i].Windows = append(compared[i].Windows, release.Window{
				Samples: float64(w.samples), CPU: w.cpu.Seconds(), Elapsed: w.elapsed.Seconds(), Work: map[string]float64{unitOfWork: float64(w.calls)},
			})
		}
	}
	growth := t.cpu.all.Value()
	if part := 1 - sides[head].sampled(); part > 0.5 {
		return &report.Why{Note: fmt.Sprintf("%.0f%% of the CPU time is in child processes, which have no profile", 100*part)}, nil
	}
	result, err := release.Compare(ctx, compared[base], compared[head], release.Options{Per: unitOfWork, Limit: growth / 4})
	if err != nil {
		return nil, err
	}
	why := &report.Why{}
	if result.Why != "" {
		why.Note = result.Why
		return why, nil
	}
	var surely, likely, moved []release.Function
	for _, f := range result.Functions {
		switch {
		case f.Status == release.Moved:
			moved = append(moved, f)
		case f.Points.Low > 0:
			surely = append(surely, f)
		case f.Points.Value >= growth/likelyPart:
			likely = append(likely, f)
		}
	}
	named := surely
	if len(named) == 0 && len(likely) > 0 {
		slices.SortStableFunc(likely, func(a, b release.Function) int { return cmp.Compare(b.Points.Value, a.Points.Value) })
		named = likely[:min(len(likely), mostLikely)]
		why.Note = fmt.Sprintf("%d samples of the base and %d of the head prove no single function; these seem to cost more", sides[base].table.Count(), sides[head].table.Count())
	}
	for _, f := range named[:min(len(named), mostRows)] {
		at := f.Blame
		if at.File == "" {
			at = f.Line
		}
		file := m.inRepository(at.File)
		if why.File == "" && m.isOurs(at.File) {
			why.File, why.Line = file, at.Line
		}
		text := fmt.Sprintf("%s costs %s a call, %s before: %+.1f points", f.Name, unit.Format(f.Now, unit.Time), unit.Format(f.Before, unit.Time), 100*f.Points.Value)
		if f.New {
			text = fmt.Sprintf("%s is new and costs %s a call: %+.1f points", f.Name, unit.Format(f.Now, unit.Time), 100*f.Points.Value)
		}
		if f.Points.Low > 0 {
			text += fmt.Sprintf(" (at least %+.1f)", 100*f.Points.Low)
		}
		if f.Moved > 0 {
			text += fmt.Sprintf(", beside %.1f that moved from %s", 100*f.Moved, cmp.Or(strings.Join(f.From, ", "), "others"))
		}
		if at.Line > 0 {
			text += fmt.Sprintf(", %s:%d", file, at.Line)
		}
		why.Rows = append(why.Rows, report.Row{Function: f.Name, Text: text})
	}
	for _, f := range moved[:min(len(moved), mostRows)] {
		text := fmt.Sprintf("moved: %s has %+.1f points more, and what calls it does not", f.Name, 100*f.Points.Value)
		if len(f.From) > 0 {
			text += "; the cost was in " + strings.Join(f.From, ", ")
		}
		why.Rows = append(why.Rows, report.Row{Function: f.Name, Text: text})
	}
	if len(why.Rows) == 0 && why.Note == "" {
		why.Note = "no function stands out: the cost may be spread over many, or come from how the code is laid out in memory"
	}
	return why, nil
}

// Without proof, functions with at least a fifth of the growth are named, three at most.
const likelyPart, mostLikely = 5, 3

// unitOfWork is what the costs of functions are divided by.
const unitOfWork = "call"
