package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/compare/binary"
	"github.com/profguard/profguard/internal/compare/growth"
	"github.com/profguard/profguard/internal/compare/report"
	"github.com/profguard/profguard/internal/compare/slice"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/release"
)

const (
	// explained is how many benchmarks get profiles: those that have grown most.
	explained = 5

	// windows is how many profiles a side gets, in turns with the other.
	windows = 4

	// mostWindows is how many it gets as long as they prove nothing and there is time.
	mostWindows = 4 * windows

	// The CPU time of a side's profiles: a growth of 10% takes more samples to find than one of 50%.
	leastProfiled, mostProfiled = 3 * time.Second, 12 * time.Second
)

// A profiled side is the profiles of one side of a benchmark, added up.
type profiled struct {
	table *decode.Table
	side  release.Side  // of profiles of CPU, each of which is a piece
	clock time.Duration // CPU time of the calls
	calls int           // in it
	path  string        // where it is kept
	detail
}

// sampled is the part of the clock's CPU time that the profiles have: children are not in them.
func (p *profiled) sampled() float64 {
	return float64(p.table.Count()*p.table.Period) / max(float64(p.clock), 1)
}

// explain profiles both sides of the benchmarks that fail, and says which functions cost more.
func (m *comparison) explain(ctx context.Context, list []*trial) {
	broken := m.mostGrown(list)
	if len(broken) > 0 {
		m.edits = m.edited(ctx)
	}
	for i, t := range broken {
		if ctx.Err() != nil {
			return
		}
		t.until = time.Now().Add(time.Until(m.deadline) / time.Duration(len(broken)-i))
		m.say(Progress{Doing: "profiling " + t.name})
		why, err := m.why(ctx, t)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			why = &report.Why{Note: timeIsUp}
		case err != nil:
			why = &report.Why{Note: "no profile: " + err.Error()}
		}
		if at := m.edits.rewritten(path.Dir(m.inRepository(t.pkg.path+"/x")), t.name); at != "" && !t.pkg.new {
			why.Add(&report.Why{Note: "the benchmark itself is changed, " + at + ": it may do more than before"})
		}
		m.tell(t, why)
	}
}

// mostGrown are those of the benchmarks that fail which get profiles. Of the others the report says how to get one.
func (m *comparison) mostGrown(list []*trial) []*trial {
	broken := slices.DeleteFunc(slices.Clone(list), func(t *trial) bool { return t.failure != nil || !t.breaks() })
	slices.SortStableFunc(broken, func(a, b *trial) int { return cmp.Compare(b.cpu.all.Value(), a.cpu.all.Value()) })
	for len(broken) > explained {
		last := len(broken) - 1
		m.tell(broken[last], &report.Why{Note: fmt.Sprintf("not profiled: only the %d benchmarks that grew most are; -bench with this one names the functions", explained)})
		broken = broken[:last]
	}
	return broken
}

// tell puts into the report what is known of a benchmark that fails.
func (m *comparison) tell(t *trial, why *report.Why) {
	for i := range m.report.Benchmarks {
		if b := &m.report.Benchmarks[i]; b.Package == t.pkg.path && b.Name == t.name {
			b.Why = why
		}
	}
}

// breaks reports whether the benchmark breaks a budget.
func (t *trial) breaks() bool { return t.is(evidence.Fail, true, t.costs()...) }

// why takes the profiles that tell: of CPU time where that breaks a budget, and of allocations where these
// have grown. Those of allocations take a moment, so they come first, and are told last.
func (m *comparison) why(ctx context.Context, t *trial) (*report.Why, error) {
	allocs, why := &report.Why{}, &report.Why{}
	cpu := t.is(evidence.Fail, true, &t.cpu)
	if t.allocatesMore() {
		sides, err := m.profileAllocs(ctx, t)
		switch {
		case err == nil:
			compiled := &escapes{comparison: m, known: map[string][2]map[int][]string{}}
			allocs = m.allocations(t, sides, func(file string, line int) string { return compiled.now(ctx, file, line) })
			allocs.Note = cmp.Or(sides[head].detail.note(), allocs.Note)
			allocs.Command = command("-sample_index=alloc_space ", sides)
		case !cpu || ctx.Err() != nil:
			return nil, err
		default:
			allocs.Note = "no profile of allocations: " + err.Error()
		}
	}
	if cpu {
		sides, found, err := m.profileCPU(ctx, t)
		switch {
		case err == nil:
			why = m.functions(t, sides, found)
			why.Command = command("", sides)
		case len(allocs.Rows) > 0 && errors.Is(err, context.DeadlineExceeded): // where it allocates more is known
			why.Note = noTimeForCPU
		default:
			return nil, err
		}
	}
	why.Add(allocs)
	return why, nil
}

