// Package blame turns "these forty functions are over the limit" into the few
// lines that a person wants to read: which of them are the culprits, who calls
// them, where in the user's own code, and what they spend it on.
//
// On one path through a program, everything below a culprit is over the limit
// because the culprit is. [Heads] keeps the functions at which something is
// decided and leaves out those that merely stand in between; [Explain] finds the
// way in and the way on.
package blame

import (
	"cmp"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/tally"
)

// nearly is the part of a function's samples that must go on to one callee for
// the function to have merely stood in between. Nine tenths, because a wrapper's
// own work and a stray other caller should not make two lines out of one.
const nearly = 0.9

// maxOver bounds the functions that are compared with each other: the matrix
// has its square. Limits low enough to have more are about the worst anyhow.
const maxOver = 128

// A Case is a count in which keys were found over a limit.
type Case struct {
	Counter *tally.Counter
	Table   *decode.Table
	Query   int    // the number of the query in Counter
	Module  string // the user's own module; "" when unknown
	Room    *Room

	packages []int8 // by number: 1 for the user's, -1 for others, 0 for not known yet
}

// Heads selects, from keys that are over a limit, those worth a line, in the
// order to read them: the worst chain first, and in a chain the deepest function
// first.
func (c *Case) Heads(over []int32) []int32 {
	sums := c.Counter.Sums(c.Query)
	over = slices.Clone(over)
	slices.SortFunc(over, func(a, b int32) int {
		if sums.By[a] != sums.By[b] {
			return cmp.Compare(sums.By[b], sums.By[a])
		}
		return strings.Compare(c.keyName(a), c.keyName(b))
	})
	over = over[:min(len(over), maxOver)]
	m := c.overlap(over) // from here on, keys are numbers in that order
	m.markMechanism(c.isKernelEntry, c.isStandard)
	m.dropMechanism()
	m.dropPassThrough()
	return m.order()
}

func (c *Case) keyName(key int32) string {
	if c.Counter.Sums(c.Query).Query.Unit == tally.Package {
		return c.Counter.Names.PackageName(key)
	}
	return c.Table.Symbols.Name(decode.ID(key))
}

// matrix says for every two keys how much weight they share.
type matrix struct {
	keys      []int32
	value     []int64
	under     [][]int64 // under[f][g]: the weight of the samples in which g is below f, called by it
	mechanism []bool
	dropped   []bool
	samples   []charged
}

// charged is one sample's keys, leaf first.
type charged struct {
	value int64
	keys  []int // indices into matrix.keys
}

func (c *Case) overlap(over []int32) *matrix {
	n := len(over)
	m := &matrix{keys: over, value: make([]int64, n), under: make([][]int64, n), mechanism: make([]bool, n), dropped: make([]bool, n)}
	sums := c.Counter.Sums(c.Query)
	index := map[int32]int{}
	for i, k := range over {
		index[k] = i
		m.value[i] = sums.By[k]
		m.under[i] = make([]int64, n)
	}
	merged := map[string]int{} // equal lists of keys are one entry
	var list []int
	var name []byte
	c.Counter.Walk(c.Table, c.Query, func(v int64, s *tally.Stack, reach int) {
		list, name = list[:0], name[:0]
		c.each(s, reach, func(_ int, key int32) {
			if i, ok := index[key]; ok && !slices.Contains(list, i) {
				list = append(list, i)
				name = append(name, byte(i))
			}
		})
		if len(list) == 0 {
			return
		}
		at, ok := merged[string(name)]
		if !ok {
			at = len(m.samples)
			merged[string(name)] = at
			m.samples = append(m.samples, charged{keys: slices.Clone(list)})
		}
		m.samples[at].value += v
	})
	for _, s := range m.samples {
		for d, g := range s.keys {
			for _, f := range s.keys[d+1:] {
				m.under[f][g] += s.value
			}
		}
	}
	return m
}

// each visits the charged frames of a stack, leaf first, with their keys.
func (c *Case) each(s *tally.Stack, reach int, visit func(frame int, key int32)) {
	sums := c.Counter.Sums(c.Query)
	for i, f := range s.Frames()[:reach] {
		if !c.Counter.Charges(&sums.Query, i) {
			continue
		}
		switch sums.Query.Unit {
		case tally.Function:
			visit(i, int32(f))
		case tally.Package:
			visit(i, c.Counter.Names.Package(f))
		case tally.Pattern:
			for _, p := range c.Counter.Names.Matches(f) {
				visit(i, p)
			}
		}
	}
}

// most reports whether part is nearly all of whole.
func most(part, whole int64) bool { return float64(part) >= nearly*float64(whole) }

// markMechanism marks the way into the kernel: the raw system calls, and every
// function of the standard library that does little but call one that is marked.
// What the user's code chose to do is above them.
func (m *matrix) markMechanism(base, standard func(key int32) bool) {
	for i, k := range m.keys {
		m.mechanism[i] = base(k)
	}
	direct := m.direct()
	for changed := true; changed; {
		changed = false
		for f, k := range m.keys {
			if m.mechanism[f] || !standard(k) {
				continue
			}
			for g := range m.keys {
				if m.mechanism[g] && most(direct[f][g], m.value[f]) {
					m.mechanism[f], changed = true, true
					break
				}
			}
		}
	}
}

