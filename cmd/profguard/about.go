package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/unit"
)

// described is what a report says of a profile.
type described struct {
	Source  string  `json:"source"`
	Base    bool    `json:"base,omitempty"` // growth is compared with it
	Kind    string  `json:"kind,omitempty"` // such as cpu, if it is known
	Samples int64   `json:"samples"`
	Seconds float64 `json:"seconds,omitempty"` // its duration
	Cores   float64 `json:"cores,omitempty"`
	Error   string  `json:"error,omitempty"` // why there is none
}

// describe describes the profile of an input.
func (in *input) describe() described {
	d := described{Source: in.from, Kind: cmp.Or(in.Facts.Kind, in.Kind)}
	switch {
	case in.Table == nil && in.Err != nil:
		d.Error = in.Err.Error()
	case in.Table != nil:
		d.Kind = cmp.Or(d.Kind, kindOf(in.Table))
		d.Samples, d.Seconds = in.Table.Count(), float64(in.Table.DurationNanos)*1e-9
		if d.Kind == kinds.CPU {
			d.Cores = release.Cores(in.Table)
		}
	}
	return d
}

// String is the profile in a line: where it is from, the number of samples and the time.
func (d described) String() string {
	from := pattern.Visible(d.Source)
	text := from + ": a profile"
	switch {
	case d.Error != "":
		return from + ": no profile of " + d.Kind + ": " + pattern.Visible(d.Error)
	case d.Kind == kinds.CPU:
		text = from + ": " + unit.Plural(d.Samples, "sample") + " of cpu"
	case d.Kind != "":
		text += " of " + d.Kind
	}
	if d.Seconds > 0 {
		text += fmt.Sprintf(" in %v", time.Duration(d.Seconds*1e9).Round(time.Second/10))
	}
	if d.Cores > 0 {
		text += ", " + unit.Format(d.Cores, unit.Cores)
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