func command(flags string, sides [2]*profiled) string {
	return fmt.Sprintf("go tool pprof %s-diff_base %s %s", flags, sides[base].path, sides[head].path)
}

// profileCPU profiles both sides in turns, until it is proven which functions it was, or the time is up.
func (m *comparison) profileCPU(ctx context.Context, t *trial) (sides [2]*profiled, found growth.Result, err error) {
	ctx, cancel := context.WithDeadline(ctx, t.until)
	defer cancel()
	calls := t.profileCalls(m.profiledCPU(t).Seconds() / windows)
	var sums [2]decode.Merger
	for i := range sides {
		sides[i] = &profiled{}
	}
	looked := int64(0)
	for i := range mostWindows {
		err := m.profilePair(ctx, t, calls, i, &sums, &sides)
		if i > 0 && errors.Is(err, context.DeadlineExceeded) {
			break
		}
		if err != nil {
			return sides, found, err
		}
		n := int64(0)
		for i := range sides {
			sides[i].table = sums[i].Table()
			n += sides[i].table.Count()
		}
		if i+1 >= windows && 4*n >= 5*looked { // looks cost, also evidence
			looked = n
			if found, err = m.find(ctx, t, sides); err != nil || found.Done || sides[head].sampled() < 0.5 {
				break
			}
		}
	}
	if found, err = m.find(ctx, t, sides); err != nil {
		return sides, found, err
	}
	return sides, found, m.keep(t, sides, "cpu")
}

// profilePair adds a profile of each side.
func (m *comparison) profilePair(ctx context.Context, t *trial, calls [2]int, first int, sums *[2]decode.Merger, sides *[2]*profiled) error {
	for k := range 2 {
		side := (first + k) % 2
		record, table, err := m.profile(ctx, t, side, calls[side], "cpuprofile")
		if err != nil {
			return err
		}
		if err := sums[side].Add(table); err != nil {
			return err
		}
		sides[side].clock, sides[side].calls = sides[side].clock+record.CPU, sides[side].calls+record.N
		// What pairs say of a call is better known than what it took here.
		beside := max(1, release.SampledCPU(table)/max(record.CPU.Seconds(), 1e-9))
		if err := growth.Add(ctx, &sides[side].side, m.sides[head].builder.Module, table, t.callCPU(side)*beside*float64(record.N), float64(record.N)); err != nil {
			return err
		}
	}
	return nil
}

// allocCalls is how many calls a profile of allocations has. To record one takes 5 microseconds (measured in
// a benchmark with 182 a call), so these take a second, or are 100 calls.
func (t *trial) allocCalls() int {
	const most, recorded, least = 10_000, 200_000, 100
	each := max(median(t.allocs.each[base]), median(t.allocs.each[head]), 1)
	return min(t.n, most, max(int(recorded/each), least))
}

// profileAllocs profiles each allocation of one run of both sides, or fewer if these are too many.
func (m *comparison) profileAllocs(ctx context.Context, t *trial) (sides [2]*profiled, err error) {
	ctx, cancel := context.WithDeadline(ctx, t.until)
	defer cancel()
	calls := t.allocCalls()
	err = inDetail(func(d detail) error {
		cut := *t
		cut.pkg = d.with(t.pkg)
		for i := range sides {
			record, table, err := m.profile(ctx, &cut, i, calls, "memprofile", "memprofilerate="+strconv.Itoa(d.rate))
			if err != nil {
				return err
			}
			sides[i] = &profiled{table: table, calls: record.N, detail: d}
		}
		return nil
	})
	if err != nil {
		return sides, err
	}
	return sides, m.keep(t, sides, "allocs")
}

// profile runs one side with a flag that writes a profile, and reads that.
func (m *comparison) profile(ctx context.Context, t *trial, side, calls int, writes string, more ...string) (r slice.Record, of *decode.Table, err error) {
	file := filepath.Join(m.temp, "profile")
	if r, _, err = m.run1(ctx, t, side, strconv.Itoa(calls)+"x", append(more, writes+"="+file)...); err != nil {
		return r, nil, err
	}
	f, err := os.Open(file)
	if err != nil {
		return r, nil, err
	}
	defer f.Close()
	of, err = new(decode.Decoder).Decode(f)
	return r, of, err
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
	}, strings.TrimPrefix(t.pkg.path, m.sides[head].builder.Module+"/")+"."+t.name)
	key := name + "." + kind
	if m.names[key]++; m.names[key] > 1 { // a/b and a-b have the same
		name += "." + strconv.Itoa(m.names[key])
	}
	for i, s := range sides {
		build := [...]string{"base", "head"}[i]
		s.path = filepath.Join(dir, fmt.Sprintf("%s.%s.%s.pb.gz", name, build, kind))
		if err := os.WriteFile(s.path, s.file(t.pkg.path, build, m.begin), 0o600); err != nil {
			return err
		}
	}
	return nil
}
