package judge

import (
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
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
	var kinds []string
	for _, k := range []string{"cpu", "heap", "allocs", "goroutine", "goroutineleak", "mutex", "block"} {
		if _, ok := l.value(k, unit.Share); ok {
			kinds = append(kinds, k)
		}
	}
	l.kind = strings.Join(kinds, " or ")
	if l.kind == "" {
		var names []string
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
	switch kind {
	case "cpu":
		v := valueType{index: l.index("cpu", "nanoseconds"), scale: 1e-9, weight: charge.Weight{Count: l.index("samples", "count")}}
		return v, v.index >= 0
	case "heap":
		return l.memory(dim, "inuse_objects", "inuse_space")
	case "allocs":
		return l.memory(dim, "alloc_objects", "alloc_space")
	case "goroutine", "goroutineleak":
		v := valueType{index: l.index(kind, "count"), scale: 1, census: true, weight: charge.Weight{Count: -1}}
		if v.index < 0 && kind == "goroutine" {
			v.index = l.index("goroutines", "count")
		}
		return v, v.index >= 0
	case "mutex", "block":
		if l.asked != "" && l.asked != kind {
			return valueType{}, false
		}
		count := l.index("contentions", "count")
		v := valueType{index: l.index("delay", "nanoseconds"), scale: 1e-9, weight: charge.Weight{Count: count, Multiple: true}}
		if dim == unit.Count {
			v.index, v.scale = count, 1
		}
		return v, v.index >= 0 && count >= 0
	}
	return valueType{}, false
}

func (l *layout) memory(dim unit.Dimension, objects, space string) (valueType, bool) {
	count, bytes := l.index(objects, "count"), l.index(space, "bytes")
	v := valueType{index: bytes, scale: 1, weight: charge.Weight{Count: count, Bytes: bytes, Rate: l.period}}
	if l.period == 1 {
		v.weight.Rate = 0 // MemProfileRate 1: every allocation is in it
	}
	if dim == unit.Count {
		v.index = count
	}
	return v, count >= 0 && bytes >= 0
}

// multiple is what one observed contention counts as.
func (l *layout) multiple(t *decode.Table, facts Facts) float64 {
	if facts.MutexFraction > 0 {
		return float64(facts.MutexFraction)
	}
	count := l.index("contentions", "count")
	// A few numbers have a common divisor by chance, and block profiles are scaled
	// by each event's duration instead.
	if count < 0 || len(t.Samples) < 4 || l.asked == "block" {
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
