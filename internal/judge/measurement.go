package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/release"
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

	// Releases compare this build with the one before, for a guard that has a reference.
	Releases Releases

	// full says that the work ran all the time, as that of a test: what it costs in a second
	// says nothing, and the samples are judged once.
	full bool

	// Periods is the number of a guard's periods that a difference of cumulative profiles
	// covers, for amounts that have no unit of work; 0 is one.
	Periods float64

	// NoFigures says why Figures lacks one: {"gc": "no collection has ended"}.
	NoFigures map[string]string

	// NoWork says why Work lacks a unit that has a counter: {"request": "its counter went
	// back"}.
	NoWork map[string]string

	// WorkBy is the work of each value of a label, by units with "by": see [charge.Shown]. Work may have
	// it, too, as the unit with the value: http_requests_total{handler="/"}.
	WorkBy map[string]map[string]float64

	// NotLinked are the patterns that are known to match no function of the program. A
	// rule about one of them is inconclusive, unless it says "absent".
	NotLinked []string
}

// Releases compare the build that runs, by all its windows, with the one before.
type Releases interface {
	// Compare returns the newest comparison, or nil and why there is none.
	Compare(ctx context.Context, o release.Options) (c *release.Comparison, why string)
}

// A measurement is a profile that was added up for all rules, and the facts about it.
type measurement struct {
	ctx     context.Context // of the work on it, which takes long where builds are compared
	t       *decode.Table
	facts   Facts
	counter *charge.Counter
	layout  *charge.Layout
	base    *baseline
	elapsed float64 // seconds; 0 when unknown

	// In a Watch:
	watched bool          // there are other windows of the program
	at      time.Duration // when the window ended
	soon    bool          // it followed the one before within a period

	builds *builds // of a block, if a rule compares builds

	unseen   int64  // nanoseconds of waiting for locks that are in no sample of a mutex profile
	walked   int64  // frames that were walked for the paths of offenders
	compared int    // functions that may be over a limit, see maxCompared
	matched  []bool // by pattern: a function of the profile matches it; nil before the first question
}

// burstsOfTest is the overdispersion of the samples of a test: that of most functions is 1.0 to 1.3 from second to second,
// and the calls of a test have bursts.
const burstsOfTest = 2

// bursts is the overdispersion of the samples. In a guard, an alert takes several windows.
func (m *measurement) bursts() float64 {
	if m.facts.full {
		return burstsOfTest
	}
	return 1
}

// unjudged is why a rule about samples is not judged, nil if it is.
func (m *measurement) unjudged(r *rule) Reason {
	switch why := m.unmet(r); {
	case why != nil:
		return why
	case m.isNotLinked(r):
		return NotLinked{}
	case r.query < 0:
		return r.lacks
	}
	return nil
}

// unmet is why the rule's condition keeps it from being judged, nil if it does not.
func (m *measurement) unmet(r *rule) Reason {
	value, known := m.reading(r.When.Figure)
	return r.When.unmet(value, known, m.facts.NoFigures[r.When.Figure])
}

// isNotLinked reports whether no function of the program matches the rule's pattern. What the profile shows is there:
// a plugin was loaded, or C code has names.
func (m *measurement) isNotLinked(r *rule) bool {
	return r.Class == Pattern && slices.Contains(m.facts.NotLinked, r.Subject) && !m.has(r.subject)
}

// has reports whether a function of the profile matches a pattern.
func (m *measurement) has(pattern int32) bool {
	if m.matched == nil {
		m.matched = make([]bool, m.counter.Patterns)
		for i := range m.t.Funcs {
			for _, pattern := range m.counter.Names.Matches(m.t.Funcs[i].Name) {
				m.matched[pattern] = true
			}
		}
	}
	return m.matched[pattern]
}

// reading is a figure of the process, from the facts, or from the profile if its total is
// that figure.
func (m *measurement) reading(name string) (float64, bool) {
	name = FigureOf(name)
	if v, ok := m.facts.Figures[name]; ok {
		return v, isFigure(v) // the profile is not asked when the fact is wrong
	}
	v, ok := m.layout.Value(FigureKinds[name].Total, unit.Bytes)
	if !ok {
		return 0, false
	}
	total := float64(m.total(v.Index)) * v.Scale
	if name == "cores" {
		return total / m.elapsed, m.elapsed > 0 && isFigure(total)
	}
	return total, isFigure(total) // differences of profiles may be below zero
}

// total adds up a value over all samples.
func (m *measurement) total(index int) int64 {
	var sum int64
	n := len(m.t.Types)
	for i := index; i < len(m.t.Values); i += n {
		sum = decode.AddSaturating(sum, m.t.Values[i])
	}
	return sum
}

// divisor is the number that values are divided by: seconds, units of work, or periods.
func (m *measurement) divisor(r *rule) (over float64, why Reason) {
	switch {
	case r.Per != "":
		done, given := m.facts.Work[r.Per]
		switch {
		case !given:
			return 0, WorkUnknown{m.facts.NoWork[r.Per]}
		case !isAmount(done):
			return 0, NoWork{}
		}
		return done, nil
	case r.Dimension == unit.Cores, r.Dimension == unit.Waited:
		if m.elapsed <= 0 {
			return 0, DurationUnknown{}
		}
		return m.elapsed, nil
	}
	return cmp.Or(m.facts.Periods, 1), nil
}

// leastAmount is less than any amount of work. It is large enough that no total of a
// profile, at most 1e19, becomes infinite when it is divided by it.
const leastAmount = 1e-100

// isAmount reports whether something can be divided by x.
func isAmount(x float64) bool { return x >= leastAmount && !math.IsInf(x, 1) }

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
	if len(c.Where)+len(c.Labels) > 0 {
		visits += 2 * int64(len(t.Labels))
		what += fmt.Sprintf(" and %d labels", len(t.Labels))
	}
	if visits*parts > maxVisits {
		return fmt.Errorf("%s times %d queries and patterns of the budgets are more than the limit of %d: "+remedy, what, parts, maxVisits)
	}
	if err := charge.NoDifference(t); err != nil {
		return err
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
func (b *baseline) set(ctx context.Context, facts *Facts, rules []rule, layout *charge.Layout) error {
	base := facts.Baseline
	switch {
	case base == nil:
		b.table, b.problem = nil, NoBaseline{}
		return nil
	case base == b.table && b.counter.Names.Module == facts.Module: // the charges depend on the own module
		return nil
	}
	b.table, b.problem, b.counter.Names.Module, b.counter.Names.Modules = base, nil, facts.Module, facts.Modules
	if l := charge.LayoutOf(base, facts.Kind); !layout.Fits(base, facts.Kind) {
		b.problem = OtherBaseline{l, layout}
		return nil
	}
	err := b.counter.Names.Learn(ctx, base)
	if err == nil {
		err = count(&b.counter, rules, base)
	}
	if err != nil {
		b.table = nil // the sums are not complete
		return fmt.Errorf("baseline: %w", err)
	}
	return nil
}
