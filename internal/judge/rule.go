package judge

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/unit"
)

// A Class is what a budget is about.
type Class int8

const (
	Pattern Class = iota // the functions that a pattern matches
	Each                 // each function, or each package, by itself
	Process              // the whole profile
	Figure               // goroutines, heap, rss, gc
	Leak                 // leaked goroutines, which are blocked for ever
)

// A Test is the requirement on a budget's subject.
type Test int8

const (
	Limited Test = iota // to keep to the limit
	Absent              // not to occur
	Grows               // not to grow by more than the limit against the baseline
	Steady              // not to grow over hours; the limit is a cap, 0 for none
)

// A Rule is a budget without its words. Package budget makes it from a valid budget.
type Rule struct {
	Class    Class
	Test     Test
	Subject  string // the pattern, or the name of the figure
	Packages bool   // of [Each]: packages and not functions

	Limit     float64        // in base units
	Dimension unit.Dimension // of the limit, or of the measured value if there is no limit

	Flat    bool
	Kind    string // of profile, "cpu" and never ""
	Per     string // unit of work
	Except  []string
	Literal bool // all functions of a stack are charged, also those on the way in
	In      string
	Where   map[string]string
	When    Condition

	// How long the rule has to fail until its alert fires, if its sentence says so.
	ForWindows int
	ForTime    time.Duration
}

// Largest is a rule that every profile of a kind breaks, so that its offenders are the functions
// with a large share: of time or bytes, or of objects for [unit.Count].
func Largest(kind string, of unit.Dimension) Rule {
	if of != unit.Count {
		of = unit.Share
	}
	return Rule{Class: Process, Kind: kind, Limit: 0.5, Dimension: of}
}

// Patterns are the patterns of the rule's subject and scope. If one of them matches no
// function, the rule can never fail.
func (r Rule) Patterns() []string {
	texts := []string{r.Subject, r.In}
	if r.Class != Pattern {
		texts = texts[1:]
	}
	return slices.DeleteFunc(texts, func(text string) bool { return text == "" })
}

// AddsUp reports whether the hits and the samples of windows, and of processes, may be added up and
// compared with the limit. Those of a rule about each function are of the worst of each window, and a
// sum of maxima is no share. The limit of growth, and of an amount, is none of a share. Profiles of
// a state show the same samples again.
func (r *Rule) AddsUp() bool {
	return r.Class == Pattern && r.Test != Grows && r.Dimension == unit.Share && kinds.Of(r.Kind).Taken != kinds.State
}

// A Condition compares a figure with a limit in base units. A condition without a Figure
// always holds.
type Condition struct {
	Figure string
	Below  bool
	Limit  float64
}

// UnmetBy is why the condition is not known to hold by figures of the process alone, nil if it is.
func (c Condition) UnmetBy(figures map[string]float64) Reason {
	v, known := figures[FigureOf(c.Figure)]
	return c.unmet(v, known && isFigure(v), "")
}

// unmet is why the condition is not known to hold at a value of its figure. why is the reason
// where that is not known.
func (c Condition) unmet(v float64, known bool, why string) Reason {
	switch {
	case c.Figure == "":
		return nil
	case !known:
		return ConditionUnknown{why}
	case c.Below && v < c.Limit, !c.Below && v > c.Limit:
		return nil
	}
	return Idle{v}
}

// FigureOf is the name of the figure in [Facts] that a subject is about.
func FigureOf(subject string) string {
	if subject == "process" {
		return "cores"
	}
	return subject
}

// A rule is a compiled Rule: patterns and labels are numbers.
type rule struct {
	Rule
	subject int32 // number of the pattern, or -1
	in      int32
	except  int32 // number of a set of patterns, or -1
	where   int32

	// For profiles of the current layout:
	query   int // number of the query in the counter, or -1
	detail  int // the same samples, charged to functions
	literal int // and to every function of a stack
	value   charge.Value
	lacks   Reason // why there is no query
}

// collecting are the functions of package runtime in which a running garbage collection
// shows: its start, its workers, and the assists of goroutines that allocate.
const collecting = `gcBgMarkWorker|gcAssistAlloc|gcStart`

// gcFunctions are the roots of the garbage collector's work in a CPU profile: these, and
// sweeping and scavenging, which go on between collections.
const gcFunctions = `/^runtime\.(` + collecting + `|bgsweep|bgscavenge|deductSweepCredit|\(\*mheap\)\.reclaim)$/`

// Collects reports whether a collection was under way while a CPU profile was taken: its
// workers take a quarter of all processors then.
func Collects(t *decode.Table) bool {
	roots := strings.Split(collecting, "|")
	return slices.ContainsFunc(t.Lines, func(l decode.Line) bool {
		name, found := strings.CutPrefix(t.Symbols.Name(l.Name), "runtime.")
		return found && slices.Contains(roots, name)
	})
}

// compiler numbers the patterns and label conditions of a set.
type compiler struct {
	patterns []*pattern.Pattern
	numbers  map[string]int32
	where    [][]charge.Label
	excepts  [][]int32
}

func compile(set []Rule) ([]rule, *compiler) {
	c := &compiler{numbers: map[string]int32{}}
	rules := make([]rule, len(set))
	for i, r := range set {
		rules[i] = rule{Rule: r, subject: -1, in: -1, where: c.condition(r.Where), except: c.except(r.Except)}
		switch {
		case r.Class == Pattern:
			rules[i].subject = c.pattern(r.Subject)
		case r.isGC():
			rules[i].subject = c.pattern(gcFunctions)
		}
		if r.In != "" {
			rules[i].in = c.pattern(r.In)
		}
	}
	return rules, c
}

