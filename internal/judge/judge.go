// Package judge compares profiles with rules, which are budgets without their words, and
// returns findings as values: of one profile ([Judge]), of window after window of one
// process ([Watch]), and of the blocks of a test ([Blocks]). Package budget puts findings
// into words.
package judge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/unit"
)

// Facts are what is known about a window beyond its profile. Every field is optional: a
// rule that needs a missing one is inconclusive. budget.Facts documents the fields up to
// BaselineWork.
type Facts struct {
	Kind          string
	MutexFraction int
	Waited        time.Duration // for locks, by all goroutines together, at least
	Elapsed       time.Duration
	Figures       map[string]float64
	Work          map[string]float64
	Module        string
	Modules       []string      // the paths of the program's other modules, where these are known
	Baseline      *decode.Table // valid as long as the judge is used; a Watch and Blocks have one for good
	BaselineWork  map[string]float64

	// Live says that the profile is of this process, so that its release of Go is known.
	Live bool

	// Periods is the number of a guard's periods that a difference of cumulative profiles
	// covers, for amounts that have no unit of work; 0 is one.
	Periods float64

	// NoFigures says why Figures lacks one: {"gc": "no collection has ended"}.
	NoFigures map[string]string

	// NoWork says why Work lacks a unit that has a counter: {"request": "its counter went
	// back"}.
	NoWork map[string]string

	// NotLinked are the patterns that are known to match no function of the program. A
	// rule about one of them is inconclusive, unless it says "absent".
	NotLinked []string
}

// A Judge judges profile after profile by one set of rules. It remembers what is known
// about each function name, and reuses its memory, so that from the second profile of a
// program on almost nothing is allocated.
// It is not safe for concurrent use.
type Judge struct {
	rules   []rule
	counter charge.Counter
	layout  *charge.Layout
	base    baseline
}

// New returns a judge for the rules, in whose order the findings come.
func New(rules []Rule) *Judge {
	compiled, c := compile(rules)
	index := pattern.NewIndex(c.patterns)
	counter := func() charge.Counter {
		return charge.Counter{Names: charge.NewNames(index), Where: c.where, Patterns: len(c.patterns), Excepts: c.excepts}
	}
	return &Judge{rules: compiled, counter: counter(), base: baseline{counter: counter()}}
}

// Table judges a decoded profile. To judge the next of a program fast, decode both with the
// same decoder. The work stops when the context ends.
func (j *Judge) Table(ctx context.Context, t *decode.Table, facts Facts) ([]Finding, error) {
	_, findings, err := j.table(ctx, t, facts)
	return findings, err
}

// table judges a window, and returns the window too, for further questions.
func (j *Judge) table(ctx context.Context, t *decode.Table, facts Facts) (*window, []Finding, error) {
	w, err := j.open(ctx, t, facts)
	if err != nil {
		return nil, nil, err
	}
	findings := make([]Finding, len(j.rules))
	for i := range j.rules {
		if ctx.Err() != nil {
			return nil, nil, fmt.Errorf("judge the profile: %w", context.Cause(ctx))
		}
		if w.judge(&j.rules[i], &findings[i]); w.compared > maxCompared {
			return nil, nil, fmt.Errorf("judge the profile: more than %d functions are near the limits of the budgets or over them, each counted for each budget: "+
				"take a profile of a shorter time, or budgets with higher limits", maxCompared)
		}
	}
	return w, findings, nil
}

