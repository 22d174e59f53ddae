package evidence

import "math"

// Temper corrects evidence e whose overdispersion was estimated from nu+1
// pieces, as Student's t corrects the normal distribution: with few pieces the
// estimate may be far too small by chance. Evidence against (e <= 0) stays as
// it is; from fewer than two pieces there is none.
func Temper(e, nu float64) float64 {
	switch {
	case math.IsNaN(e):
		return 0
	case e <= 0:
		return max(e, -most*most)
	case !(nu >= 1):
		return 0
	}
	e, nu = min(e, most), min(nu, most)
	return (nu + 1) / 2 * math.Log1p(2*e/nu)
}

// spread estimates overdispersion from a stream of (k, n) pieces about their
// common share, in constant memory. The share is known at the end only, so the
// sums are of products: sum (k-qn)^2 = sum kk - 2q sum kn + q^2 sum nn.
type spread struct {
	pieces float64
	n      float64 // samples

	kk, kn, nn    float64 // products within a piece
	lkk, lkn, lnn float64 // products of neighbours

	prevK, prevN float64
}

func (s *spread) add(k, n float64) {
	s.kk += k * k
	s.kn += k * n
	s.nn += n * n
	if s.pieces > 0 {
		s.lkk += k * s.prevK
		s.lkn += k*s.prevN + n*s.prevK
		s.lnn += n * s.prevN
	}
	s.prevK, s.prevN = k, n
	s.n += n
	s.pieces++
}

// squares returns the sum of the squared residuals about share q.
func (s *spread) squares(q float64) float64 {
	return max(0, s.kk-2*q*s.kn+q*q*s.nn)
}

// phi returns the variance of the pieces over that of independent samples, and 1
// where there is none to compare with.
func (s *spread) phi(q float64) float64 {
	expected := s.n * q * (1 - q)
	if s.pieces < 2 || expected <= 0 {
		return 1
	}
	return s.pieces / (s.pieces - 1) * s.squares(q) / expected
}

// rho returns the correlation of neighbouring pieces.
func (s *spread) rho(q float64) float64 {
	sq := s.squares(q)
	if sq == 0 {
		return 0
	}
	return (s.lkk - q*s.lkn + q*q*s.lnn) / sq
}

// inflation is what correlation of neighbours, as of a first-order
// autoregression, does to the variance of a sum. Beyond 0.9 the estimate
// of the correlation is worth nothing.
func inflation(rho float64) float64 {
	rho = min(max(rho, 0), 0.9)
	return (1 + rho) / (1 - rho)
}
