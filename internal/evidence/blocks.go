package evidence

import "math"

// scales are the batch sizes (1, 2, 4 blocks) on which the overdispersion is estimated: bursts
// longer than a block show in the longer ones only.
const scales = 3

// minBatches is the least number of merged blocks that show a variance. Blocks are not
// alike if at least so many have a hit, and so many a miss.
const minBatches = 6

// blocks sums blocks up, and estimates their overdispersion, in constant memory.
type blocks struct {
	number, k, n float64
	hits, misses float64 // blocks with any hit, and with any miss
	largest      float64 // the most samples in one block

	scale [scales]spread
}

func (b *blocks) add(k, n float64) {
	b.number++
	b.k += k
	b.n += n
	b.largest = max(b.largest, n)
	if k > 0 {
		b.hits++
	}
	if k < n {
		b.misses++
	}
	// Each scale passes every second piece on to the next, merged with its predecessor.
	for i := range b.scale {
		s := &b.scale[i]
		prevK, prevN := s.prevK, s.prevN
		if s.add(k, n); math.Mod(s.pieces, 2) == 1 {
			return
		}
		k, n = k+prevK, n+prevN
	}
}

func (b *blocks) share() float64 { return min(1, b.k/b.n) }

// areAlike reports whether nearly all blocks are, so that the overdispersion may not show yet.
func (b *blocks) areAlike() bool { return min(b.hits, b.misses) < minBatches }

// phi is the largest overdispersion on any scale.
func (b *blocks) phi() float64 { return b.dispersion(b.chance()) }

// dispersion is phi, if so much correlation of neighbouring blocks is expected by chance.
func (b *blocks) dispersion(chance float64) float64 {
	q := b.share()
	phi := 1.0
	for i := range b.scale {
		s := &b.scale[i]
		if s.pieces < minBatches {
			break
		}
		x := s.phi(q)
		if i == 0 {
			x *= b.carry(q, chance)
		}
		phi = max(phi, x)
	}
	return factor(phi)
}

// proof is the evidence of the blocks on a grid of odds ratios.
func (b *blocks) proof(w *weights) float64 {
	e := temper(w.evidence(b.k, b.n, b.phi()), b.number-1)
	return max(e, w.evidence(b.k, b.n, b.copies()))
}

// copies is the overdispersion if all samples of a block were copies of one sample. By
// convexity no dependence inside a block is worse, so it need not be estimated, and the
// evidence need not be tempered. Dependence between blocks is in carry.
func (b *blocks) copies() float64 {
	return max(1, b.largest*b.carry(b.share(), b.chance()))
}

// carry is the factor by which the correlation of neighbouring blocks, beyond what chance
// shows, increases the variance.
func (b *blocks) carry(q, chance float64) float64 { return inflation(b.scale[0].rho(q) - chance) }

// chance is the correlation that independent blocks of this number show by chance.
func (b *blocks) chance() float64 { return 1 / math.Sqrt(max(1, b.scale[0].pieces)) }

// spread estimates overdispersion from a stream of (k, n) pieces with a common share, in
// constant memory. The share is known only at the end, so it keeps the sums of products:
// sum (k-qn)^2 = sum kk - 2q sum kn + q^2 sum nn.
type spread struct {
	pieces float64
	k, n   float64 // hits and samples of all

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
	s.k, s.n = s.k+k, s.n+n
	s.pieces++
}

// squares returns the sum of the squared residuals about share q.
func (s *spread) squares(q float64) float64 {
	return max(0, s.kk-2*q*s.kn+q*q*s.nn)
}

// phi returns the variance of the pieces, divided by that of independent samples, and 1 if
// that is zero.
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

// inflation is the factor by which the correlation of neighbours increases the variance of
// a sum, as in a first-order autoregression. Above 0.9 an estimate of it is useless.
func inflation(rho float64) float64 {
	rho = min(max(rho, 0), 0.9)
	return (1 + rho) / (1 - rho)
}

// A Mean is the mean of an amount per unit, where each observation is the amount of a number
// of units: the CPU seconds of some calls, for example.
type Mean struct{ spread }

// Add takes an amount that n units took.
func (m *Mean) Add(amount, n float64) { m.add(amount, n) }

// Units is how many units there were.
func (m *Mean) Units() float64 { return m.n }

// Value is the mean per unit.
func (m *Mean) Value() float64 { return m.k / m.n }

// Bounds are the bounds of the mean, each with error alpha, by Student's likelihood ratio.
// resolution is the smallest difference of amounts that can be measured, and the least
// deviation that is assumed.
func (m *Mean) Bounds(alpha, resolution float64) (low, high float64) {
	if m.pieces < 2 || m.n <= 0 {
		return math.Inf(-1), math.Inf(1)
	}
	mean, nu := m.Value(), m.pieces-1
	variance := max(m.squares(mean)/nu, resolution*resolution)
	t := math.Sqrt(nu * math.Expm1(2*surprise(alpha)/m.pieces))
	d := t * math.Sqrt(variance*m.pieces) / m.n
	return mean - d, mean + d
}
