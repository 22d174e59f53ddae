package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/work"
)

const (
	// block is the length of one profile. Each profile starts the sampling clock anew, at
	// a random phase, and costs about 3 ms.
	block = 100 * time.Millisecond

	// longCall is the duration from which each block consists of whole calls. With shorter
	// calls there soon are the 20 blocks that a verdict takes.
	longCall = 500 * time.Millisecond

	// figureTime is how long work runs if there are only budgets on what there is in the end.
	figureTime = time.Second

	// leastTime is the least time of a pass of CPU. For so long work has to be asleep, or to run
	// without contention, until the check says so.
	leastTime = 2 * time.Second
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
	of      []int // the budgets, by their indices
	blocks  *judge.Blocks
	decoder decode.Decoder
	cover   coverage // of the good windows

	group  span           // the windows of the next block
	all    span           // the blocks, with only the samples of work
	pieces release.Pieces // the same blocks
	last   work.Done

	loop   int64  // samples of the loop that calls work
	lost   string // why a window could not be used
	broken error

	// Samples without the label of this check:
	unlabelled decode.Merger
	roots      map[string]int64
	lostRoot   string // that of work itself, which has replaced the label
	relabelled int64  // the samples of that root

	// What is known when it is over:
	own, both *decode.Table // the samples of work, without those without the label and with them
	facts     judge.Facts
	findings  []judge.Finding
}

func (r *run) newCPUPhase() *cpuPhase {
	of := r.of(sampled)
	blocks := judge.NewBlocks(part(r.rules, of), evidence.Options{
		Runs: r.usual >= longCall,
		Once: r.bench != nil, // the benchmark says when it ends
	})
	return &cpuPhase{of: of, blocks: blocks, last: r.done(), roots: map[string]int64{}}
}

// open counts the budgets that have no verdict yet, or would have none if time is up (last), and
// may get one with more time.
func (c *cpuPhase) open(r *run, last bool) (open int) {
	for n := range c.of {
		if !c.useless(r) && c.blocks.Verdict(n, last) == evidence.Inconclusive && !c.unreachable(r, n) {
			open++
		}
	}
	return open
}

// unreachable reports whether more time would not decide budget n. That is not known before
// the second call: the first may still get to the code that the budget is about.
func (c *cpuPhase) unreachable(r *run, n int) bool {
	return r.worker.Calls.Load() >= 2 && c.blocks.Unreachable(n)
}

func (c *cpuPhase) useless(r *run) bool {
	return c.broken != nil || c.hasLostLabel() || slices.ContainsFunc(part(r.rules, c.of), isShare) && c.tooSmall()
}

func (c *cpuPhase) add(r *run, w profiler.Window) {
	before, now := c.last, r.done()
	c.last = now
	table := w.Table(&c.decoder)
	if table == nil {
		c.lost = fmt.Sprintf("%s: %s", w.Outcome, w.Reason)
		c.group = span{}
		return
	}
	c.cover.cpu += w.CPU
	c.cover.samples += table.Count()
	// Between two windows the profiler is off for some milliseconds. The work of that time
	// has no samples and is left out.
	seen := min(1, w.Elapsed.Seconds()/now.At.Sub(before.At).Seconds())
	done := now.Since(before)
	for unit := range done {
		done[unit] *= seen
	}
	if c.broken = c.group.add(&c.decoder, table, w.Elapsed, done); c.broken != nil {
		return
	}
	if r.awaitsUnit(c.group) || r.usual > 0 && (c.group.work[work.Call] == 0 || r.usual > block && c.group.elapsed < r.usual) {
		return // a block has at least one whole call, and one of each unit
	}
	c.broken = c.flush(r)
}

// unitTime is the longest block without a unit that was never counted: nobody may count it.
const unitTime = 5 * time.Second

// awaitsUnit reports whether a unit of a budget was not done yet in a block. A block without
// one has CPU but no work, so its CPU would be left out. It does not wait for the first call,
// which may last as long as the check.
func (r *run) awaitsUnit(g span) bool {
	return slices.ContainsFunc(r.cpu.of, func(i int) bool {
		per := r.rules[i].Per
		return per != "" && g.work[per] == 0 && (per != work.Call || r.worker.Calls.Load() > 0) && (g.elapsed < unitTime || r.cpu.all.work[per] > 0)
	})
}

// flush adds the windows of the group as one block.
func (c *cpuPhase) flush(r *run) error {
	g := c.group
	c.group = span{}
	t := g.sum.Table()
	others := work.ByRoot(t, r.id)
	for root, n := range others {
		c.roots[root] += n
	}
	if len(others) > 0 {
		if err := c.unlabelled.Add(work.Beside(t, r.id)); err != nil {
			return err
		}
	}
	c.lostRoot = r.worker.LostRoot()
	c.relabelled += others[c.lostRoot]
	own, loop := work.Cut(work.KeepLabelled(t, r.id))
	c.loop += loop
	if err := c.blocks.Add(own, r.about(kinds.CPU, g.elapsed, g.work)); err != nil {
		return err
	}
	if r.onBlock != nil {
		r.onBlock(own)
	}
	n := float64(own.Count())
	c.pieces.Add(release.Piece{Samples: n, CPU: n * float64(own.Period) * 1e-9, Elapsed: g.elapsed.Seconds(), Work: g.work})
	return c.all.add(&c.decoder, own, g.elapsed, g.work)
}

// close ends the phase.
func (c *cpuPhase) close(r *run) (err error) {
	if c.broken == nil && c.all.sum == nil && c.group.sum != nil {
		c.broken = c.flush(r) // a part of a block is better than none, if the first call took longer than all windows
	}
	if c.broken != nil || c.all.sum == nil {
		return c.broken
	}
	c.own, c.facts = c.all.sum.Table(), r.about(kinds.CPU, c.all.elapsed, c.all.work)
	if c.findings, err = c.blocks.Close(c.own, c.facts); err != nil {
		return err
	}
	if len(c.roots) > 0 {
		both := c.decoder.Merger()
		if err = both.Add(c.own); err == nil {
			err = both.Add(c.unlabelled.Table())
		}
		c.both = both.Table()
	}
	c.all.sum, c.group, c.unlabelled = nil, span{}, decode.Merger{}
	return err
}
