package release

import (
	"context"
	"fmt"
	"time"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/names"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/unit"
)

// A Side is what one build did: the samples of its windows, added up, and what is known of each
// window.
type Side struct {
	Build   Build
	Since   time.Time     // of the first window of the build, the zero time if it is not known
	Table   *decode.Table // a CPU profile
	Windows []Window      // in the order of their time; none if only the table is known
	// Spread is the overdispersion of functions between windows, by folded name, where it was measured.
	Spread map[string]float64

	Module  string   // the path of the program's own module, where it is known
	Modules []string // and of the others

	// Ended says that stacks end in the innermost function that they are charged to: see [Ended]. Depth is
	// how many locations of a stack were kept, from the root, 0 for all.
	Ended bool
	Depth int
}

// A Window is a time in which a profile was taken, or several in a row.
type Window struct {
	Samples float64
	CPU     float64 // seconds, as the operating system counts them
	Elapsed float64 // seconds
	Work    map[string]float64
	Machine Machine
}

// Build is what an executable says of itself.
type Build struct {
	Program  string `json:"program,omitempty"`  // the path of package main
	Version  string `json:"version,omitempty"`  // of the main module
	Revision string `json:"revision,omitempty"` // of the version control system
	Modified bool   `json:"modified,omitempty"` // since that revision
	Go       string `json:"go,omitempty"`       // the release of Go
	Arch     string `json:"arch,omitempty"`     // "linux/amd64"
	Binary   string `json:"binary,omitempty"`   // differs between any two executables that differ
}

// String is the version with the revision, "v1.42.0 (abc1234)", or what there is of it.
func (b Build) String() string {
	revision := b.Revision[:min(len(b.Revision), 7)]
	if revision != "" && b.Modified {
		revision += ", modified"
	}
	version := b.Version
	if version == "(devel)" {
		version = ""
	}
	switch {
	case version != "" && revision != "":
		return version + " (" + revision + ")"
	case version != "":
		return version
	case revision != "":
		return revision
	case b.Binary != "":
		return "build " + b.Binary[:min(len(b.Binary), 8)]
	}
	return "unknown build"
}

// SampledCPU is the CPU that a profile's samples stand for, in seconds.
func SampledCPU(t *decode.Table) float64 { return float64(t.Count()) * float64(t.Period) * 1e-9 }

// total adds the windows up.
func (s *Side) total() (t Window) {
	t.Work = map[string]float64{}
	for _, w := range s.Windows {
		t.Samples, t.CPU, t.Elapsed = t.Samples+w.Samples, t.CPU+w.CPU, t.Elapsed+w.Elapsed
		for name, n := range w.Work {
			t.Work[name] += n
		}
	}
	return t
}

// Work is what was done in all windows, by unit.
func (s *Side) Work() map[string]float64 { return s.total().Work }

// cost is what a unit of work costs in CPU, by the windows.
func (s *Side) cost(per string) evidence.PerWork {
	var batches []evidence.Batch
	for _, w := range s.Windows {
		if n, known := w.Work[per]; known {
			batches = append(batches, evidence.Batch{Cost: w.CPU, Work: n})
		}
	}
	return evidence.CostPerWork(batches)
}

// An id is the number of a function in both sides: the same one for names that mean the same.
type id int32

// none is no function.
const none id = -1

// A stack is one sample of a side.
type stack struct {
	hits    float64
	frames  []id // leaf first
	charged []id // leaf first, each once: see package charge
}

// counted is a side that is counted by ids.
type counted struct {
	*Side
	counter charge.Counter
	query   int
	n       float64 // samples
	stacks  []stack

	// By id.
	inner []float64 // hits that are charged
	all   []float64 // hits in stacks with the function
	leaf  []float64 // hits in its own body
	known []float64 // hits that are charged, of those in cut

	cut float64 // hits in stacks that the runtime has cut off, so that other functions may be charged, too
}

