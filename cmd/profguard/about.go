package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// about describes the profile in a line: where it is from, the number of samples and the time.
func (in *input) about(kind string) string {
	text := in.from + ": a profile"
	if kind == kinds.CPU {
		text = in.from + ": " + unit.Plural(in.table.Count(), "sample") + " of cpu"
	} else if kind != "" {
		text += " of " + kind
	}
	if n := in.table.DurationNanos; n > 0 {
		text += fmt.Sprintf(" in %v", time.Duration(n).Round(time.Second/10))
	}
	if cores := coresOf(in.table); kind == kinds.CPU && cores > 0 {
		text += ", " + unit.Format(cores, unit.Cores)
	}
	return text
}

// kindOf is the kind of a profile by its values, or "". Heap and allocs have the same
// ones, and name their own; mutex and block look the same.
func kindOf(t *decode.Table) string {
	if t.DefaultType >= 0 && t.Types[t.DefaultType].Type == "alloc_space" {
		return kinds.Allocs
	}
	for _, k := range kinds.All {
		name := cmp.Or(k.Amount, k.Count)
		if k.Sampling != kinds.Contention && slices.ContainsFunc(t.Types, func(v decode.ValueType) bool { return v.Type == name || v.Type == name+"s" }) {
			return k.Name
		}
	}
	return ""
}

// total adds up the values of a type.
func total(t *decode.Table, name string) (sum float64) {
	i := slices.IndexFunc(t.Types, func(v decode.ValueType) bool { return v.Type == name })
	for ; i >= 0 && i < len(t.Values); i += len(t.Types) {
		sum += float64(t.Values[i])
	}
	return sum
}

// coresOf is the CPU that the program used, in cores, 0 if the profile does not have its
// duration or the meaning of a sample.
func coresOf(t *decode.Table) float64 {
	if t.DurationNanos <= 0 {
		return 0
	}
	return float64(t.Count()) * float64(t.Period) / float64(t.DurationNanos)
}
