package charge

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/unit"
)

// A Layout says which kinds of profile a profile can be, and where in its samples the
// values of each kind are. Profiles of one program have few layouts.
type Layout struct {
	Kind   string // for messages
	Period int64
	asked  string // the kind that the caller gave
	types  []decode.ValueType
}

// A Value is one value of a layout's samples.
type Value struct {
	Index   int
	Weight  Weight
	Scale   float64 // base units (seconds, bytes, pieces) in one unit of value
	Counted bool    // all are counted, and not sampled
}

// LayoutOf is the layout of a profile, of the kind that the caller asks for; "" for any.
func LayoutOf(t *decode.Table, asked string) *Layout {
	l := &Layout{types: slices.Clone(t.Types), Period: t.Period, asked: asked}
	var names []string
	for _, k := range kinds.All {
		if _, ok := l.Value(k.Name, unit.Share); ok {
			names = append(names, k.Name)
		}
	}
	l.Kind = strings.Join(names, " or ")
	if l.Kind == "" {
		for _, v := range l.types[:min(len(l.types), typesShown)] {
			names = append(names, pattern.Clipped(v.Type, nameShown)+"/"+pattern.Clipped(v.Unit, nameShown))
		}
		l.Kind = strings.Join(names, ", ")
	}
	return l
}

// NoDifference returns an error if one CPU profile was subtracted from another. Its sums are of neither: what both have is
// missing from all shares and amounts. Cumulative profiles are subtracted to get those of a time.
func NoDifference(t *decode.Table) error {
	cpu := slices.IndexFunc(t.Types, isCPU)
	for i := cpu; cpu >= 0 && i < len(t.Values); i += len(t.Types) {
		if t.Values[i] < 0 {
			return errors.New("it has negative CPU time, as the difference of two profiles has: give each profile as it was taken")
		}
	}
	return nil
}

func isCPU(v decode.ValueType) bool { return v.Type == kinds.Of(kinds.CPU).Amount }

// The most that is shown of a kind that is not known: so many types, and of each name so much.
const typesShown, nameShown = 8, 80

// Fits reports whether the profile has the layout.
func (l *Layout) Fits(t *decode.Table, asked string) bool {
	return l != nil && l.asked == asked && l.Period == t.Period && slices.Equal(l.types, t.Types)
}

func (l *Layout) index(name, of string) int {
	return slices.IndexFunc(l.types, func(v decode.ValueType) bool {
		return v.Type == name && (v.Unit == of || of == "count" && v.Unit == "")
	})
}

// Value finds the value of a kind that is compared with a limit of the dimension.
func (l *Layout) Value(kind string, dim unit.Dimension) (Value, bool) {
	k := kinds.Of(kind)
	if k.Sampling == kinds.Contention && l.asked != "" && l.asked != kind {
		return Value{}, false // mutex and block profiles have the same types
	}
	count := l.index(k.Count, "count")
	v := Value{Index: count, Scale: 1, Weight: Weight{Count: count}}
	switch k.Sampling {
	case kinds.Counted:
		if v.Index < 0 {
			v.Index = l.index(k.Count+"s", "count")
		}
		v.Counted, v.Weight.Count = true, -1
		return v, v.Index >= 0
	case kinds.Timed:
		v.Index, v.Scale = l.index(k.Amount, "nanoseconds"), 1e-9
	case kinds.Memory:
		v.Index = l.index(k.Amount, "bytes")
		if v.Weight.Bytes = v.Index; l.Period != 1 { // at a MemProfileRate of 1 every allocation is in it
			v.Weight.Rate = l.Period
		}
	case kinds.Contention:
		v.Index, v.Scale = l.index(k.Amount, "nanoseconds"), 1e-9
		v.Weight.Multiple = true
	default:
		return v, false
	}
	ok := count >= 0 && v.Index >= 0
	if dim == unit.Count {
		v.Index, v.Scale = count, 1
	}
	return v, ok
}

// Multiple is how many contention events one observed event stands for. The program
// observes one event in fraction; 0 means that the fraction is not known.
func (l *Layout) Multiple(t *decode.Table, fraction int) float64 {
	if fraction > 0 {
		return float64(fraction)
	}
	count := l.index("contentions", "count")
	// The counts of a mutex profile are multiples of the fraction, so their greatest common
	// divisor tells it. Too few counts have a common divisor by chance, and block profiles
	// are scaled by each event's duration instead.
	if count < 0 || len(t.Samples) < 4 || l.asked == kinds.Block {
		return 1
	}
	var divisor int64
	for i := count; i < len(t.Values) && divisor != 1; i += len(l.types) {
		for a := t.Values[i]; a > 0; {
			divisor, a = a, divisor%a
		}
	}
	return float64(max(divisor, 1))
}

// Weight says how to find the number of observations behind the values.
type Weight struct {
	// Count is the index of the sample type that counts observations, or -1:
	// then every unit of value is one.
	Count int
	// Bytes and Rate are for heap profiles, whose values the runtime has scaled up from
	// the observed ones: the index of the bytes, and the mean distance in bytes between
	// two observations. A Rate of 0 means that nothing was scaled.
	Bytes int
	Rate  int64
	// Multiple is for contention profiles, where one observed event stands for
	// [Counter.Multiple] events.
	Multiple bool
}

// square is the sum of the squares of the weights of a sample's observations. v, the sum of
// their weights, is the sample's value at an index.
func (w *Weight) square(values []int64, index int) float64 {
	v := float64(values[index])
	n := v
	if w.Count >= 0 {
		n = float64(values[w.Count])
	}
	if w.Rate > 0 && index == w.Bytes {
		// The runtime observes one byte in Rate, and with it the byte's object. So there
		// is one observation for each Rate bytes. That is exact for small objects. For
		// objects larger than Rate it is cautious, as nearly all of them are observed.
		return v * float64(w.Rate)
	}
	if w.Rate > 0 && n > 0 {
		// The runtime has divided by the probability that an object of this size is
		// observed. Multiply by it, to get the number that was observed.
		size := float64(values[w.Bytes]) / n
		n *= -math.Expm1(-size / float64(w.Rate))
	}
	if n <= 0 {
		return 0
	}
	return v / max(n, 1) * v
}
