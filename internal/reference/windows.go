package reference

import (
	"maps"

	"github.com/profguard/profguard/internal/release"
)

// mostWindows is how many windows are told apart. Beyond it, neighbours are added up.
const mostWindows = 64

// Windows are those of a process, in the order of their time, but for their profiles. Their number is
// bounded: each stands for as many as the others, but for the last one.
type Windows struct {
	list []release.Window
	each int // how many windows one of the list stands for
	last int // how many the last one stands for
	seen int
}

// Add adds a window.
func (s *Windows) Add(w release.Window) {
	s.seen++
	s.each = max(s.each, 1)
	if s.last > 0 && s.last < s.each {
		add(&s.list[len(s.list)-1], w)
		s.last++
		return
	}
	if len(s.list) == mostWindows {
		for i := range mostWindows / 2 {
			sum := s.list[2*i]
			add(&sum, s.list[2*i+1])
			s.list[i] = sum
		}
		s.list, s.each = s.list[:mostWindows/2], 2*s.each
	}
	w.Work = maps.Clone(w.Work)
	s.list, s.last = append(s.list, w), 1
}

// List is valid until the next Add.
func (s *Windows) List() []release.Window { return s.list }

// add adds a window to another one. Work is known of both, or not at all: counters may have been reset, or
// come later. So is the machine.
func add(to *release.Window, w release.Window) {
	for name, n := range w.Work {
		if _, known := to.Work[name]; known {
			to.Work[name] += n
		}
	}
	maps.DeleteFunc(to.Work, func(name string, _ float64) bool { _, known := w.Work[name]; return !known })
	to.Machine = to.Machine.And(w.Machine)
	to.Samples, to.CPU, to.Elapsed = to.Samples+w.Samples, to.CPU+w.CPU, to.Elapsed+w.Elapsed
}
