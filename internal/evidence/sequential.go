package evidence

const (
	// A share below plainShare is not beyond doubt, as it may come from a few bursts.
	plainShare = 0.8

	// onceAlike is the number of blocks for a fail of Once if nearly all blocks are alike
	// and the share is not beyond doubt. In blocks of 50 ms that is the time that a verdict
	// by blocks of 100 ms takes with its confirmation.
	onceAlike = 80
)

// A Sequential is the verdict of a test that runs until it is decided. It takes block after
// block, where a block is a short profile of its own (100 ms, say), and it may be looked at
// after each. Make one with [NewSequential]; it is a plain value of about a kilobyte, for
// any number of blocks.
//
// A Fail takes proof with error [FailAlpha], and then a confirmation: proof with error
// [PassAlpha] on at least as many new blocks, while all blocks together still are the first
// proof. A Pass takes proof with error PassAlpha that the share is below the end of the
// zone. A share that is beyond doubt fails after ten blocks, without confirmation: 98%
// against a limit of 20%, for example.
//
// A block should not be shorter than one repetition of the work. Of checks whose work has
// bursts of five blocks, one in 3000 failed at the limit within 100 blocks, and one in six
// passed at 1.5 times the limit. (go test -run TestSequentialMinimum -long)
type Sequential struct {
	Options
	limit    float64 // as a share
	edge     float64 // a pass is below it
	up, down weights
	far      weights // for shares many times the limit
	trial    float64 // the exposure of one

	all, fresh blocks
	firstProof float64 // the number of blocks at the first proof; fresh is to confirm it
	verdict    Verdict
}

// Options say what blocks are. They must be set before the first block.
type Options struct {
	// Runs says that each block is one or several whole runs of the same work. It then has all
	// phases of the work, so that six blocks are enough for either verdict.
	Runs bool

	// Once says that the length of the check does not depend on the verdict, as in a benchmark.
	// Then [Sequential.Close] fails on the proof by all blocks together. No confirmation is
	// needed, because there is only one look.
	Once bool
}

// NewSequential returns the judge of a limit.
func NewSequential(l Limit) (s Sequential) {
	s.limit, s.trial = l.shares()
	s.edge = Edge(s.limit)
	s.up, s.down, s.far = against(s.limit, up), against(s.edge, down), against(s.limit, upFar)
	return s
}

// Add takes the k hits of one block, in n samples or over an exposure of n, and returns
// the verdict. Once it is Pass or Fail it stays, and further blocks are ignored. A block
// without samples says nothing and does not count.
func (s *Sequential) Add(k, n float64) Verdict {
	k, n = counts(k, amount(n/s.trial))
	if n == 0 || s.verdict != Inconclusive {
		return s.verdict
	}
	s.all.add(k, n)
	if s.firstProof > 0 {
		s.fresh.add(k, n)
	}
	switch {
	case s.passes():
		s.verdict = Pass
	case s.plain():
		s.verdict = Fail
	case s.firstProof == 0:
		if s.above(&s.all, lnFail) {
			s.firstProof = s.all.number
		}
	case s.fresh.number >= s.firstProof && s.above(&s.fresh, lnPass) && s.above(&s.all, lnFail):
		s.verdict = Fail
	}
	return s.verdict
}

// plain reports whether the share is above the limit beyond doubt. Each block counts as one
// sample, or each pair of the short blocks of a benchmark, so that dependence inside a block
// does not matter. At a limit of 20% nine blocks with nothing but hits are proof, at a limit
// of 50% 21.
func (s *Sequential) plain() bool {
	b := &s.all
	least, copies := s.least().plain, b.copies()
	if s.Once {
		least, copies = 2*least, 2*copies
	}
	return b.share() > max(s.limit, plainShare) && b.number >= least && s.far.evidence(b.k, b.n, copies) >= lnFail
}

// above reports whether there is proof that the share is above the limit.
func (s *Sequential) above(b *blocks, enough float64) bool {
	least := s.least().fail
	if b.areAlike() {
		least = s.least().alike
	}
	return b.share() > s.limit && b.number >= least && b.proof(&s.up) >= enough
}

// passes reports whether there is proof that the share is below the end of the zone.
func (s *Sequential) passes() bool {
	b := &s.all
	return b.number >= s.least().pass && (s.edge == 1 || b.share() < s.edge && b.proof(&s.down) >= lnPass)
}