// open adds up a window's samples.
func (j *Judge) open(ctx context.Context, t *decode.Table, facts Facts) (*window, error) {
	w := &window{judged: j, t: t, facts: facts}
	if !j.layout.Fits(t, facts.Kind) {
		j.plan(charge.LayoutOf(t, facts.Kind))
	}
	j.counter.Live, j.counter.Names.Module, j.counter.Names.Modules = facts.Live, facts.Module, facts.Modules
	if err := j.base.set(ctx, &facts, j); err != nil {
		return nil, err
	}
	if err := j.counter.Names.Learn(ctx, t); err != nil {
		return nil, err
	}
	j.counter.Multiple = j.layout.Multiple(t, facts.MutexFraction)
	if err := count(&j.counter, j.rules, t); err != nil {
		return nil, fmt.Errorf("judge the profile: %w", err)
	}
	w.elapsed = facts.Elapsed.Seconds()
	if w.elapsed <= 0 {
		w.elapsed = float64(t.DurationNanos) * 1e-9
	}
	if v, ok := j.layout.Value(kinds.Mutex, unit.Waited); ok && facts.MutexFraction > 1 { // a few long waits may be in no sample
		w.unseen = max(0, int64(facts.Waited)-w.total(v.Index))
	}
	return w, nil
}

// plan adds the queries that the rules need for profiles with the layout.
func (j *Judge) plan(l *charge.Layout) {
	j.layout = l
	j.base.table = nil
	for _, c := range [...]*charge.Counter{&j.base.counter, &j.counter} { // a query has the same number in both
		c.Forget()
		for i := range j.rules {
			j.rules[i].ask(c, l)
		}
	}
}

// maxVisits limits the visits of frames, one for each query. Each takes
// about 8 ns, so the limit is under a second. It allows 500 queries of 200,000 frames, which
// is a minute of a large service with labels.
const maxVisits = 100_000_000

// maxCompared limits how many functions are compared with limits, of all rules together. To
// compare one takes about 3 us.
const maxCompared = 300_000

// count adds a profile up for a counter's queries, within limits. A query is a part of the
// profile that budgets ask about: all budgets without "in" and "where" share three or four
// of them. The most patterns that one name matches count as so many more queries, and if there
// are conditions on labels, each label counts as two frames.
func count(c *charge.Counter, rules []rule, t *decode.Table) error {
	const remedy = "take a profile of a shorter time, or fewer budgets with an in, where or except of their own"
	visits, parts := t.Frames, int64(c.Visits())
	what := fmt.Sprintf("%d frames", t.Frames)
	if len(c.Where) > 0 {
		visits += 2 * int64(len(t.Labels))
		what += fmt.Sprintf(" and %d labels", len(t.Labels))
	}
	if visits*parts > maxVisits {
		return fmt.Errorf("%s times %d queries and patterns of the budgets are more than the limit of %d: "+remedy, what, parts, maxVisits)
	}
	c.Open(t)
	for i := range rules {
		if rules[i].query >= 0 {
			c.Sums(rules[i].query)
		}
	}
	if c.Full() {
		return errors.New("the budgets ask for more than 300,000 sums of it, one for each name and part: " + remedy)
	}
	return nil
}

// baseline is the profile that "grows" budgets compare with, added up by the same queries.
// Its names are kept apart from those of the windows: it is added up once, while the names
// of the windows may be forgotten and learnt anew.
type baseline struct {
	counter charge.Counter
	table   *decode.Table // the one that was added up
	problem Reason        // why there can be no comparison
}

// set adds the baseline up, unless that was done before.
func (b *baseline) set(ctx context.Context, facts *Facts, j *Judge) error {
	base := facts.Baseline
	switch {
	case base == nil:
		b.table, b.problem = nil, NoBaseline{}
		return nil
	case base == b.table && b.counter.Names.Module == facts.Module: // the charges depend on the own module
		return nil
	}
	b.table, b.problem, b.counter.Names.Module, b.counter.Names.Modules = base, nil, facts.Module, facts.Modules
	if l := charge.LayoutOf(base, facts.Kind); !j.layout.Fits(base, facts.Kind) {
		b.problem = OtherBaseline{l, j.layout}
		return nil
	}
	err := b.counter.Names.Learn(ctx, base)
	if err == nil {
		err = count(&b.counter, j.rules, base)
	}
	if err != nil {
		b.table = nil // the sums are not complete
		return fmt.Errorf("baseline: %w", err)
	}
	return nil
}
