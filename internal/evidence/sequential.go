package evidence

import "math"

const (
	// A pass takes 20 blocks, a case for a fail 12 (and as many again to confirm
	// it), and 20 if nearly all blocks are alike: then the overdispersion does not
	// show yet. TestSequentialMinimum has the table behind these.
	passBlocks, failBlocks, alikeBlocks = 20, 12, 20

	// Blocks that are runs are independent already; six show a variance.
	runBlocks = 6

	// plainBlocks, a second, are enough where the share is beyond doubt. Of a share
	// below plainShare a few bursts may be all that was seen.
	plainBlocks, plainShare = 10, 0.8

	// onceAlike is how many blocks it takes, looked at once, where nearly all are alike
	// and the share is not beyond doubt: as many in 50 ms as a verdict of blocks of
	// 100 ms takes with its confirmation.
	onceAlike = 80

	// minBatches is the least number of merged blocks that show a variance. As
	// many blocks with a hit, and with a miss, make blocks that are not alike.
	minBatches = 6
)

// A Sequential is the verdict of a test that runs until it knows. It is fed block by
// block, a block being a short profile of its own (100 ms, say), and it may be looked at
// after each. Make one with [NewSequential]; it is a plain value of about a kilobyte,
// however many blocks it is fed.
//
// A Fail takes proof with error [FailAlpha], and then a confirmation: proof with error
// [PassAlpha] on fresh blocks, at least as many, while the first still stands on all
// blocks together. A Pass takes proof with error PassAlpha that the share is below
// the end of the zone. A share that is beyond doubt fails after ten blocks, without
// confirmation: 98% against a limit of 20%.
//
// Phases of the work that are longer than the check do not show. With blocks of 100 ms
// and bursts of the same length, none of 20,000 checks at the limit failed within ten
// seconds, and one in 200 at 1.5 times the limit passed, having paused at the start.
// With bursts of half a second it was one in 3000, and one in six. So a block should be
// no shorter than what the work repeats. (go test -run TestSequentialMinimum -long)
type Sequential struct {
	of       Limit
	limit    float64 // as a share
	edge     float64 // a pass is below it
	up, down weights
	far      weights // for shares many times the limit
	worth    worth
	// Blocks that it takes: passBlocks, failBlocks, alikeBlocks, or others where
	// blocks are runs.
	toPass, toFail, alike float64

	all, fresh blocks
	candidate  float64 // how many blocks made the case that fresh is to confirm
	once       bool    // no verdict has a say in when it ends
	verdict    Verdict
}

// NewSequential returns the judge of a limit. Of growth, it fails on proof that the limit of
// [Limit.Bounds] is exceeded. It passes on two: that the share is below the baseline's and
// [Zone] times the limit, and, as the baseline may have been high by chance, that
// [Limit.Growth] passes. A baseline that is too small thus leaves the verdict open,
// however long the check goes on.
func NewSequential(l Limit) Sequential {
	s := Sequential{of: l, toPass: passBlocks, toFail: failBlocks, alike: alikeBlocks}
	s.limit, s.edge, s.worth = l.shares()
	switch {
	case l.Grows && l.Rates:
		s.edge = share(l.K0 / l.N0 * (1 + Zone*l.Most) * float64(s.worth))
	case l.Grows:
		s.edge = share(l.K0/l.N0 + Zone*share(l.Most))
	}
	above, below := l.odds()
	s.up, s.down, s.far = against(s.limit, above), against(s.edge, below), against(s.limit, upFar)
	return s
}

// Runs says that blocks are each one whole run of the same work, for work that takes
// long. What happens within a run then happens in every block, so that six blocks are
// enough for either verdict. It must come before the first block.
func (s *Sequential) Runs() { s.toPass, s.toFail, s.alike = runBlocks, runBlocks, runBlocks }

// Once says that the check lasts as long as somebody else decides, as a benchmark does.
// Then [Sequential.Close] fails on what is proven by all blocks together: with one look
// there is no lucky moment that a confirmation would have to rule out.
func (s *Sequential) Once() { s.once = true }

// Add takes the k hits of one block, in n samples or over an exposure of n, and returns
// the verdict. Once it is Pass or Fail it stays, and further blocks are ignored. A block
// without samples says nothing and does not count.
func (s *Sequential) Add(k, n float64) Verdict {
	k, n = counts(k, s.worth.trials(n))
	if n == 0 || s.verdict != Inconclusive {
		return s.verdict
	}
	s.all.add(k, n)
	if s.candidate > 0 {
		s.fresh.add(k, n)
	}
	switch {
	case s.passes():
		s.verdict = Pass
	case !s.of.Grows && s.plain():
		s.verdict = Fail
	case s.candidate == 0:
		if s.above(&s.all, lnFail) {
			s.candidate = s.all.number
		}
	case s.fresh.number >= s.candidate && s.above(&s.fresh, lnPass) && s.above(&s.all, lnFail):
		s.verdict = Fail
	}
	return s.verdict
}

// plain reports whether the share is beyond doubt above the limit. Each block counts as
// one sample, and each pair of the short blocks of a benchmark, so that no dependence
// inside a block counts. At a limit of 20% nine blocks of nothing but hits are proof, at
// one of 50% 21.
func (s *Sequential) plain() bool {
	b := &s.all
	least, copies := min(plainBlocks, s.toFail), b.copies()
	if s.once {
		least, copies = 2*least, 2*copies
	}
	return b.share() > max(s.limit, plainShare) && b.number >= least && s.far.evidence(b.k, b.n, copies) >= lnFail
}

