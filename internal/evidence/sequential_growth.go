package evidence

// earlier is what a [Sequential] of growth compares with: k hits of a baseline
// in n samples, or in so much exposure.
type earlier struct {
	k, n  float64
	limit float64 // of the growth: a difference of shares, or of a ratio from one

	// exposure is what one trial of the check stands for, where rates are
	// compared; 0 for shares.
	exposure float64
}

// NewSequentialGrowth returns the judge of how a share grew over k0 hits in n0, by
// at most margin. It fails on proof that the share is above [GrowthLimit]. It
// passes on two: that the share is below the baseline's plus [Zone] times the
// margin, which may be asked after each block; and, as the baseline is a sample
// as well and may have been high by chance, that [Growth] passes. A baseline that
// is too small thus leaves the verdict open, however long the check goes on.
func NewSequentialGrowth(k0, n0, margin float64) Sequential {
	k0, n0 = counts(k0, n0)
	margin = share(margin)
	e := &earlier{k: k0, n: n0, limit: margin}
	pass := 0.0
	if n0 > 0 {
		pass = share(k0/n0 + Zone*margin)
	}
	return e.judge(GrowthLimit(k0, n0, 1, margin), pass)
}

// NewSequentialRatio is [NewSequentialGrowth] for a rate that may be limit times
// that of k0 hits over exposure0. Its blocks are of [Trials] against
// [RateLimit], with the limit [RareShare].
func NewSequentialRatio(k0, exposure0, limit float64) Sequential {
	k0, exposure0, limit = amount(k0), amount(exposure0), amount(limit)
	most := RateLimit(k0, exposure0, limit)
	if most == 0 || exposure0 == 0 {
		return NewSequential(RareShare)
	}
	e := &earlier{k: k0, n: exposure0, limit: limit - 1, exposure: RareShare / most}
	return e.judge(RareShare, share(k0/exposure0*ratioEdge(limit)*e.exposure))
}

func (e *earlier) judge(limit, pass float64) Sequential {
	s := NewSequential(limit)
	s.edge, s.earlier = pass, e
	s.up, s.down = against(limit, UpNear()), against(s.edge, DownNear())
	return s
}

// finding is that of [Growth], or of [Ratio].
func (e *earlier) finding(k, n, phi float64) Finding {
	if e.exposure == 0 {
		return Growth(k, n, e.k, e.n, e.limit, phi, 1)
	}
	f := Ratio(k, n*e.exposure, e.k, e.n, 1+e.limit, phi)
	f.Value, f.Low, f.High = f.Value-1, f.Low-1, f.High-1
	return f
}

// grown reports whether there is proof that the growth is below the zone. Where
// that ends at a share of 100%, only the baseline is in doubt.
func (s *Sequential) grown(b *blocks, enough float64) bool {
	e := s.earlier
	return b.number >= s.least(b, s.toPass) && (s.edge == 1 || b.share() < s.edge && b.proof(&s.down) >= enough) &&
		e.finding(b.k, b.n, b.phi()).High < Zone*e.limit
}

// CloseGrowth is [Sequential.Close] for a judge of growth, on all blocks until its
// verdict; see [Growth] and [Ratio], whose ratio is less one here. An open verdict
// becomes Pass when growth is surely less than [Notable] times its limit. It does
// not when such growth would merely have been seen: that goes by the measured
// number, which is off by whatever the baseline is.
func (s *Sequential) CloseGrowth() Finding {
	e, b := s.earlier, &s.all
	if e == nil || b.n == 0 {
		return Finding{Low: -1, High: most}
	}
	f := e.finding(b.k, b.n, b.phi())
	f.Verdict = s.verdict
	if f.Verdict == Inconclusive && b.number >= s.toFail && s.candidate == 0 && f.High < Notable*e.limit {
		f.Verdict = Pass
	}
	return f
}
