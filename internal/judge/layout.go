package judge

import (
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// A layout says which kinds of profile a profile is, and where in its samples
// their values are. Profiles of one program have few layouts.
type layout struct {
	types  []decode.ValueType
	period int64
	asked  string // the kind that the caller named
	kind   string // for messages
}

// valueType is one value of a layout's samples.
type valueType struct {
	index  int
	weight charge.Weight
	scale  float64 // base units (seconds, bytes, pieces) in one unit of value
	census bool    // every one is counted, none is sampled
}

func layoutOf(t *decode.Table, asked string) *layout {
	l := &layout{types: slices.Clone(t.Types), period: t.Period, asked: asked}
	var names []string
	for _, k := range kinds.All {
		if _, ok := l.value(k.Name, unit.Share); ok {
			names = append(names, k.Name)
		}
	}
	l.kind = strings.Join(names, " or ")
	if l.kind == "" {
		for _, v := range l.types {
			names = append(names, v.Type+"/"+v.Unit)
		}
		l.kind = strings.Join(names, ", ")
	}
	return l
}

func (l *layout) fits(t *decode.Table, asked string) bool {
	return l != nil && l.asked == asked && l.period == t.Period && slices.Equal(l.types, t.Types)
}

func (l *layout) index(name, unit string) int {
	return slices.IndexFunc(l.types, func(v decode.ValueType) bool {
		return v.Type == name && (v.Unit == unit || unit == "count" && v.Unit == "")
	})
}

// value finds the value of a kind that an amount of the dimension limits.
func (l *layout) value(kind string, dim unit.Dimension) (valueType, bool) {
	k := kinds.Of(kind)
	if k.Sampling == kinds.Contention && l.asked != "" && l.asked != kind {
		return valueType{}, false // mutex and block look the same
	}
	count := l.index(k.Count, "count")
	v := valueType{index: count, scale: 1, weight: charge.Weight{Count: count}}
	switch k.Sampling {
	case kinds.Counted:
		if v.index < 0 {
			v.index = l.index(k.Count+"s", "count")
		}
		v.census, v.weight.Count = true, -1
		return v, v.index >= 0
	case kinds.Timed:
		v.index, v.scale = l.index(k.Amount, "nanoseconds"), 1e-9
		return v, v.index >= 0
	case kinds.Memory:
		v.index = l.index(k.Amount, "bytes")
		if v.weight.Bytes = v.index; l.period != 1 { // at a MemProfileRate of 1 every allocation is in it
			v.weight.Rate = l.period
		}
	case kinds.Contention:
		v.index, v.scale = l.index(k.Amount, "nanoseconds"), 1e-9
		v.weight.Multiple = true
	default:
		return v, false
	}
	ok := count >= 0 && v.index >= 0
	if dim == unit.Count {
		v.index, v.scale = count, 1
	}
	return v, ok
}

// multiple is what one observed contention counts as.
func (l *layout) multiple(t *decode.Table, facts Facts) float64 {
	if facts.MutexFraction > 0 {
		return float64(facts.MutexFraction)
	}
	count := l.index("contentions", "count")
	// A few numbers have a common divisor by chance, and block profiles are scaled
	// by each event's duration instead.
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
