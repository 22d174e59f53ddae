package guard

import (
	"time"

	"github.com/profguard/profguard/internal/process"
)

const (
	// spikeTick is how often the process's CPU is looked at: one read of 4 us.
	spikeTick = time.Second
	// A second counts as a jump when it used spikeFactor times the usual, and
	// spikeCores more. A quarter of a core is what a person would call something:
	// a collection in a small process stays below it.
	spikeFactor = 2
	spikeCores  = 0.25
	// spikeMemory is the weight of the past: the usual is about the last twenty
	// seconds.
	spikeMemory = 0.95
)

// spike watches for jumps of the process's CPU, so that what goes wrong at once
// is profiled at once. It asks for at most one window a period, so a load that
// jumps all the time does not become a process that is profiled all the time.
type spike struct {
	usual  float64
	known  bool
	before process.Snapshot
	last   time.Time // when it was last allowed
}

// restart forgets where it looked last: what happened since is known from a
// window.
func (s *spike) restart(now process.Snapshot) { s.before = now }

// look takes one look and reports whether the CPU has jumped.
func (s *spike) look(now process.Snapshot) bool {
	f := process.Between(s.before, now)
	s.before = now
	if f.Elapsed <= 0 {
		return false
	}
	jump := s.known && f.Cores > spikeFactor*s.usual && f.Cores > s.usual+spikeCores
	if s.known {
		s.usual = spikeMemory*s.usual + (1-spikeMemory)*f.Cores
	} else {
		s.usual, s.known = f.Cores, true
	}
	return jump
}

// allow reports whether a window may start because of a jump, and notes that one
// does.
func (s *spike) allow(now time.Time, every time.Duration) bool {
	if !s.last.IsZero() && now.Sub(s.last) < every {
		return false
	}
	s.last = now
	return true
}
