package compare

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/compare/slice"
)

const (
	// sliceCPU is how much CPU time a slice measures, at least. Shorter ones spend their time on
	// starting, and in longer ones the machine changes.
	sliceCPU = 100 * time.Millisecond

	// longestSlice is the wall time of a slice, for benchmarks that wait, or stop their timer for long.
	longestSlice = 2 * time.Second

	// calibration is how long a benchmark runs to find the number of iterations of a slice.
	calibration = "20ms"

	// mostCalls are the iterations of a slice of a benchmark that costs nothing.
	mostCalls = 1e9

	timeEach, timeAll = 2 * time.Minute, 30 * time.Minute // by default
)

// measure runs pairs of slices of all benchmarks until each is decided, or the time is up, but for what
// profiles take.
func (m *comparison) measure(ctx context.Context, list []*trial) ([]*trial, error) {
	limit := m.Time
	if limit == 0 {
		limit = min(time.Duration(len(list))*timeEach, timeAll)
	}
	m.deadline = time.Now().Add(limit)
	timed, cancel := context.WithDeadline(ctx, m.deadline)
	defer cancel()
	m.tune(list)
	var err error
	open := slices.Clone(list)
	pairs := 0
	measured := m.deadline // what comes after is for profiles
	for len(open) > 0 && time.Now().Before(measured) && timed.Err() == nil && err == nil {
		rand.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
		slices.SortStableFunc(open, func(a, b *trial) int { return cmp.Compare(b.seemsDearer(), a.seemsDearer()) })
		for _, t := range open {
			seems := t.seemsDearer() > 0
			for n := 0; n == 0 || seems && n < mostTurns && t.seemsDearer() > 0; n++ {
				if !time.Now().Before(measured) || t.decided() {
					break
				}
				m.say(Progress{Doing: "measuring", Decided: len(list) - len(open), All: len(list), Pairs: pairs, Left: time.Until(m.deadline)})
				if err = m.pair(timed, t); err != nil {
					break
				}
				pairs++
			}
			if err != nil {
				break
			}
		}
		open = slices.DeleteFunc(open, (*trial).decided)
		measured = m.deadline.Add(-m.reserve(list, limit))
	}
	if m.report.TimeIsUp = len(open) > 0 && ctx.Err() == nil; m.report.TimeIsUp {
		m.report.Needs = needs(open, limit)
	}
	for _, t := range list {
		m.report.Benchmarks = append(m.report.Benchmarks, t.close())
	}
	if timed.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		err = nil
	}
	return list, err
}

// needs is the time after which each benchmark has the pairs that a verdict takes, in whole minutes; 0 if each has them.
func needs(open []*trial, limit time.Duration) time.Duration {
	missing := time.Duration(0)
	for _, t := range open {
		missing += time.Duration(max(leastPairs-t.pairs, 0)) * t.pairTime()
	}
	if missing == 0 {
		return 0
	}
	return (limit + missing + time.Minute).Truncate(time.Minute)
}

// pair runs a benchmark for one slice on each side.
func (m *comparison) pair(ctx context.Context, t *trial) error {
	begin := time.Now()
	defer func() { t.took += time.Since(begin) }()
	if t.n == 0 {
		if err := m.calibrate(ctx, t); err != nil {
			return m.fail(ctx, t, err, calibration)
		}
	}
	var got [2]slice.Record
	first := rand.IntN(2)
	for _, side := range [...]int{first, 1 - first} {
		r, all, err := m.run1(ctx, t, side, strconv.Itoa(t.n)+"x")
		if err != nil {
			return m.fail(ctx, t, err, strconv.Itoa(t.n)+"x")
		}
		got[side] = r
		t.walls[side] = append(t.walls[side], all.Wall.Seconds())
	}
	t.add(got)
	if n := t.longer(cmp.Or(m.slice, sliceCPU)); n > 0 && t.restarts < mostRestarts {
		t.restart(n)
	}
	return nil
}

// fail ends the trial of a benchmark that fails, once it is known on which side. Other errors are
// returned.
func (m *comparison) fail(ctx context.Context, t *trial, err error, benchtime string) error {
	var f *failure
	if !errors.As(err, &f) {
		return err
	}
	t.failure, t.benchtime = f, benchtime
	return f.confirm(func(side int) error {
		_, _, err := m.run1(ctx, t, side, benchtime)
		return err
	})
}

// run1 runs a benchmark on one side, and returns its last record.
func (m *comparison) run1(ctx context.Context, t *trial, side int, benchtime string, more ...string) (slice.Record, slice.Result, error) {
	r, err := t.pkg.bins[side].Run(ctx, m.records(), exactly(t.name), benchtime, more...)
	if err != nil {
		return slice.Record{}, r, err
	}
	for _, record := range r.Records {
		if record.Name == t.name && (record.State == slice.Ran || record.State == slice.Works) && record.N > 0 && r.Err == nil {
			return record, r, nil
		}
	}
	return slice.Record{}, r, &failure{side: side, output: r.Output}
}

// calibrate chooses the number of iterations of a slice, the same for both sides. One run tells it, so
// where the machine stalled meanwhile there are too few: see [trial.longer].
func (m *comparison) calibrate(ctx context.Context, t *trial) error {
	cpu, most := 1e-10, mostCalls // seconds of an iteration, and the most iterations
	for side, r := range t.once {
		if r.Wall < sliceCPU/2 { // the first iteration tells little
			run, all, err := m.run1(ctx, t, side, calibration)
			if err != nil {
				return err
			}
			if run.State == slice.Works {
				if run, all, err = m.run1(ctx, t, side, "100x"); err != nil {
					return err
				}
			}
			r, r.Wall = run, all.Wall
		}
		most = min(most, float64(r.N)*longestSlice.Seconds()/max(r.Wall.Seconds(), 1e-9))
		cpu = max(cpu, r.CPU.Seconds()/float64(r.N))
	}
	t.n = int(max(1, min(most, math.Round(cmp.Or(m.slice, sliceCPU).Seconds()/cpu))))
	return nil
}

// tune sets what decides: the error is shared by all benchmarks.
func (m *comparison) tune(list []*trial) {
	for _, t := range list {
		t.judges(m.Budgets, falseFailures/float64(len(list)))
	}
}

// falseFailures is the chance of any false failure in one comparison, of all benchmarks together.
const falseFailures = 1e-3

// load is that of the machine over the last minute, "" if it is not known.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
