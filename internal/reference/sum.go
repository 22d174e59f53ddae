package reference

import (
	"context"
	"fmt"
	"math"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/names"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/unit"
)

// A Sum adds the windows of a process up, in bounded memory. It is not safe for concurrent use.
type Sum struct {
	Build   release.Build
	Module  string
	Modules []string

	merger  *decode.Merger
	windows Windows
	level   int // see less
	spreads release.Spreads
	was     map[string]float64 // the spread that an earlier process of the build has measured

	names   *charge.Names
	counter charge.Counter
	query   int
	layout  *charge.Layout
}

const (
	// These bound the table: with what else is kept, a build takes 0.6 to 1.6 MiB. Windows of real services had 250 to 2,800 different stacks,
	// and far fewer without lines.
	mostStacks, mostLocations, mostFrames = 2500, 2500, 130_000
	// rare is up to how many samples a stack is rare: the lines of such a stack are given up first.
	rare = 2
	// spreadShare is the share of a function from which its spread is kept.
	spreadShare = 0.002
)

// Add adds a window. The table is not kept.
func (s *Sum) Add(ctx context.Context, t *decode.Table, w release.Window) error {
	hits, n, err := s.charge(ctx, t)
	if err != nil {
		return fmt.Errorf("reference: %w", err)
	}
	if s.merger == nil {
		s.merger = new(decode.Merger)
	}
	if err := s.merger.Add(s.less(t)); err != nil {
		return fmt.Errorf("reference: %w", err)
	}
	if err := s.bound(); err != nil {
		return fmt.Errorf("reference: %w", err)
	}
	w.Samples = n
	s.spreads.Add(n, hits)
	s.windows.Add(w)
	return nil
}

// charge is what a window charges to each function, in all its samples.
func (s *Sum) charge(ctx context.Context, t *decode.Table) (hits map[string]float64, n float64, err error) {
	if s.names == nil {
		s.names = charge.NewNames(pattern.NewIndex(nil))
		s.names.Fold = names.Fold
	}
	s.names.Module, s.names.Modules = s.Module, s.Modules
	if !s.layout.Fits(t, kinds.CPU) {
		layout := charge.LayoutOf(t, kinds.CPU)
		v, ok := layout.Value(kinds.CPU, unit.Count)
		if !ok {
			return nil, 0, fmt.Errorf("expected a profile of CPU, with its samples, found one of %s", layout.Kind)
		}
		s.layout, s.counter = layout, charge.Counter{Names: s.names, Live: true}
		s.query = s.counter.Ask(charge.Query{Value: v.Index, Weight: v.Weight, Unit: charge.Folded, Charge: charge.Inner, In: -1, Where: -1, Except: -1})
	}
	if err := s.names.Learn(ctx, t); err != nil {
		return nil, 0, err
	}
	s.counter.Open(t)
	sums := s.counter.Sums(s.query)
	if s.counter.Full() {
		return nil, 0, fmt.Errorf("the profile has too many functions")
	}
	hits = make(map[string]float64, len(sums.Keys))
	for i, key := range sums.Keys {
		hits[s.counter.Name(s.query, key)] = float64(sums.Values[i])
	}
	return hits, sums.N, nil
}

// depths are how many locations of a stack are kept, from the root, at the levels from the third on.
var depths = [...]int{40, 20, 10, 5, 3, 1}

// less is a table as it is kept at the present level: rare stacks lose their lines, then all do, and in the
// end stacks lose the functions at their leaves.
func (s *Sum) less(t *decode.Table) *decode.Table {
	switch {
	case s.level == 0:
		return t
	case s.level == 1:
		return t.WithoutLines(rare)
	case s.level == 2:
		return t.WithoutLines(math.MaxInt64)
	}
	return t.WithoutLines(math.MaxInt64).Shallow(depths[s.level-3])
}

// bound makes the table smaller if it is too large.
func (s *Sum) bound() error {
	for s.isLarge() && s.level < 2+len(depths) {
		s.level++
		merger := new(decode.Merger)
		if err := merger.Add(s.less(s.merger.Table())); err != nil {
			return err
		}
		s.merger = merger
		if s.level == 1 && !s.isLarge() {
			s.level = 0 // what comes has lines again
		}
	}
	return nil
}

func (s *Sum) isLarge() bool {
	t := s.merger.Table()
	return len(t.Samples) > mostStacks || len(t.Locations) > mostLocations || t.Frames > mostFrames
}

// Windows is how many windows there were.
func (s *Sum) Windows() int { return s.windows.seen }

// Side is what was added up. It is valid until the next Add. It is nil before the first one.
func (s *Sum) Side() *release.Side {
	if s.merger == nil {
		return nil
	}
	spread := s.spreads.Phi(spreadShare)
	for name, phi := range s.was {
		spread[name] = max(spread[name], phi)
	}
	return &release.Side{
		Build: s.Build, Table: s.merger.Table(), Windows: s.windows.List(), Spread: spread,
		Module: s.Module, Modules: s.Modules,
	}
}

// resume adds what an earlier process of the same build has left.
func (s *Sum) resume(own *release.Side) error {
	if s.merger == nil {
		s.merger = new(decode.Merger)
	}
	if err := s.merger.Add(s.less(own.Table)); err != nil {
		return fmt.Errorf("reference: %w", err)
	}
	for _, w := range own.Windows {
		s.windows.Add(w)
	}
	s.was = own.Spread
	return s.bound()
}
