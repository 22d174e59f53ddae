package evidence

const (
	// A pass takes 20 blocks, a case for a fail 12 (and as many again to confirm
	// it), and 20 if nearly all blocks are alike: then the overdispersion is not
	// to be seen yet. TestSequentialMinimum has the table behind these.
	passBlocks, failBlocks, alikeBlocks = 20, 12, 20

	// Blocks that are runs are independent already; six show a variance.
	runBlocks = 6

	// plainBlocks are enough where the share is beyond doubt: a second. Of a share
	// below plainShare a few bursts may be all that was seen. See [Sequential.plain].
	plainBlocks, plainShare = 10, 0.8

	// minBatches is the least number of merged blocks that show a variance. As
	// many blocks with a hit, and with a miss, make blocks that are not alike.
	minBatches = 6
)

// A Sequential is the verdict of a test that runs until it knows. It is fed
// block by block, a block being a short profile of its own (100 ms, say), and it
// may be looked at after each. Make one with [NewSequential]; it is a plain value
// of about a kilobyte, however many blocks it is fed.
//
// A Fail takes proof with error [FailAlpha], and then a confirmation: the same
// on fresh blocks, at least as many, with error [PassAlpha], while the first
// proof still stands on all blocks together. A Pass takes proof with error
// PassAlpha that the share is below [Zone] times the limit. A share that is beyond
// doubt fails after ten blocks, without confirmation: 98% against a limit of 20%.
//
// Phases of the work that are longer than the check cannot be seen. With blocks
// of 100 ms and bursts of the same length, none of 20,000 innocents at the limit
// failed within ten seconds, and one in 200 culprits at 1.5 times the limit
// passed, having paused at the start. With bursts of half a second it was one in
// 3000, and one in six. So a block should be no shorter than what the work
// repeats. (go test -run TestSequentialMinimum -long)
type Sequential struct {
	limit    float64
	edge     float64 // a pass is below it
	up, down weights
	far      weights  // for shares many times the limit
	earlier  *earlier // of growth: what a pass must be shown against as well
	// Blocks that it takes: passBlocks, failBlocks, alikeBlocks, or others where
	// blocks are runs.
	toPass, toFail, alike float64

	all, fresh blocks
	candidate  float64 // how many blocks made the case that fresh is to confirm
	once       bool    // no verdict has a say in when it ends
	verdict    Verdict
}

// NewSequential returns the judge of a share against a limit.
func NewSequential(limit float64) Sequential {
	limit = share(limit)
	return Sequential{
		limit:  limit,
		edge:   edge(limit),
		up:     against(limit, Up()),
		down:   against(edge(limit), Down()),
		far:    against(limit, Grid{25, 60, 200, 1000}),
		toPass: passBlocks,
		toFail: failBlocks,
		alike:  alikeBlocks,
	}
}

// Runs says that blocks are each one whole run of the same work, for work that takes
// long. What happens within a run then happens in every block, so that six blocks are
// enough for either verdict. It must come before the first block.
func (s *Sequential) Runs() { s.toPass, s.toFail, s.alike = runBlocks, runBlocks, runBlocks }

// Once says that the check lasts as long as somebody else decides, as a benchmark
// does, and not until there is a verdict. Then it is looked at once, at its end, and
// [Sequential.Close] fails on what is proven by all blocks together: there is no
// lucky moment that a confirmation would have to rule out.
func (s *Sequential) Once() { s.once = true }