// leastBlocks are the numbers of blocks that verdicts take: a pass, the first proof of a fail, that
// where nearly all blocks are alike, so that the overdispersion does not show yet, and a fail
// beyond doubt.
type leastBlocks struct{ pass, fail, alike, plain float64 }

// TestSequentialMinimum has the table behind these numbers.
var usualLeast = leastBlocks{pass: 20, fail: 12, alike: 20, plain: 10}

func (s *Sequential) least() leastBlocks {
	if s.Runs { // these are independent
		return leastBlocks{minBatches, minBatches, minBatches, minBatches}
	}
	return usualLeast
}

// Seen returns the hits of all blocks up to the verdict, and the samples or the exposure.
func (s *Sequential) Seen() (k, n float64) { return s.all.k, amount(s.all.n * s.trial) }

// Verdict returns the verdict so far.
func (s *Sequential) Verdict() Verdict { return s.verdict }

// bounds returns the measured value with its bounds.
func (s *Sequential) bounds() Finding {
	b, phi := &s.all, s.all.phi()
	return Finding{
		Value: amount(b.share() / s.trial),
		Low:   amount(Lower(b.k, b.n, phi, FailAlpha) / s.trial),
		High:  amount(Upper(b.k, b.n, phi, PassAlpha) / s.trial),
	}
}

// Close returns the finding when the time is up. An open verdict becomes Pass when there
// were enough samples that a share of [Notable] times the limit would have been the first proof of
// Fail: a test near its limit must not be flaky. While such a proof waits for its confirmation,
// the pass also takes proof that the share is below Notable times the limit. [Sequential.Verdict]
// stays Inconclusive after such a pass.
func (s *Sequential) Close() Finding {
	f, far := s.bounds(), amount(NotableShare(s.limit)/s.trial)
	f.Verdict = s.verdict
	switch {
	case f.Verdict != Inconclusive:
	case s.Once && s.exceeded():
		f.Verdict = Fail
	case s.catches() && (f.Value <= far && s.firstProof == 0 || f.High < far):
		f.Verdict = Pass
	default:
		f.Needed = amount(s.needed() * s.trial)
	}
	return f
}

// exceeded reports whether all blocks prove that the share is above the limit, without more
// blocks to confirm it. So the whole correlation of neighbouring blocks counts, also the
// part that may be chance. It fails none of 400,000 checks of 19 blocks at the limit, with
// bursts twice as long as a block; without these conditions it failed 8 in 800,000.
func (s *Sequential) exceeded() bool {
	b := &s.all
	return b.share() > s.limit && b.number >= s.least().fail &&
		(!b.areAlike() || b.number >= onceAlike) &&
		temper(s.up.evidence(b.k, b.n, b.dispersion(0)), b.number-1) >= lnFail
}

// catches reports whether a share of [Notable] times the limit would have been the first proof.
func (s *Sequential) catches() bool {
	b := &s.all
	return b.number >= s.least().fail &&
		temper(s.up.evidence(b.n*NotableShare(s.limit), b.n, b.phi()), b.number-1) >= lnFail
}

// needed returns the number of samples in all that decide, if the share stays the same, or 0
// if no number does. It is right within a factor of two; see TestSequentialNeeded.
func (s *Sequential) needed() float64 {
	b, least := &s.all, s.least()
	if b.n == 0 {
		return Needed(0, 0, s.limit)
	}
	needed := most
	// A proof at a share takes a number of blocks at least, and 1.25 times the samples with
	// which the bounds of a fixed number decide.
	proof := func(times, ln, share, limit, blocks float64) {
		needed = min(needed, times*max(1.25*b.phi()*ln/divergence(share, 1, limit), blocks*b.n/b.number))
	}
	share, far := b.share(), NotableShare(s.limit)
	if share <= far { // Close passes
		proof(1, lnFail, far, s.limit, least.fail)
	}
	if share < s.edge {
		proof(1, lnPass, share, s.edge, least.pass)
	}
	switch {
	case share > s.limit && s.Once:
		proof(1, lnFail, share, s.limit, least.fail)
	case share > s.limit: // with the confirmation
		proof(2, lnFail, share, s.limit, least.fail)
	}
	if needed == most {
		return 0
	}
	return ceil(needed, b.n)
}
