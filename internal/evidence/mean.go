package evidence

import "math"

// A Mean is of amounts per unit, where each amount is of so many units: the seconds of CPU
// that some calls took, per call.
type Mean struct{ a, n, count, aa, an, nn float64 }

// Add takes an amount that n units took.
func (m *Mean) Add(amount, n float64) {
	m.count++
	m.a, m.n = m.a+amount, m.n+n
	m.aa, m.an, m.nn = m.aa+amount*amount, m.an+amount*n, m.nn+n*n
}

// Units is how many units there were.
func (m *Mean) Units() float64 { return m.n }

// Value is the mean per unit.
func (m *Mean) Value() float64 { return m.a / m.n }

// Bounds are those of the mean, each with error alpha, by Student's likelihood ratio.
// resolution is how exactly an amount is measured: they vary by that much at least.
func (m *Mean) Bounds(alpha, resolution float64) (low, high float64) {
	if m.count < 2 || m.n <= 0 {
		return math.Inf(-1), math.Inf(1)
	}
	mean, nu := m.Value(), m.count-1
	squares := max(0, m.aa-2*mean*m.an+mean*mean*m.nn)
	variance := max(squares/nu, resolution*resolution)
	t := math.Sqrt(nu * math.Expm1(2*-math.Log(alpha)/(nu+1)))
	d := t * math.Sqrt(variance*m.count) / m.n
	return mean - d, mean + d
}