// Add takes the k hits in n samples of one block and returns the verdict. Once
// it is Pass or Fail it stays, and further blocks are ignored. A block without
// samples says nothing and does not count.
func (s *Sequential) Add(k, n float64) Verdict {
	k, n = counts(k, n)
	if n == 0 || s.verdict != Inconclusive {
		return s.verdict
	}
	s.all.add(k, n)
	if s.candidate > 0 {
		s.fresh.add(k, n)
	}
	switch {
	case s.earlier != nil && s.grown(&s.all, lnPass):
		s.verdict = Pass
	case s.earlier != nil && s.limit == 1:
		// A baseline of so few samples may have been anything.
	case s.limit == 1:
		s.verdict = Pass
	case s.earlier == nil && s.below(&s.all, lnPass):
		s.verdict = Pass
	case s.earlier == nil && s.plain():
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

// plain reports whether the share is beyond doubt above the limit. No dependence
// inside a block counts against that: each block counts as one sample, and each pair
// of the short blocks of a benchmark. So nothing is estimated that more blocks would
// correct. At a limit of 20% nine blocks of nothing but hits are proof, at one of 50%
// 21.
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

// below reports whether there is proof that the share is below the zone.
func (s *Sequential) below(b *blocks, enough float64) bool {
	return b.share() < s.edge && b.number >= s.least(b, s.toPass) && b.proof(&s.down) >= enough
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

// Samples returns how many samples were added before the verdict.
func (s *Sequential) Samples() float64 { return s.all.n }

// Confirming reports whether there is a case for Fail that awaits confirmation.
func (s *Sequential) Confirming() bool { return s.verdict == Inconclusive && s.candidate > 0 }

// Finding returns the verdict so far, with its numbers; Needed is how many
// samples would let [Sequential.Close] pass.
func (s *Sequential) Finding() Finding {
	b := &s.all
	phi := b.phi()
	f := Finding{
		Verdict: s.verdict,
		Low:     Lower(b.k, b.n, phi, FailAlpha),
		High:    Upper(b.k, b.n, phi, PassAlpha),
	}
	if b.n > 0 {
		f.Value = b.share()
	}
	if f.Verdict == Inconclusive {
		f.Needed = s.needed()
	}
	return f
}

// Close returns the finding when there is no time left. An open verdict becomes
// Pass when there were enough samples that a share of [Notable] times the limit
// would have made a case for Fail: a test near its limit must not flake. That
// pass differs from a proven one in that [Sequential.Verdict] remains Inconclusive.
// While a case for Fail awaits its confirmation, it takes proof that the share is
// below Notable times the limit besides. Otherwise Close is inconclusive, and Needed
// says how many samples it takes.
func (s *Sequential) Close() Finding {
	f := s.Finding()
	if f.Verdict == Inconclusive && s.once && s.limit > 0 && s.earlier == nil && s.exceeded() {
		f.Verdict = Fail
	}
	if f.Verdict == Inconclusive && s.all.n > 0 && s.limit > 0 && s.catches(notable(s.limit), 1) &&
		(f.Value <= notable(s.limit) && s.candidate == 0 || f.High < notable(s.limit)) {
		f.Verdict = Pass
	}
	if f.Verdict != Inconclusive {
		f.Needed = 0
	}
	return f
}

// onceAlike is how many blocks it takes, looked at once, where nearly all are alike
// and the share is not beyond doubt: as many in 50 ms as a verdict of blocks of
// 100 ms takes with its confirmation.
const onceAlike = 80

// exceeded reports whether all blocks prove that the share is above the limit,
// without more blocks to confirm it. So all correlation of neighbours counts, also
// what may be chance: of 400,000 checks of 19 blocks at the limit, with bursts twice as
// long as a block, this fails none, and 2 of as many with 24 of fewer samples, where
// it was 8 in 800,000 and 100 without these two conditions.
func (s *Sequential) exceeded() bool {
	b := &s.all
	return b.share() > s.limit && b.number >= s.toFail &&
		(min(b.hits, b.misses) >= minBatches || b.number >= onceAlike) &&
		Temper(s.up.evidence(b.k, b.n, b.dispersion(0)), b.number-1) >= lnFail
}

// catches reports whether so many times the blocks make a case against a share.
func (s *Sequential) catches(share, times float64) bool {
	b := &s.all
	number, n := b.number*times, b.n*times
	return number >= s.toFail &&
		Temper(s.up.evidence(n*share, n, b.phi()), number-1) >= lnFail
}

// clears reports whether so many times the blocks, with the share that they have,
// show that it is below the zone.
func (s *Sequential) clears(times float64) bool {
	b := &s.all
	number := b.number * times
	return number >= s.least(b, s.toPass) &&
		Temper(s.down.evidence(b.k*times, b.n*times, b.phi()), number-1) >= lnPass
}

// needed returns the samples in all that make a verdict, if the share stays as it
// is, or 0 if none do. It is right within a factor of two; see TestSequentialNeeded.
func (s *Sequential) needed() float64 {
	b := &s.all
	switch {
	case s.limit == 0 && b.k == 0:
		return 0 // nothing is below no share at all
	case b.n == 0:
		return Needed(0, 0, s.limit, 1)
	case s.candidate > 0 && s.fresh.number < s.candidate:
		// A confirmation needs as many blocks again as the case took.
		return ceil(b.n/b.number*2*s.candidate, b.n)
	}
	share, far := b.share(), notable(s.limit)
	times := most
	if share <= far { // Close passes
		times = s.times(func(x float64) bool { return s.catches(far, x) })
	}
	if share < s.edge {
		times = min(times, s.times(s.clears))
	}
	if share > s.limit {
		again := 2.0 // for the confirmation
		if s.once {
			again = 1
		}
		times = min(times, again*s.times(func(x float64) bool { return s.catches(share, x) }))
	}
	if times*b.n > most {
		return 0
	}
	return ceil(times*b.n, b.n)
}

// times finds how many times the blocks are enough. Evidence grows with the number
// of samples, so halving finds the least.
func (s *Sequential) times(enough func(times float64) bool) float64 {
	if enough(1) {
		return 1
	}
	lo, hi := 1.0, 2.0
	for !enough(hi) {
		if lo, hi = hi, hi*2; s.all.n*hi > most {
			return most
		}
	}
	for hi-lo > lo/100 { // finer than anybody can plan
		if mid := (lo + hi) / 2; enough(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}
