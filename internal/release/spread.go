package release

// Spreads measure the overdispersion of functions between windows: how much more their shares
// differ than those of independent samples would. The zero Spreads is ready to use.
type Spreads struct {
	windows float64
	n, nn   float64 // sums over the windows of their samples, and of the squares
	by      map[string]*spread
}

// A spread has sums over the windows: of a function's hits, of their squares, and of hits times samples.
type spread struct{ h, hh, hn float64 }

// mostSpreads is the number of functions that are kept: beyond it those with few hits are forgotten.
const mostSpreads = 1000

// Add counts a window: the hits of functions, in so many samples.
func (s *Spreads) Add(samples float64, hits map[string]float64) {
	if s.by == nil {
		s.by = map[string]*spread{}
	}
	s.windows, s.n, s.nn = s.windows+1, s.n+samples, s.nn+samples*samples
	for name, h := range hits {
		f := s.by[name]
		if f == nil {
			f = new(spread)
			s.by[name] = f
		}
		f.h, f.hh, f.hn = f.h+h, f.hh+h*h, f.hn+h*samples
	}
	for least := s.n / 1e4; len(s.by) > mostSpreads; least *= 2 {
		for name, f := range s.by {
			if f.h <= least {
				delete(s.by, name)
			}
		}
	}
}

// prior is how many windows the overdispersion of a function counts that was not measured: with few
// windows a measured one is far too small now and then.
const prior = 10

// Phi has the overdispersion of the functions with at least such a share of the samples.
func (s *Spreads) Phi(share float64) map[string]float64 {
	phi := map[string]float64{}
	for name, f := range s.by {
		p := f.h / s.n
		if p < share || p >= 1 || s.windows < 2 {
			continue
		}
		freedom := s.windows - 1
		measured := (f.hh - 2*p*f.hn + p*p*s.nn) / (p * (1 - p) * s.n) * s.windows / freedom
		phi[name] = max(1, (freedom*measured+prior*unmeasured)/(freedom+prior))
	}
	return phi
}
