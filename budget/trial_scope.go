package budget

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
)

const (
	// vacuousSamples without one in a budget's scope show that less than a
	// hundredth of the work is there: "absent" passes on as many. To decide it by
	// the rest would take a hundred times as long as any other budget.
	vacuousSamples = 300

	// labelsMost bounds the labels that are remembered, and labelsShown those that
	// a reason lists.
	labelsMost  = 64
	labelsShown = 6
)

// Vacuous says why no amount of such work decides budget i.
func (t *trial) Vacuous(i int) string {
	if s := &t.states[i]; s.inside || s.outside < vacuousSamples || t.Decided(i) != Inconclusive {
		return ""
	}
	return t.outside(i)
}

// outside says what keeps everything out of a budget's scope; "" if nothing does.
func (t *trial) outside(i int) string {
	s, r := &t.states[i], &t.judge.rules[i]
	switch {
	case s.inside || s.outside == 0:
		return ""
	case s.gated != "":
		return s.gated + `: in a test, leave "when" out`
	case r.where >= 0:
		for _, k := range slices.Sorted(maps.Keys(r.budget.Where)) {
			v := r.budget.Where[k]
			if t.labels[label{k, v}] {
				continue
			}
			var sameKey, all []string
			for l := range t.labels {
				all = append(all, l.key+"="+l.value)
				if l.key == k {
					sameKey = append(sameKey, k+"="+l.value)
				}
			}
			if len(sameKey) > 0 {
				return fmt.Sprintf("none of %s carries the label %s=%s: work set %s", samples(s.outside), k, v, some(sameKey))
			}
			return fmt.Sprintf("none of %s carries the label %s: work set %s", samples(s.outside), k, some(all))
		}
		return fmt.Sprintf("none of %s is within %s", samples(s.outside), scopeText(r.budget))
	}
	return fmt.Sprintf("none of %s is within %s: work does not call it, or calls it for next to nothing", samples(s.outside), r.budget.In)
}

// some lists labels, or the first few.
func some(labels []string) string {
	if len(labels) == 0 {
		return "no label"
	}
	slices.Sort(labels)
	if more := len(labels) - labelsShown; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(labels[:labelsShown], ", "), more)
	}
	return strings.Join(labels, ", ")
}

// label is a pprof label.
type label struct{ key, value string }

// remember notes which labels the samples carry, if a budget asks for any.
func (t *trial) remember(table *decode.Table) {
	if !slices.ContainsFunc(t.judge.rules, func(r rule) bool { return r.where >= 0 }) {
		return
	}
	for _, s := range table.Samples {
		for _, l := range table.Labels[s.LabelLo:s.LabelHi] {
			if l.Str == 0 {
				continue // a number
			}
			seen := label{string(table.String(l.Key)), string(table.String(l.Str))}
			if _, ours := t.Where[seen.key]; ours || t.labels[seen] || len(t.labels) >= labelsMost && !t.wants(seen) {
				continue
			}
			if t.labels == nil {
				t.labels = map[label]bool{}
			}
			t.labels[seen] = true
		}
	}
}

// wants reports whether a budget asks for the label.
func (t *trial) wants(l label) bool {
	return slices.ContainsFunc(t.judge.rules, func(r rule) bool {
		v, ok := r.budget.Where[l.key]
		return ok && v == l.value
	})
}

// look notes whether a block of n samples has any that the budget is about.
func (s *course) look(r *rule, sums *charge.Sums, n int64) {
	if r.in < 0 && r.where < 0 || sums.Total > 0 {
		s.inside = true
		return
	}
	s.gated, s.outside = "", charge.AddSaturating(s.outside, n)
}
