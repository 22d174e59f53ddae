package main

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// about describes the profile in a line: where it is from, the program, the number of samples
// and the time.
func (in *input) about(kind, module string) string {
	var what []string
	if program := cmp.Or(module, programOf(in.table)); program != "" {
		what = append(what, program)
	}
	taken := "a profile"
	if kind == kinds.CPU {
		taken = unit.Plural(in.table.Count(), "sample") + " of cpu"
	} else if kind != "" {
		taken = "a profile of " + kind
	}
	if n := in.table.DurationNanos; n > 0 {
		taken += fmt.Sprintf(" in %v", time.Duration(n).Round(time.Second/10))
	}
	what = append(what, taken)
	if cores := coresOf(in.table); kind == kinds.CPU && cores > 0 {
		what = append(what, unit.Format(cores, unit.Cores))
	}
	return in.from + ": " + strings.Join(what, ", ")
}

// kindOf is the kind of a profile by its values, or "". Heap and allocs have the same
// ones, and name their own; mutex and block look the same.
func kindOf(t *decode.Table) string {
	if t.DefaultType >= 0 && t.Types[t.DefaultType].Type == "alloc_space" {
		return kinds.Allocs
	}
	for _, k := range kinds.All {
		name := cmp.Or(k.Amount, k.Count)
		if slices.ContainsFunc(t.Types, func(v decode.ValueType) bool { return v.Type == name || v.Type == name+"s" }) {
			return k.Name
		}
	}
	return ""
}

// programOf is the path of package main, which its files have if the program was built
// with -trimpath. Otherwise it is the name of the binary, or "".
func programOf(t *decode.Table) string {
	for _, f := range t.Funcs {
		file := t.Symbols.Name(f.File)
		host, _, ok := strings.Cut(file, "/")
		if strings.HasPrefix(t.Symbols.Name(f.Name), "main.") && ok && strings.Contains(strings.TrimLeft(host, "."), ".") {
			return path.Dir(file)
		}
	}
	if binary := t.Program(); binary != "" {
		return path.Base(strings.ReplaceAll(binary, `\`, "/"))
	}
	return ""
}

// coresOf is the CPU that the program used, in cores, 0 if the profile does not have its
// duration or the meaning of a sample.
func coresOf(t *decode.Table) float64 {
	if t.DurationNanos <= 0 {
		return 0
	}
	return float64(t.Count()) * float64(t.Period) / float64(t.DurationNanos)
}