// above reports whether there is proof that the share is above the limit.
func (s *Sequential) above(b *blocks, enough float64) bool {
	return b.share() > s.limit && b.number >= s.least(b, s.toFail) && b.proof(&s.up) >= enough
}

// passes reports whether there is proof that the share is below the end of the zone. Of
// growth whose zone ends at a share of 100%, only the baseline is in doubt.
func (s *Sequential) passes() bool {
	b, grows := &s.all, s.of.Grows
	switch {
	case !grows && s.limit == 1:
		return true
	case b.number < s.least(b, s.toPass):
		return false
	case (!grows || s.edge < 1) && (b.share() >= s.edge || b.proof(&s.down) < lnPass):
		return false
	}
	return !grows || s.growth().High < Zone*s.of.Most
}

// least is the number of blocks that it takes.
func (s *Sequential) least(b *blocks, normally float64) float64 {
	if min(b.hits, b.misses) < minBatches {
		return max(normally, s.alike)
	}
	return normally
}

// Verdict returns the verdict so far.
func (s *Sequential) Verdict() Verdict { return s.verdict }

// Finding returns the verdict so far, with its numbers; Needed is how many samples let
// [Sequential.Close] pass. Of growth, see [Limit.Growth].
func (s *Sequential) Finding() Finding {
	b := &s.all
	if s.of.Grows {
		f := s.growth()
		f.Verdict = s.verdict
		return f
	}
	phi := b.phi()
	f := Finding{Verdict: s.verdict, Low: s.worth.rate(Lower(b.k, b.n, phi, FailAlpha)), High: s.worth.rate(Upper(b.k, b.n, phi, PassAlpha))}
	if b.n > 0 {
		f.Value = s.worth.rate(b.share())
	}
	if f.Verdict == Inconclusive {
		f.Needed = s.worth.exposure(s.needed())
	}
	return f
}

// growth is how much there was over the baseline.
func (s *Sequential) growth() Finding {
	return s.of.Growth(s.all.k, s.worth.exposure(s.all.n), s.all.phi(), 1)
}

// Close returns the finding when there is no time left. An open verdict becomes Pass
// when there were enough samples that a share of [Notable] times the limit would have
// made a case for Fail: a test near its limit must not flake. That pass differs from a
// proven one in that [Sequential.Verdict] remains Inconclusive. While a case for Fail
// awaits its confirmation, it takes proof that the share is below Notable times the limit
// besides. So it does always of growth, whose measured number is off by whatever the
// baseline is.
func (s *Sequential) Close() Finding {
	f, far := s.Finding(), s.worth.rate(notable(s.limit))
	switch {
	case f.Verdict != Inconclusive:
	case s.of.Grows:
		if s.all.number >= s.toFail && s.candidate == 0 && f.High < Notable*s.of.Most {
			f.Verdict = Pass
		}
	case s.limit == 0 || s.all.n == 0:
	case s.once && s.exceeded():
		f.Verdict = Fail
	case s.catches(notable(s.limit), 1) && (f.Value <= far && s.candidate == 0 || f.High < far):
		f.Verdict = Pass
	}
	if f.Verdict != Inconclusive {
		f.Needed = 0
	}
	return f
}

// exceeded reports whether all blocks prove that the share is above the limit, without
// more blocks to confirm it. So all correlation of neighbours counts, also what may be
// chance. Of 400,000 checks of 19 blocks at the limit, with bursts twice as long as a
// block, this fails none; without these conditions it was 8 in 800,000.
func (s *Sequential) exceeded() bool {
	b := &s.all
	return b.share() > s.limit && b.number >= s.toFail &&
		(min(b.hits, b.misses) >= minBatches || b.number >= onceAlike) &&
		temper(s.up.evidence(b.k, b.n, b.dispersion(0)), b.number-1) >= lnFail
}

// catches reports whether so many times the blocks make a case against a share.
func (s *Sequential) catches(share, times float64) bool {
	return s.all.would(&s.up, share, times, s.toFail, lnFail)
}

// clears reports whether so many times the blocks, with the share that they have,
// show that it is below the zone.
func (s *Sequential) clears(times float64) bool {
	return s.all.would(&s.down, s.all.share(), times, s.least(&s.all, s.toPass), lnPass)
}

// needed returns the samples in all that make a verdict, if the share stays as it
// is, or 0 if none do. It is right within a factor of two; see TestSequentialNeeded.
func (s *Sequential) needed() float64 {
	b := &s.all
	switch {
	case s.limit == 0 && b.k == 0:
		return 0 // nothing is below no share at all
	case b.n == 0:
		return Needed(0, 0, s.limit)
	case s.candidate > 0 && s.fresh.number < s.candidate:
		// A confirmation needs as many blocks again as the case took.
		return ceil(b.n/b.number*2*s.candidate, b.n)
	}
	share, far, times := b.share(), notable(s.limit), math.Inf(1)
	if share <= far { // Close passes
		times = leastTimes(func(x float64) bool { return s.catches(far, x) })
	}
	if share < s.edge {
		times = min(times, leastTimes(s.clears))
	}
	if share > s.limit {
		again := 2.0 // for the confirmation
		if s.once {
			again = 1
		}
		times = min(times, again*leastTimes(func(x float64) bool { return s.catches(share, x) }))
	}
	if times*b.n > most {
		return 0
	}
	return ceil(times*b.n, b.n)
}
