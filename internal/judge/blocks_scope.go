package judge

import (
	"maps"
	"slices"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
)

const (
	// outsideLeast samples without one in a rule's scope show that less than a
	// hundredth of the work is there: "absent" passes on as many. To decide it by
	// the rest would take a hundred times as long as any other rule.
	outsideLeast = 300

	// labelsMost bounds the labels that are remembered.
	labelsMost = 64
)

// Outside says why no amount of such work decides rule i: it has seen enough of it,
// and none was in the rule's scope ("where", "in") or came when it applies ("when").
// It returns nil for all others.
func (b *Blocks) Outside(i int) *Outside {
	if b.standings[i].outside < outsideLeast || b.Decided(i) != evidence.Inconclusive {
		return nil
	}
	return b.outside(i)
}

// outside says what keeps everything out of a rule's scope; nil if nothing does.
func (b *Blocks) outside(i int) *Outside {
	s, r := &b.standings[i], &b.judge.rules[i]
	if s.inside || s.outside == 0 {
		return nil
	}
	o := &Outside{Samples: s.outside, Gate: s.gate}
	if o.Gate != nil {
		return o
	}
	for _, key := range slices.Sorted(maps.Keys(r.Where)) {
		value := r.Where[key]
		if b.labels[label{key, value}] {
			continue
		}
		o.Key = key
		var all []string
		for l := range b.labels {
			all = append(all, l.key+"="+l.value)
			if l.key == key {
				o.Set = append(o.Set, key+"="+l.value)
			}
		}
		if o.Value = value; len(o.Set) == 0 {
			o.Value, o.Set = "", all
		}
		slices.Sort(o.Set)
		return o
	}
	return o
}

// label is a pprof label.
type label struct{ key, value string }

// remember notes which labels the samples carry, if a rule asks for any.
func (b *Blocks) remember(table *decode.Table) {
	if !slices.ContainsFunc(b.judge.rules, func(r rule) bool { return r.where >= 0 }) {
		return
	}
	for _, s := range table.Samples {
		for _, l := range table.Labels[s.LabelLo:s.LabelHi] {
			if l.Str == 0 {
				continue // a number
			}
			seen := label{string(table.String(l.Key)), string(table.String(l.Str))}
			if b.labels[seen] || len(b.labels) >= labelsMost && !b.wants(seen) {
				continue
			}
			if b.labels == nil {
				b.labels = map[label]bool{}
			}
			b.labels[seen] = true
		}
	}
}

// wants reports whether a rule asks for the label.
func (b *Blocks) wants(l label) bool {
	return slices.ContainsFunc(b.judge.rules, func(r rule) bool {
		v, ok := r.Where[l.key]
		return ok && v == l.value
	})
}

// look notes whether a block of n samples has any that the rule is about.
func (s *blockStanding) look(r *rule, sums *charge.Sums, n int64) {
	if r.in < 0 && r.where < 0 || sums.Total > 0 {
		s.inside = true
		return
	}
	s.gate, s.outside = nil, charge.AddSaturating(s.outside, n)
}
