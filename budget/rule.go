package budget

import (
	"maps"
	"slices"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/pattern"
)

// A rule is a budget made ready for judging: patterns and labels are numbers.
type rule struct {
	budget  Budget
	class   class
	dim     dimension
	limit   float64 // in base units
	subject int32   // number of the pattern, or -1
	in      int32
	except  int32 // number of a set of patterns, or -1
	where   int32

	// For the layout of profile that is being judged:
	query   int // number of the query in the counter, or -1
	detail  int // the same samples, charged to functions
	literal int // and to every function of a stack
	value   valueType
	lacks   string // why there is no query
}

// gcFunctions are the roots of the garbage collector's work in a CPU profile:
// its workers, what it makes allocating goroutines help with, sweeping and
// scavenging.
const gcFunctions = `/^runtime\.(gcBgMarkWorker|gcAssistAlloc|gcStart|bgsweep|bgscavenge|deductSweepCredit|\(\*mheap\)\.reclaim)$/`

// compiler numbers the patterns and label conditions of a set.
type compiler struct {
	patterns []*pattern.Pattern
	numbers  map[string]int32
	where    [][]charge.Label
	excepts  [][]int32
}

func compile(set Set) ([]rule, *compiler, error) {
	if err := set.Validate(); err != nil {
		return nil, nil, err
	}
	c := &compiler{numbers: map[string]int32{}}
	rules := make([]rule, len(set))
	for i, b := range set {
		r := &rules[i]
		*r = rule{budget: b, class: classOf(b.Subject), dim: b.Limit.dimension(), limit: b.Limit.base(), subject: -1, in: -1, where: -1, except: -1}
		switch {
		case b.Rule == "absent":
			r.dim = dimShare // there is no limit to tell
		case b.Rule == "steady":
			r.dim = figureDimension(b.Subject)
		}
		var err error
		switch {
		case r.class == classPattern:
			r.subject, err = c.pattern(b.Subject)
		case b.Subject == "gc":
			r.subject, err = c.pattern(gcFunctions)
		}
		if err == nil && b.In != "" {
			r.in, err = c.pattern(b.In)
		}
		if err == nil && !r.chargesAll() {
			r.except, err = c.except(b.Except)
		}
		if err != nil {
			return nil, nil, err // Validate has parsed all patterns, so this does not happen
		}
		r.where = c.condition(b.Where)
	}
	return rules, c, nil
}

func (c *compiler) pattern(text string) (int32, error) {
	if n, ok := c.numbers[text]; ok {
		return n, nil
	}
	p, err := pattern.Parse(text)
	if err != nil {
		return 0, err
	}
	n := int32(len(c.patterns))
	c.patterns = append(c.patterns, p)
	c.numbers[text] = n
	return n, nil
}

func (c *compiler) except(texts []string) (int32, error) {
	if len(texts) == 0 {
		return -1, nil
	}
	set := make([]int32, len(texts))
	for i, text := range texts {
		var err error
		if set[i], err = c.pattern(text); err != nil {
			return 0, err
		}
	}
	slices.Sort(set)
	for i, old := range c.excepts {
		if slices.Equal(old, set) {
			return int32(i), nil
		}
	}
	c.excepts = append(c.excepts, set)
	return int32(len(c.excepts) - 1), nil
}

func (c *compiler) condition(where map[string]string) int32 {
	if len(where) == 0 {
		return -1
	}
	var labels []charge.Label
	for _, key := range slices.Sorted(maps.Keys(where)) {
		labels = append(labels, charge.Label{Key: key, Value: where[key]})
	}
	for i, w := range c.where {
		if slices.Equal(w, labels) {
			return int32(i)
		}
	}
	c.where = append(c.where, labels)
	return int32(len(c.where) - 1)
}

// ask numbers the queries that the rule needs of profiles with the layout.
func (r *rule) ask(counter *charge.Counter, l *layout) {
	r.query, r.detail, r.literal, r.lacks = -1, -1, -1, ""
	kind := kindText(r.budget.Kind)
	switch {
	case r.class == classLeak:
		kind = "goroutineleak"
	case r.budget.Subject == "goroutines":
		kind = "goroutine"
	case r.budget.Subject == "heap":
		kind = "heap"
	case r.budget.Subject == "rss":
		r.lacks = "a profile does not tell the process's memory: it comes from a running guard"
		return
	}
	v, ok := l.value(kind, r.dim)
	if !ok {
		r.lacks = "needs a profile of kind " + kind + ", this one is of kind " + l.kind
		return
	}
	r.value = v
	q := charge.Query{Value: v.index, Weight: v.weight, In: r.in, Where: r.where, Except: r.except, Unit: charge.Pattern, Charge: charge.Cumulative}
	switch {
	case r.budget.Flat && r.class == classEach:
		q.Charge = charge.Resumed
	case r.budget.Flat:
		q.Charge = charge.Flat // what is named is taken literally, as pprof counts it
	case r.class == classPattern, r.budget.Subject == "gc":
	case r.chargesAll():
	case v.census:
		q.Charge = charge.Living
	case kind == "mutex" || kind == "block":
		q.Charge = charge.Waiting
	default:
		q.Charge = charge.Inner
	}
	detail := q
	detail.Unit = charge.Function
	switch r.class {
	case classEach:
		q.Unit = charge.Function
		if r.budget.Subject == "no package" {
			q.Unit, detail = charge.Package, q
			detail.Unit = charge.Package
		}
	case classPattern:
	default:
		if r.budget.Subject != "gc" {
			q = detail
		}
	}
	r.query, r.detail = counter.Ask(q), counter.Ask(detail)
	if r.class == classProcess || r.class == classFigure {
		detail.Charge = charge.Cumulative
		r.literal = counter.Ask(detail)
	}
}

// chargesAll reports whether the budget says "except none": every frame of a stack is
// charged.
func (r *rule) chargesAll() bool { return len(r.budget.Except) == 1 && r.budget.Except[0] == "none" }

// unit names what the rule's results are measured in.
func (r *rule) unit() string {
	dim := r.dim
	if r.budget.Rule == "steady" {
		dim = figureDimension(r.budget.Subject)
	}
	switch dim {
	case dimCores:
		return "cores"
	case dimTime:
		return "seconds"
	case dimBytes:
		return "bytes"
	case dimCount:
		if r.class != classLeak && r.budget.Rule != "absent" {
			return "count"
		}
	}
	if r.class == classLeak {
		return "count"
	}
	return "ratio"
}
