package charge

import (
	"slices"

	"github.com/profguard/profguard/internal/decode"
)

// isMine reports whether a function is of the program's own module, or outside the standard
// library if nothing shows the module.
func (c *Counter) isMine(name decode.ID) bool {
	return c.own[c.Names.by[Package].of[name]] || c.Names.Module == "" && !c.Names.folders && c.Names.parts[name]&standard == 0
}

// learnOwn finds the packages of the program's own module. If its path is not known, they are
// those that are where package main is: in the same folder of a version of a module, or in no
// such folder. That takes a profile that has the folders of files.
func (c *Counter) learnOwn() {
	n, main := c.Names, home{module: -1}
	if i, found := n.by[Package].ids["main"]; found {
		main = n.homes[i]
	}
	c.own = c.own[:0]
	for i, pkg := range n.by[Package].names {
		own := pkg == "main" || isIn(pkg, n.Module)
		if h := n.homes[i]; n.Module == "" && n.folders && h.module != n.standard {
			own = own || h.module == main.module || !h.foreign && !main.foreign
		}
		c.own = append(c.own, own)
	}
}

// maxSums limits the sums that are kept of one profile, of all queries together, to 10 MiB.
const maxSums = 300_000

// Full reports whether the queries so far need more sums than are kept. The answers to
// others are empty then.
func (c *Counter) Full() bool { return c.left < 0 }

// A Counter answers queries over decoded profiles.
type Counter struct {
	Names *Names
	// Where are the conditions that queries name by number. A sample must have all
	// labels of a condition.
	Where [][]Label
	// Multiple is how many events one observed event stands for, in a contention profile
	// that samples only a fraction of the events. 0 means 1.
	Multiple float64
	// Patterns is the number of patterns that Names knows.
	Patterns int
	// Excepts are the lists of exceptions that queries name by number, each in order.
	Excepts [][]Exception
	// Labels are the labels that queries name by number.
	Labels []LabelValues

	queries []Query
	answers []Sums
	left    int // sums that may still be added, of maxSums

	// About the open profile.
	table  *decode.Table
	number int // of profiles so far
	stacks stacks
	paths  *paths   // since a function was explained
	own    []bool   // by number of a package: of the program's own module, or main
	values []values // by number of a label
	// About the query that is being counted or walked.
	stack   Stack
	visited uint64  // samples
	sums    []sum   // by key
	charged []int32 // the keys that have a sum
	list    []int32 // see Counter.keys
}

// Ordered reports whether the addresses of the open profile show the order in which its
// packages were linked, or whether that order does not matter. Without it, only calls out
// of the standard library and calls of function literals are recognised as hand-overs.
func (c *Counter) Ordered() bool { return c.stacks.order.known || !c.stacks.order.several }

// Visits is how often a frame is visited at most: once for each query that looks at frames, and
// as often as a name matches patterns.
func (c *Counter) Visits() int {
	n := c.Names.mostMatches
	for i := range c.queries {
		if q := &c.queries[i]; q.Unit != Whole && (q.Unit != Labelled || q.In >= 0) {
			n++
		}
	}
	return n
}

// Forget removes all queries.
func (c *Counter) Forget() {
	c.queries, c.answers = c.queries[:0], c.answers[:0]
}

// Ask adds a query and returns its number. Equal queries have the same number.
func (c *Counter) Ask(q Query) int {
	i := slices.Index(c.queries, q)
	if i < 0 {
		i = len(c.queries)
		c.queries, c.answers = append(c.queries, q), append(c.answers, Sums{})
	}
	return i
}

// Open prepares a profile for being counted. Its symbols must have been learnt before. From
// now on, all answers are about this profile.
func (c *Counter) Open(t *decode.Table) {
	c.table, c.paths, c.left = t, nil, maxSums
	if c.values == nil {
		c.values = make([]values, len(c.Labels))
	}
	for i := range c.values {
		c.values[i].read = false
	}
	c.number++
	c.learnOwn()
	c.stacks.read(t, c.Names, c.own)
}

// Name is the function, package or value that a key of a query is.
func (c *Counter) Name(query int, key int32) string {
	switch u := c.queries[query].Unit; {
	case u == Labelled:
		return c.valuesOf(c.queries[query].Of).names[key]
	case groups[u].of != nil:
		return c.Names.by[u].names[key]
	}
	return c.Names.symbols.Name(decode.ID(key))
}

// Key is the key of a query for a function, package or value, by its name, or -1 if it has never been
// seen.
func (c *Counter) Key(query int, name string) int32 {
	var key int32
	var known bool
	switch u := c.queries[query].Unit; {
	case groups[u].of != nil:
		key, known = c.Names.by[u].ids[name]
	case u == Labelled:
		key, known = c.valuesOf(c.queries[query].Of).ids[name]
	default:
		var id decode.ID
		id, known = c.Names.symbols.Find(name)
		key = int32(id)
	}
	if !known {
		return -1
	}
	return key
}
