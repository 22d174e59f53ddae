package check

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/reference"
	"github.com/profguard/profguard/internal/work"
)

// A span is some time, with the sum of its profiles and the amount of work in it.
type span struct {
	sum     *decode.Merger // nil without a profile
	elapsed time.Duration
	work    map[string]float64 // by unit
}

// add adds a profile, with the names of d.
func (s *span) add(d *decode.Decoder, t *decode.Table, elapsed time.Duration, work map[string]float64) error {
	if s.sum == nil {
		s.sum, s.work = d.Merger(), map[string]float64{}
	}
	s.elapsed += elapsed
	for unit, n := range work {
		s.work[unit] += n
	}
	return s.sum.Add(t)
}

// A cpuPhase collects the CPU profile of work, and judges it block by block.
type cpuPhase struct {
	blocks  *judge.Blocks
	decoder decode.Decoder
	cover   coverage // of the good windows

	group   span              // the windows of the next block
	all     span              // the blocks, with only the samples of work
	windows reference.Windows // the same blocks
	last    work.Done

	loop   int64  // samples of the loop that calls work
	lost   string // why a window could not be used
	broken error

	unlabelled unlabelled
	relabelled int64 // of these, samples of work itself, which has replaced the label
}

// tooSmall reports whether it is beyond doubt that calling work takes more CPU than work
// itself. Samples do not tell such short work from the loop around it exactly enough for
// shares.
func (c *cpuPhase) tooSmall() bool {
	both := float64(c.loop + c.blocks.Samples())
	return both > 0 && evidence.Lower(float64(c.loop), both, 1, evidence.FailAlpha) > 0.5
}

const (
	// enough is how many samples of a root are worth a look, and how many of its goroutines must
	// have come with the calls to be taken for ones that work may leave: a server makes some for
	// all calls.
	enough = 10

	// lostLeast is the number of samples without the label, in a second of a core, from which the
	// check does not wait for samples with it, where these are fewer.
	lostLeast = 100
)

// hasLostLabel reports whether most samples of work do not have the label, because work has
// replaced it.
func (c *cpuPhase) hasLostLabel() bool {
	return c.relabelled >= lostLeast && c.relabelled > c.blocks.Samples()
}

// unlabelled are profiles of the samples without the label of this check, by their roots.
type unlabelled map[string]*decode.Merger

func (u unlabelled) add(root string, t *decode.Table) error {
	if u[root] == nil {
		u[root] = new(decode.Merger)
	}
	return u[root].Add(t)
}

func (u unlabelled) samples(root string) int64 { return u[root].Table().Count() }

// busiest lists the roots with enough samples to be looked at.
func (u unlabelled) busiest() []string {
	roots := slices.SortedFunc(maps.Keys(u), func(a, b string) int {
		return cmp.Or(cmp.Compare(u.samples(b), u.samples(a)), cmp.Compare(a, b))
	})
	return slices.DeleteFunc(roots, func(root string) bool { return u.samples(root) < enough })
}

// of are the samples of some roots.
func (u unlabelled) of(roots ...string) judge.Others {
	others := judge.Others{Roots: roots}
	for _, root := range roots {
		others.Samples += u.samples(root)
	}
	return others
}

func (c *cpuPhase) lostLabel(function string) judge.LostLabel {
	return judge.LostLabel{Samples: c.relabelled, Kept: c.blocks.Samples(), Function: function}
}
