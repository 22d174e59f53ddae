package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/unit"
)

// labels suggests a limit for the values of each label that most samples have, unless one value has nearly all.
func (w *writer) labels() {
	for _, key := range mostLabels(w.Table) {
		sentence := func(limit float64) string {
			return fmt.Sprintf("no %s above %v%%%s", strconv.Quote(key), limit, w.when)
		}
		for _, limit := range []float64{20, 25, 30, 40, 50, 60, 70} {
			r := w.judge(sentence(limit))
			if !lasts(r) {
				continue
			}
			set, err := budget.Parse(sentence(limit)) // its canonical form
			if w.failed = cmp.Or(w.failed, err); err != nil {
				return
			}
			fmt.Fprintf(&w.out, "\n# Most samples have the label %s. Its largest value had %s.\n", pattern.Visible(key), measured(r.Value, r.Unit))
			if name := key + "-share"; unit.IsName(name) {
				set[0].Name = name
			}
			fmt.Fprintln(&w.out, set[0])
			break
		}
	}
}

// mostLabels are the keys that most samples have as a label with a text, in order.
func mostLabels(t *decode.Table) []string {
	having := map[string]int64{}
	for i, s := range t.Samples {
		seen := map[string]bool{}
		for _, l := range t.Labels[s.LabelLo:s.LabelHi] {
			if key := string(t.String(l.Key)); l.Str != 0 && !seen[key] {
				seen[key] = true
				having[key] += t.Values[i*len(t.Types)]
			}
		}
	}
	maps.DeleteFunc(having, func(_ string, n int64) bool { return n <= t.Count()/2 })
	return slices.Sorted(maps.Keys(having))
}
