package judge

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/unit"
)

// A rule is a compiled Rule: patterns and labels are numbers.
type rule struct {
	Rule
	kind    string // of the profile that is asked, "" for none
	subject int32  // number of the pattern, or -1
	in      int32
	except  int32 // number of a list of exceptions, or -1
	where   int32
	label   int32 // of [EachValue]: number of the label

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
	excepts  [][]charge.Exception
	labels   []charge.LabelValues
}

func compile(set []Rule) ([]rule, *compiler) {
	c := &compiler{numbers: map[string]int32{}}
	rules := make([]rule, len(set))
	for i, r := range set {
		rules[i] = rule{Rule: r, kind: r.SampledBy(), subject: -1, in: -1, where: c.condition(r.Where), except: c.except(&r)}
		switch {
		case r.Class == EachValue:
			rules[i].label = c.label(charge.LabelValues{Label: r.Label, Except: r.Except})
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

// FigureKinds are the kinds of profile of a figure, "" where there is none: the one whose total it is, and the one that
// shows its parts. Those of gc are what was allocated.
var FigureKinds = map[string]struct{ Total, Parts string }{
	"cores": {Total: kinds.CPU}, "goroutines": {kinds.Goroutine, kinds.Goroutine}, "heap": {kinds.Heap, kinds.Heap},
	"rss": {Parts: kinds.Heap}, "gc": {Parts: kinds.Allocs},
}

// SampledBy is the kind of profile that shows what the rule is about, "" if none does.
func (r *Rule) SampledBy() string {
	switch {
	case r.Class == Leak:
		return kinds.GoroutineLeak
	case r.Class == Figure && !r.isGC():
		return FigureKinds[r.Subject].Total
	}
	return r.Kind
}

// isShare reports whether what is compared is a share, and not an amount.
func (r *rule) isShare() bool {
	return r.Dimension == unit.Points || r.Dimension == unit.Share && r.Test != Grows
}

// key is the key of a function, package or value, or that of the subject if the rule is not about
// each.
func (r *rule) key(counter *charge.Counter, name string) int32 {
	if r.Class.IsEach() {
		return counter.Key(r.query, name)
	}
	return r.subject
}

// isNearLeaf reports whether a rule asks only about what stands near the leaf, of which nothing is
// cut off: "gc", and each function below the way in, as which the frames that were cut off count.
func (r *rule) isNearLeaf() bool {
	return r.Class == Figure || r.Class.IsEach() && r.in < 0 && !r.Literal
}

// charged is the charge of a key, or everything for a rule without a subject. unknown is how
// much more could belong to it, in frames that were cut off.
func (r *rule) charged(counter *charge.Counter, key int32) (charged, unknown int64) {
	sums := counter.Sums(r.query)
	switch {
	case !r.Class.IsEach() && r.subject < 0:
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

func (c *compiler) except(r *Rule) int32 {
	var list []charge.Exception
	for _, text := range r.Except {
		if r.Class != EachValue { // see compiler.label
			list = append(list, charge.Exception{Of: c.pattern(text), From: -1})
		}
	}
	for _, route := range r.Routes {
		list = append(list, charge.Exception{Of: c.pattern(route.Of), From: c.pattern(route.From)})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Compare(list[j]) < 0 }) // smaller than an instance of slices.SortFunc
	return number(&c.excepts, list)
}

func (c *compiler) condition(where map[string]string) int32 {
	var labels []charge.Label
	for _, key := range slices.Sorted(maps.Keys(where)) {
		labels = append(labels, charge.Label{Key: key, Value: where[key]})
	}
	return number(&c.where, labels)
}

func (c *compiler) label(of charge.LabelValues) int32 {
	i := slices.IndexFunc(c.labels, func(l charge.LabelValues) bool { return l.Label == of.Label && slices.Equal(l.Except, of.Except) })
	if i < 0 {
		i, c.labels = len(c.labels), append(c.labels, of)
	}
	return int32(i)
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

// ask adds the queries that the rule needs for profiles with the layout.
func (r *rule) ask(counter *charge.Counter, l *charge.Layout) {
	r.query, r.detail, r.literal, r.lacks = -1, -1, -1, nil
	if r.kind == "" {
		return
	}
	v, ok := l.Value(r.kind, r.Dimension)
	if !ok {
		r.lacks = OtherKind{Wanted: r.kind, Is: l.Kind}
		return
	}
	r.value = v
	q := charge.Query{Value: v.Index, Weight: v.Weight, In: r.in, Where: r.where, Except: r.except, Unit: charge.Pattern, Charge: charge.Cumulative}
	switch {
	case r.Flat:
		q.Charge = charge.Flat
	case r.subject >= 0, r.Literal:
	case r.kind == kinds.GoroutineLeak:
		q.Charge = charge.Started
	case v.Counted:
		q.Charge = charge.Living
	case v.Weight.Multiple: // contention
		q.Charge = charge.Waiting
	default:
		q.Charge = charge.Inner
	}
	detail := q
	detail.Unit = units[r.Class] // of a class that is not about code, functions
	switch {
	case r.Class == EachValue:
		q.Unit, q.Of, q.Charge = charge.Labelled, r.label, charge.Cumulative
	case r.Class.IsEach():
		q = detail
	case r.subject < 0:
		if q.Unit = charge.Whole; r.kind == kinds.Goroutine { // what is to mend is where goroutines are started
			detail.Charge = charge.Started
		}
	}
	r.query, r.detail = counter.Ask(q), counter.Ask(detail)
	if r.HasParts() && r.kind != kinds.Goroutine { // all goroutines are in runtime.gopark, which says nothing
		detail.Charge = charge.Cumulative
		r.literal = counter.Ask(detail)
	}
}