// direct[f][g] is the weight of the samples in which g is the next key below f.
func (m *matrix) direct() [][]int64 {
	direct := make([][]int64, len(m.keys))
	for i := range direct {
		direct[i] = make([]int64, len(m.keys))
	}
	for _, s := range m.samples {
		for d, g := range s.keys[:len(s.keys)-1] {
			direct[s.keys[d+1]][g] += s.value
		}
	}
	return direct
}

// dropMechanism leaves out the mechanism that other keys account for, and of the
// rest what stands inside other mechanism: of fmt.Println, os.(*File).Write and
// syscall.write, fmt.Println is the one that somebody wrote.
func (m *matrix) dropMechanism() {
	for i := range m.keys {
		if !m.mechanism[i] {
			continue
		}
		var covered int64
		for _, s := range m.samples {
			if at := slices.Index(s.keys, i); at >= 0 && slices.ContainsFunc(s.keys[at+1:], func(k int) bool { return !m.mechanism[k] }) {
				covered += s.value
			}
		}
		if float64(covered) >= 0.8*float64(m.value[i]) {
			m.dropped[i] = true
			continue
		}
		for f := range m.keys {
			if f != i && m.mechanism[f] && !m.dropped[f] && most(m.under[f][i], m.value[i]) && !most(m.under[i][f], m.value[f]) {
				m.dropped[i] = true
				break
			}
		}
	}
}

// dropPassThrough leaves out a caller that hands nearly all it has to one callee
// that has nearly all from it.
func (m *matrix) dropPassThrough() {
	for f := range m.keys {
		for g := range m.keys {
			if f == g || m.mechanism[g] || m.dropped[f] || m.dropped[g] {
				continue
			}
			if most(m.under[f][g], m.value[f]) && most(m.under[f][g], m.value[g]) {
				m.dropped[f] = true
			}
		}
	}
}

// order groups what is left by chain: a key belongs to the chain of the worst
// key that it is nearly always below.
func (m *matrix) order() []int32 {
	var left []int
	for i := range m.keys {
		if !m.dropped[i] {
			left = append(left, i)
		}
	}
	top := map[int]int{}
	for _, g := range left {
		top[g] = g
		for _, f := range left { // left is worst first
			if f != g && most(m.under[f][g], m.value[g]) && m.value[f] >= m.value[g] {
				top[g] = f
				break
			}
		}
	}
	depth := map[int]int{} // by how many others it is called
	for _, g := range left {
		for _, f := range left {
			if top[f] == top[g] && m.under[f][g] > m.under[g][f] {
				depth[g]++
			}
		}
	}
	slices.SortStableFunc(left, func(a, b int) int {
		if ta, tb := top[a], top[b]; ta != tb {
			return ta - tb // keys are worst first
		}
		if depth[a] != depth[b] {
			return depth[b] - depth[a]
		}
		return a - b
	})
	out := make([]int32, len(left))
	for i, k := range left {
		out[i] = m.keys[k]
	}
	return out
}

// isKernelEntry knows the functions that only enter the kernel.
func (c *Case) isKernelEntry(key int32) bool {
	if c.Counter.Sums(c.Query).Query.Unit == tally.Package {
		switch c.Counter.Names.PackageName(key) {
		case "internal/runtime/syscall", "internal/runtime/syscall/linux", "syscall", "golang.org/x/sys/unix", "internal/poll":
			return true
		}
		return false
	}
	name := c.Table.Symbols.Name(decode.ID(key))
	pkg := pattern.PackageOf(name)
	fn := strings.TrimPrefix(name, pkg+".")
	switch pkg {
	case "internal/runtime/syscall", "internal/runtime/syscall/linux":
		return true
	case "syscall", "golang.org/x/sys/unix":
		lower := strings.ToLower(fn)
		return strings.HasPrefix(lower, "syscall") || strings.HasPrefix(lower, "rawsyscall")
	}
	return false
}

// isStandard knows the functions of Go's own packages.
func (c *Case) isStandard(key int32) bool {
	if c.Counter.Sums(c.Query).Query.Unit != tally.Function {
		return false
	}
	return c.standard(pattern.PackageOf(c.Table.Symbols.Name(decode.ID(key))))
}

// standard reports whether a package is Go's own: its path's first element has
// no dot. A user's module may have none either, which is why the module's path
// is asked first.
func (c *Case) standard(pkg string) bool {
	if pkg == "main" || c.own(pkg) {
		return false
	}
	first, _, _ := strings.Cut(pkg, "/")
	return !strings.Contains(first, ".") && first != "command-line-arguments"
}

// own reports whether a package is the user's.
func (c *Case) own(pkg string) bool {
	if pkg == "main" {
		return true
	}
	return c.Module != "" && (pkg == c.Module || strings.HasPrefix(pkg, c.Module) && (pkg[len(c.Module)] == '/' || pkg[len(c.Module)] == '_'))
}
