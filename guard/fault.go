package guard

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// faults are what is wrong with the guard at the moment, by part: it cannot
// write dumps, it rests, it gave up.
type faults struct{ by map[string]string }

func (f *faults) note(part, what string) {
	if f.by == nil {
		f.by = map[string]string{}
	}
	f.by[part] = what
}

func (f *faults) clear(part string) { delete(f.by, part) }

// String says all of them, in one line.
func (f *faults) String() string {
	var list []string
	for _, part := range slices.Sorted(maps.Keys(f.by)) {
		list = append(list, f.by[part])
	}
	return strings.Join(list, "; ")
}

// panicCount counts recovered panics by part.
type panicCount struct {
	mu sync.Mutex
	n  map[string]int64
}

func (p *panicCount) add(part string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n == nil {
		p.n = map[string]int64{}
	}
	p.n[part]++
}

func (p *panicCount) counts() map[string]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := map[string]int64{"loop": 0, "metrics": 0, "page": 0} // a series that begins at 1 has no rate
	maps.Copy(n, p.n)
	return n
}
