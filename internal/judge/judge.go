// Package judge compares profiles with rules, which are budgets without their words,
// and returns what it finds as values: a profile by itself ([Judge]), window after
// window of one process ([Watch]), and a test's blocks ([Blocks]). How a finding is
// said is for package budget.
package judge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/pattern"
)

// Facts are what is known about a window beyond its profile. Every field may be
// left out: a rule that needs it is inconclusive then. The first half is documented
// at budget.Facts.
type Facts struct {
	Kind          string
	MutexFraction int
	Elapsed       time.Duration
	Figures       map[string]float64
	Work          map[string]float64
	Module        string
	Baseline      *decode.Table // which lasts as long as the judge
	BaselineWork  map[string]float64

	// NoFigures says why Figures lacks one: {"gc": "no collection has ended"}.
	NoFigures map[string]string

	// NoWork says why Work lacks a unit that somebody does count: {"request": "its
	// counter went back"}.
	NoWork map[string]string

	// NotLinked are the patterns known to match no function of the program. A rule
	// about one of them can tell nothing, unless it says "absent".
	NotLinked []string
}

// A Judge judges profile after profile by one set of rules. It remembers what it
// found out about each function name, and reuses its memory, so that from the second
// profile of a program on almost nothing is allocated.
// It is not safe for concurrent use.
type Judge struct {
	rules   []rule
	names   *charge.Names
	counter charge.Counter
	decoder decode.Decoder
	layout  *charge.Layout
	base    baseline

	findings []Finding // reused, as is over
	over     []int32
}

// New returns a judge for the rules, in whose order the findings come.
func New(rules []Rule) (*Judge, error) {
	compiled, c, err := compile(rules)
	if err != nil {
		return nil, err
	}
	index := pattern.NewIndex(c.patterns)
	counter := func() charge.Counter {
		return charge.Counter{Names: charge.NewNames(index), Where: c.where, Patterns: len(c.patterns), Excepts: c.excepts}
	}
	j := &Judge{rules: compiled, counter: counter(), base: baseline{counter: counter()}}
	j.names = j.counter.Names
	return j, nil
}

// Reader judges a profile in pprof's format, gzipped or not.
func (j *Judge) Reader(r io.Reader, facts Facts) ([]Finding, error) {
	t, err := j.decoder.Decode(r)
	if err != nil {
		return nil, err
	}
	return j.Table(context.Background(), t, facts)
}

// Profile judges a parsed profile.
func (j *Judge) Profile(p *profile.Profile, facts Facts) ([]Finding, error) {
	t, err := j.decoder.Profile(p)
	if err != nil {
		return nil, err
	}
	return j.Table(context.Background(), t, facts)
}

// Table judges a profile that has been decoded. The context ends the work on it. The
// findings are good until the next profile.
func (j *Judge) Table(ctx context.Context, t *decode.Table, facts Facts) ([]Finding, error) {
	_, findings, err := j.table(ctx, t, facts)
	return findings, err
}

// table judges a window, which it returns too: it is still open to questions.
func (j *Judge) table(ctx context.Context, t *decode.Table, facts Facts) (*window, []Finding, error) {
	w, err := j.open(ctx, t, facts)
	if err != nil {
		return nil, nil, err
	}
	if j.findings == nil {
		j.findings = make([]Finding, len(j.rules))
	}
	findings := j.findings
	clear(findings)
	for i := range j.rules {
		if ctx.Err() != nil {
			return nil, nil, fmt.Errorf("judge the profile: %w", context.Cause(ctx))
		}
		w.judge(&j.rules[i], &findings[i])
	}
	return w, findings, nil
}

// open counts the window.
func (j *Judge) open(ctx context.Context, t *decode.Table, facts Facts) (*window, error) {
	w := &window{judged: j, t: t, facts: facts}
	if !j.layout.Fits(t, facts.Kind) {
		j.plan(charge.LayoutOf(t, facts.Kind))
	}
	j.counter.Module = facts.Module
	if err := j.base.set(ctx, &facts, j); err != nil {
		return nil, err
	}
	if err := j.names.Learn(ctx, t); err != nil {
		return nil, err
	}
	j.counter.Multiple = j.layout.Multiple(t, facts.MutexFraction)
	if err := count(&j.counter, t); err != nil {
		return nil, fmt.Errorf("judge the profile: %w", err)
	}
	w.elapsed = facts.Elapsed.Seconds()
	if w.elapsed <= 0 {
		w.elapsed = float64(t.DurationNanos) * 1e-9
	}
	return w, nil
}

// plan asks the queries that the rules need of profiles with the layout.
func (j *Judge) plan(l *charge.Layout) {
	j.layout = l
	j.base.table = nil
	for _, c := range [...]*charge.Counter{&j.base.counter, &j.counter} { // which give equal questions equal numbers
		c.Forget()
		for i := range j.rules {
			j.rules[i].ask(c, l)
		}
	}
}

// maxVisits is how often frames are looked at, once for each query. Each look takes
// about 8 ns, so this is under a second. 200,000 frames, which is a minute of a large
// service with labels, leave room for 500 queries.
const maxVisits = 100_000_000

// count asks a counter's queries of a profile, within limits. A query is a part of the
// profile that budgets ask about: all budgets without "in" and "where" have three or four
// in common. A pattern that matches a frame counts as well, and where there are conditions
// on labels, so does each label twice.
func count(c *charge.Counter, t *decode.Table) error {
	const remedy = "take a profile of a shorter time, or fewer budgets with an in, where or except of their own"
	looks, parts := t.Frames, int64(c.Len()+c.Names.MostMatches())
	what := fmt.Sprintf("%d frames", t.Frames)
	if len(c.Where) > 0 {
		looks += 2 * int64(len(t.Labels))
		what += fmt.Sprintf(" and %d labels", len(t.Labels))
	}
	if looks*parts > maxVisits {
		return fmt.Errorf("%s times %d parts that the budgets ask about, at most %d together: "+remedy, what, parts, maxVisits)
	}
	if c.Open(t); c.Full() {
		return errors.New("the budgets ask for more than 300,000 sums of it, one for each name and part: " + remedy)
	}
	return nil
}

// baseline is the profile that "grows" budgets compare with, counted by the
// same queries. It has names and numbers of its own: it is counted once, while
// those of the windows may start anew.
type baseline struct {
	counter charge.Counter
	table   *decode.Table // that has been counted
	problem Reason        // why it cannot be compared with
}

// set counts the baseline, unless it has been.
func (b *baseline) set(ctx context.Context, facts *Facts, j *Judge) error {
	base := facts.Baseline
	switch {
	case base == nil:
		b.table, b.problem = nil, NoBaseline{}
		return nil
	case base == b.table && b.counter.Module == facts.Module: // whose a package is decides what it is charged with
		return nil
	}
	b.table, b.problem, b.counter.Module = base, nil, facts.Module
	if l := charge.LayoutOf(base, facts.Kind); !j.layout.Fits(base, facts.Kind) {
		b.problem = OtherBaseline{l, j.layout}
		return nil
	}
	err := b.counter.Names.Learn(ctx, base)
	if err == nil {
		err = count(&b.counter, base)
		b.counter.Close()
	}
	if err != nil {
		b.table = nil // what is counted is not all
		return fmt.Errorf("baseline: %w", err)
	}
	return nil
}