// count adds up the samples of a side. Names get ids only after that, see number.
func count(ctx context.Context, s *Side, except []string) (*counted, error) {
	c := &counted{Side: s}
	layout := charge.LayoutOf(s.Table, kinds.CPU)
	v, ok := layout.Value(kinds.CPU, unit.Count)
	if !ok {
		return nil, fmt.Errorf("expected a profile of CPU, with its samples, found one of %s", layout.Kind)
	}
	patterns, numbers, err := parsed(except)
	if err != nil {
		return nil, err
	}
	known := charge.NewNames(pattern.NewIndex(patterns))
	known.Module, known.Modules, known.Fold = s.Module, s.Modules, names.Fold
	if err := known.Learn(ctx, s.Table); err != nil {
		return nil, err
	}
	c.counter = charge.Counter{Names: known, Patterns: len(patterns)}
	q := charge.Query{Value: v.Index, Weight: v.Weight, Unit: charge.Folded, Charge: charge.Inner, In: -1, Where: -1, Except: -1}
	if len(numbers) > 0 {
		c.counter.Excepts, q.Except = [][]int32{numbers}, 0
	}
	c.query = c.counter.Ask(q)
	c.counter.Open(s.Table)
	sums := c.counter.Sums(c.query)
	if c.counter.Full() {
		return nil, fmt.Errorf("the profile has too many functions: take one of a shorter time")
	}
	c.n = sums.N
	return c, nil
}

// Charged are the hits that are charged to each function, by its folded name, and the number of samples.
func (s *Side) Charged(ctx context.Context) (hits map[string]float64, n float64, err error) {
	c, err := count(ctx, s, nil)
	if err != nil {
		return nil, 0, err
	}
	sums := c.counter.Sums(c.query)
	hits = make(map[string]float64, len(sums.Keys))
	for i, key := range sums.Keys {
		hits[c.counter.Name(c.query, key)] = float64(sums.Values[i])
	}
	return hits, c.n, nil
}

// parsed are patterns, and their numbers.
func parsed(texts []string) (patterns []*pattern.Pattern, numbers []int32, err error) {
	for _, text := range texts {
		p, err := pattern.Parse(text)
		if err != nil {
			return nil, nil, err
		}
		patterns, numbers = append(patterns, p), append(numbers, int32(len(numbers)))
	}
	return patterns, numbers, nil
}

// folded are the folded names of all functions in the samples.
func (c *counted) folded() map[string]bool {
	seen := map[string]bool{}
	for _, f := range c.Table.Funcs {
		seen[names.Fold(c.Table.Symbols.Name(f.Name))] = true
	}
	return seen
}

// number fills what is by id. number gives the id of a folded name, below n.
func (c *counted) number(n int, number func(folded string) id) {
	t := c.Table
	c.inner, c.all, c.leaf, c.known = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	ids := make(map[decode.ID]id, len(t.Funcs))
	interrupt := map[id]bool{}
	for _, f := range t.Funcs {
		name := t.Symbols.Name(f.Name)
		ids[f.Name] = number(names.Fold(name))
		interrupt[ids[f.Name]] = charge.IsInterrupt(name)
	}
	byKey := map[int32]id{}
	seen, visit := make([]int32, n), int32(0)
	once := func(at id) bool {
		first := seen[at] != visit
		seen[at] = visit
		return first
	}
	c.counter.Each(c.query, func(value int64, sample int, keys []int32, cut bool) {
		s := stack{hits: float64(value)}
		if cut {
			c.cut += s.hits
		}
		visit++
		for _, key := range keys {
			if key < 0 {
				continue
			}
			at, known := byKey[key]
			if !known {
				at = number(c.counter.Name(c.query, key))
				byKey[key] = at
			}
			if once(at) {
				s.charged = append(s.charged, at)
				c.inner[at] += s.hits
				if cut {
					c.known[at] += s.hits
				}
			}
		}
		visit++
		for _, l := range t.Stacks[t.Samples[sample].StackLo:t.Samples[sample].StackHi] {
			for line := t.Locations[l].LineLo; line < t.Locations[l].LineHi; line++ {
				at := ids[t.Lines[line].Name]
				if len(s.frames) == 0 && interrupt[at] {
					continue
				}
				s.frames = append(s.frames, at)
				if once(at) {
					c.all[at] += s.hits
				}
			}
		}
		if len(s.frames) > 0 {
			c.leaf[s.frames[0]] += s.hits
		}
		c.stacks = append(c.stacks, s)
	})
}

// unmeasured is the overdispersion of a function where none was measured: most functions of real
// services have 1.0 to 1.3 from second to second, and some 2 or 3.
const unmeasured = 2

// hits are those of a function, with their overdispersion.
func (c *counted) hits(k float64, name string) evidence.Hits {
	h := evidence.Hits{K: k, N: c.n, Phi: unmeasured}
	if phi, known := c.Spread[name]; known {
		h.Phi = phi
	}
	return h
}
