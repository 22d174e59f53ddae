package reference

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/release"
)

// A Sum adds the windows of a process up, in bounded memory. It is not safe for concurrent use.
type Sum struct {
	Build   release.Build
	Since   time.Time // of the first window of the build
	Module  string
	Modules []string

	symbols *decode.Symbols // also of the table of the build before
	kept    *decode.Packed  // nil before the first window
	windows Windows
	level   int // see less
	spreads release.Spreads
	was     map[string]float64 // the spread that an earlier process of the build has measured
}

const (
	// These bound the table, so that this build and the one before take at most a megabyte together: see
	// TestKeeperBounded. Windows of real services had 250 to 2,800 different stacks, and far fewer without lines.
	mostStacks, mostLocations, mostFrames = 2500, 2500, 100_000
	// rare is up to how many samples a stack is rare: the lines of such a stack are given up before others.
	rare = 2
	// spreadShare is the share of a function from which its spread is kept.
	spreadShare = 0.002
)

// Add adds a window. The table is not kept.
func (s *Sum) Add(ctx context.Context, t *decode.Table, w release.Window) error {
	hits, n, err := s.sideOf(t).Charged(ctx) // what counts is forgotten: it is as large as all else that is kept
	if err != nil {
		return fmt.Errorf("reference: %w", err)
	}
	if err := s.add(ctx, t); err != nil {
		return fmt.Errorf("reference: %w", err)
	}
	w.Samples = n
	s.spreads.Add(n, hits)
	s.windows.Add(w)
	return nil
}

const (
	// From endedLevel on, stacks end in functions that they are charged to, and from linelessLevel on they have no
	// lines.
	endedLevel, linelessLevel = 1, 2

	mostLevel = linelessLevel + len(depths)
)

// depths are how many locations of a stack are kept, from the root, at the levels after linelessLevel.
var depths = [...]int{40, 20, 10, 5, 3, 1}

// less is a table as it is kept at the present level: stacks lose what they call below the functions that they are
// charged to, then their lines, and in the end these functions, too.
func (s *Sum) less(ctx context.Context, t *decode.Table) (*decode.Table, error) {
	if s.level < endedLevel {
		return t, nil
	}
	t, err := release.Ended(ctx, s.sideOf(t))
	if err == nil && s.level >= linelessLevel {
		t = t.WithoutLines(math.MaxInt64)
	}
	if d := s.depth(); err == nil && d > 0 {
		t = t.Shallow(d)
	}
	return t, err
}

// sideOf is a side with a table of the program.
func (s *Sum) sideOf(t *decode.Table) *release.Side {
	return &release.Side{Table: t, Module: s.Module, Modules: s.Modules}
}

// depth is how many locations of a stack are kept, 0 for all.
func (s *Sum) depth() int {
	if s.level <= linelessLevel {
		return 0
	}
	return depths[s.level-linelessLevel-1]
}

// merger is one for the names of this sum.
func (s *Sum) merger() *decode.Merger {
	if s.symbols == nil {
		s.symbols = new(decode.Symbols)
	}
	return s.symbols.Merger()
}

// add adds a table.
func (s *Sum) add(ctx context.Context, t *decode.Table) error {
	m := s.merger()
	if s.kept != nil {
		if err := m.Add(s.kept.Table()); err != nil {
			return err
		}
	}
	less, err := s.less(ctx, t)
	if err != nil {
		return err
	}
	if err := m.Add(less); err != nil {
		return err
	}
	sum, err := s.small(ctx, m.Table())
	if err == nil {
		s.kept = sum.Pack()
	}
	return err
}

// small makes a table smaller if it is too large, by what becomes the level. Before all stacks lose their lines, only
// rare ones do: what comes has lines again.
func (s *Sum) small(ctx context.Context, t *decode.Table) (*decode.Table, error) {
	for rarely := false; isLarge(t) && s.level < mostLevel; {
		less := t.WithoutLines(rare)
		if rarely = s.level == endedLevel && !rarely; !rarely {
			s.level++
			var err error
			if less, err = s.less(ctx, t); err != nil {
				return nil, err
			}
		}
		m := s.merger()
		if err := m.Add(less); err != nil {
			return nil, err
		}
		t = m.Table()
	}
	return t, nil
}

// sharing is the side of another build, not larger than this one's may be, with names that both have once.
func (s *Sum) sharing(ctx context.Context, of *release.Side) (*release.Side, error) {
	m := s.merger() // makes the symbols, too
	if err := m.Add(of.Table); err != nil {
		return nil, err
	}
	other := Sum{symbols: s.symbols, Module: s.Module, Modules: s.Modules, level: levelOf(of)}
	t, err := other.small(ctx, m.Table())
	if err != nil {
		return nil, err
	}
	side := *of
	side.Table, side.Module, side.Modules, side.Ended, side.Depth = t.Pack().Table(), s.Module, s.Modules, other.level >= endedLevel, other.depth()
	return &side, nil
}

// levelOf is the level at which a side was kept, as far as it matters.
func levelOf(s *release.Side) int {
	switch {
	case !s.Ended:
		return 0
	case s.Depth == 0:
		return endedLevel
	}
	level := mostLevel
	for level > linelessLevel+1 && depths[level-linelessLevel-1] < s.Depth {
		level--
	}
	return level
}

func isLarge(t *decode.Table) bool {
	return len(t.Samples) > mostStacks || len(t.Locations) > mostLocations || t.Frames > mostFrames
}

// Windows is how many windows there were.
func (s *Sum) Windows() int { return s.windows.seen }

// Samples is how many were added up.
func (s *Sum) Samples() int64 { return s.kept.Count() }

// Work is what was done, by unit.
func (s *Sum) Work() map[string]float64 { return (&release.Side{Windows: s.windows.List()}).Work() }

// Side is what was added up. It is valid until the next Add. It is nil before the first one.
func (s *Sum) Side() *release.Side {
	if s.kept == nil {
		return nil
	}
	spread := s.spreads.Phi(spreadShare)
	for name, phi := range s.was {
		spread[name] = max(spread[name], phi)
	}
	return &release.Side{
		Build: s.Build, Since: s.Since, Table: s.kept.Table(), Windows: s.windows.List(), Spread: spread,
		Module: s.Module, Modules: s.Modules, Ended: s.level >= endedLevel, Depth: s.depth(),
	}
}

// resume adds what an earlier process of the same build has left.
func (s *Sum) resume(ctx context.Context, own *release.Side) error {
	s.level = max(s.level, levelOf(own))
	if err := s.add(ctx, own.Table); err != nil {
		return fmt.Errorf("reference: %w", err)
	}
	for _, w := range own.Windows {
		s.windows.Add(w)
	}
	s.was = own.Spread
	if !own.Since.IsZero() && own.Since.Before(s.Since) {
		s.Since = own.Since
	}
	return nil
}
