package tally

import (
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/scaffold"
)

// A Stack is one sample's stack with its inlined frames, leaf first.
type Stack struct {
	table  *decode.Table
	sample int
	frames []decode.ID
	work   []bool  // by frame: it is the program's own work, or what was at work
	lines  []int32 // indices into the table's Lines, parallel to frames; see Lines
	leaf   int     // frames[:leaf] are interrupts, frames[leaf] is what was at work
	cut    int     // frames[:cut] are the program's own work
	entry  decode.ID
}

// Load reads the stack of sample i.
func (s *Stack) Load(t *decode.Table, i int, names *Names) {
	s.table, s.sample = t, i
	s.frames, s.lines = s.frames[:0], s.lines[:0]
	sample := &t.Samples[i]
	for _, l := range t.Stacks[sample.StackLo:sample.StackHi] {
		loc := t.Locations[l]
		for k := loc.LineLo; k < loc.LineHi; k++ {
			s.frames = append(s.frames, t.Lines[k].Name)
		}
	}
	s.leaf = 0
	for s.leaf < len(s.frames)-1 && names.class[s.frames[s.leaf]] == scaffold.Interrupt {
		s.leaf++
	}
	s.cut = scaffold.Cut(s.frames, names.class)
	// What a worker calls first is its entry point, unless it is the runtime: a
	// body that does nothing but select spends its time there, and not on what its
	// author would call a job.
	if at := s.cut; at < len(s.frames)-1 && names.runtime(s.frames[at]) && !names.runtime(s.frames[at+1]) {
		s.cut++
	}
	s.entry = -1
	if s.cut < len(s.frames) {
		s.entry = s.frames[s.cut]
	}
	s.work = s.work[:0]
	for i, f := range s.frames {
		s.work = append(s.work, i == s.leaf || i > s.leaf && names.class[f] == scaffold.Work && f != s.entry)
	}
}

// Frames are the names of the stack, leaf first. Valid until the next Load.
func (s *Stack) Frames() []decode.ID { return s.frames }

// Line is the index into the table's Lines of frame i. Counting has no use for
// lines, so they are looked up when somebody asks.
func (s *Stack) Line(i int) int32 {
	if len(s.lines) != len(s.frames) {
		sample := &s.table.Samples[s.sample]
		for _, l := range s.table.Stacks[sample.StackLo:sample.StackHi] {
			loc := s.table.Locations[l]
			for k := loc.LineLo; k < loc.LineHi; k++ {
				s.lines = append(s.lines, k)
			}
		}
	}
	return s.lines[i]
}

// Cut is the number of frames, from the leaf, that are the program's own work.
func (s *Stack) Cut() int { return s.cut }

// Entry is the entry point, the frame at Cut, or -1.
func (s *Stack) Entry() decode.ID { return s.entry }

// below returns how many frames, from the leaf, are called by the outermost
// function that the pattern matches.
func (s *Stack) below(names *Names, pattern int32) (int, bool) {
	for i := len(s.frames) - 1; i >= 0; i-- {
		for _, m := range names.Matches(s.frames[i]) {
			if m == pattern {
				return i, true
			}
		}
	}
	return 0, false
}
