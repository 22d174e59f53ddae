package charge

import (
	"math"
	"slices"
)

// Sums answers a [Query]. It is valid until the next count.
type Sums struct {
	Query Query
	// Total is the sum over all samples that the query selects.
	Total int64
	// N is the number of independent observations with the same information as Total: for CPU
	// profiles the number of samples; for weighted values, where few samples can
	// carry most of the weight, Kish's effective number (Σw)²/Σw².
	N float64
	// Keys lists the keys that By is not zero of, in ascending order, and Values what is
	// charged to each. Most is the largest of these.
	Keys   []int32
	Values []int64
	Most   int64
	// squares has the sum of the squares of the weights of what is charged to each key. It
	// is empty where all observations weigh the same.
	squares []float64
	// Cut is the part of Total in stacks that the runtime may have cut off, where the lost
	// frames could change the answer. The part of Cut that is charged to a key is still known,
	// see Unknown.
	Cut int64
	// Hidden is the part of the samples in which any function may be, for lack of names, and
	// Foreign the part in which no function of Go is known.
	Hidden, Foreign float64

	// Of a query about values of a label: Without is the part of Total in samples without it, and
	// Crowded says that it has more than MostValues. Those with the most are charged then.
	Without int64
	Crowded bool

	weight2 float64
	cut2    float64 // the part of weight2 in Cut; 0 where all observations weigh the same
	cuts    []int64 // the part of each value in Cut; empty where Cut is 0

	counted int // the number of the profile

	ranked []int32 // the keys of which more than above is charged to, see [Counter.Ranked]
	above  int64
}

// A sum is what is charged to one key of the query that is being counted, and the part of
// it that is in Sums.Cut.
type sum struct {
	value, cut int64
	square     float64 // of the weights of its observations
	seen       uint64  // the sample that charged it last
}

// mostObservations is the largest [Sums.N], and the most that package evidence tells apart.
const mostObservations = 1e15

// By is what is charged to key.
func (s *Sums) By(key int32) int64 { return s.of(key, s.Values) }

// of is the key's amount among the values, or among the cuts.
func (s *Sums) of(key int32, amounts []int64) int64 {
	if at, found := slices.BinarySearch(s.Keys, key); found && len(amounts) > 0 {
		return amounts[at]
	}
	return 0
}

// Uneven reports whether observations may weigh differently, also where there are none:
// contention events wait for different times, and the smaller objects are, the more of them
// an observed one stands for.
func (s *Sums) Uneven() bool {
	q := &s.Query
	return q.Weight.Multiple && q.Value != q.Weight.Count || q.Weight.Rate > 0 && q.Value != q.Weight.Bytes
}

// Weight is what an observation that is charged to key weighs on average, in weights of an
// average observation of the query. It is 1 for a key that nothing is charged to.
func (s *Sums) Weight(key int32) float64 {
	at, found := slices.BinarySearch(s.Keys, key)
	if !found || !s.Uneven() {
		return 1
	}
	return s.weight(s.squares[at], s.Values[at])
}

// CutWeight is what an observation in Cut weighs on average, in the same unit.
func (s *Sums) CutWeight() float64 {
	if s.Cut == 0 || !s.Uneven() {
		return 1
	}
	return s.weight(s.cut2, s.Cut)
}

// weight is the average weight of the observations that a value is the sum of.
func (s *Sums) weight(squares float64, value int64) float64 {
	if !(s.weight2 > 0) {
		return 1
	}
	return squares / float64(value) * float64(s.Total) / s.weight2
}

// Part is the part of Total that a value is.
func (s *Sums) Part(value int64) float64 {
	if s.Total <= 0 {
		return 0
	}
	return float64(value) / float64(s.Total)
}

// Unknown is how much more than By could belong to key, in the frames that were cut off.
func (s *Sums) Unknown(key int32) int64 { return s.Cut - s.of(key, s.cuts) }

// finish computes the number of observations.
func (s *Sums) finish(multiple float64) {
	if s.weight2 <= 0 {
		return
	}
	s.N = float64(s.Total) / s.weight2 * float64(s.Total)
	if s.Query.Weight.Multiple && multiple > 1 {
		s.N /= multiple
	}
	// With equal weights, as in CPU profiles, it is a whole number but for rounding errors.
	if n := math.Round(s.N); math.Abs(s.N-n) < 1e-6*n {
		s.N = n
	}
	s.N = min(s.N, mostObservations)
}