func (r *Rule) isGC() bool { return r.Class == Figure && r.Subject == "gc" }

// isShare reports whether what is compared is a share, and not an amount.
func (r *rule) isShare() bool {
	return r.Dimension == unit.Points || r.Dimension == unit.Share && r.Test != Grows
}

// smallShare is the share of a window below which the growth of a function per unit of work
// is not judged: of the many functions with one or two hits, some always have doubled.
const smallShare = 0.01

// near is the number of hits, of n samples or over an exposure of n, from which a function
// is near the limit of a rule about each: a tenth of the limit, or for growth per unit of
// work smallShare of the samples.
func (r *rule) near(n, samples float64) float64 {
	if r.Test == Grows && !r.isShare() {
		return smallShare * samples
	}
	return n * r.Limit / 10
}

// key is the key of a function or package, or that of the subject if the rule is not about
// each.
func (r *rule) key(counter *charge.Counter, name string) int32 {
	if r.Class == Each {
		return counter.Key(r.query, name)
	}
	return r.subject
}

// isNearLeaf reports whether a rule asks only about what stands near the leaf, of which nothing is
// cut off: "gc", and each function below the way in, as which the frames that were cut off count.
func (r *rule) isNearLeaf() bool {
	return r.Class == Figure || r.Class == Each && r.in < 0 && !r.Literal
}

// charged is the charge of a key, or everything for a rule without a subject. unknown is how
// much more could belong to it, in frames that were cut off.
func (r *rule) charged(counter *charge.Counter, key int32) (charged, unknown int64) {
	sums := counter.Sums(r.query)
	switch {
	case r.Class != Each && r.subject < 0:
		return sums.Total, 0
	case r.Class == Figure:
		return sums.By(key), 0
	}
	return sums.By(key), sums.Unknown(key)
}

func (c *compiler) pattern(text string) int32 {
	if n, ok := c.numbers[text]; ok {
		return n
	}
	p, err := pattern.Parse(text)
	if err != nil {
		panic("judge: a rule that is not of a valid budget: " + err.Error())
	}
	c.patterns = append(c.patterns, p)
	c.numbers[text] = int32(len(c.patterns) - 1)
	return c.numbers[text]
}

func (c *compiler) except(texts []string) int32 {
	var set []int32
	for _, text := range texts {
		set = append(set, c.pattern(text))
	}
	slices.Sort(set)
	return number(&c.excepts, set)
}

func (c *compiler) condition(where map[string]string) int32 {
	var labels []charge.Label
	for _, key := range slices.Sorted(maps.Keys(where)) {
		labels = append(labels, charge.Label{Key: key, Value: where[key]})
	}
	return number(&c.where, labels)
}

// number is the place of a list in all, to which it is added if it is new. An empty list
// has the number -1.
func number[E comparable](all *[][]E, list []E) int32 {
	if len(list) == 0 {
		return -1
	}
	i := slices.IndexFunc(*all, func(old []E) bool { return slices.Equal(old, list) })
	if i < 0 {
		i, *all = len(*all), append(*all, list)
	}
	return int32(i)
}

// figureKinds are the kinds of profile whose total is a figure.
var figureKinds = map[string]string{"cores": kinds.CPU, "goroutines": kinds.Goroutine, "heap": kinds.Heap}

// ask adds the queries that the rule needs for profiles with the layout.
func (r *rule) ask(counter *charge.Counter, l *charge.Layout) {
	r.query, r.detail, r.literal, r.lacks = -1, -1, -1, nil
	kind := r.Kind
	switch {
	case r.Class == Leak:
		kind = kinds.GoroutineLeak
	case r.Class == Figure && r.Subject == "rss":
		return // no profile shows it
	case r.Class == Figure && !r.isGC():
		kind = figureKinds[r.Subject]
	}
	v, ok := l.Value(kind, r.Dimension)
	if !ok {
		r.lacks = OtherKind{Needs: kind, Is: l.Kind}
		return
	}
	r.value = v
	q := charge.Query{Value: v.Index, Weight: v.Weight, In: r.in, Where: r.where, Except: r.except, Unit: charge.Pattern, Charge: charge.Cumulative}
	switch {
	case r.Flat && r.Class == Each:
		q.Charge = charge.Resumed
	case r.Flat:
		q.Charge = charge.Flat // a named function is charged as pprof counts it
	case r.subject >= 0, r.Literal:
	case r.Class == Leak:
		q.Charge = charge.Started
	case v.Counted:
		q.Charge = charge.Living
	case v.Weight.Multiple: // contention
		q.Charge = charge.Waiting
	default:
		q.Charge = charge.Inner
	}
	detail := q
	if detail.Unit = charge.Function; r.Packages {
		detail.Unit = charge.Package
	}
	switch {
	case r.Class == Each:
		q = detail
	case r.subject < 0:
		if q.Unit = charge.Whole; v.Counted { // what is to mend is where goroutines are started
			detail.Charge = charge.Started
		}
	}
	r.query, r.detail = counter.Ask(q), counter.Ask(detail)
	if (r.Class == Process || r.Class == Figure) && !v.Counted { // all goroutines are in runtime.gopark, which says nothing
		detail.Charge = charge.Cumulative
		r.literal = counter.Ask(detail)
	}
}
