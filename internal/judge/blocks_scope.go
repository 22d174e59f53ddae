package judge

import (
	"maps"
	"slices"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
)

// outsideLeast samples without one in a rule's scope show that less than a hundredth of
// the work is there: "absent" passes on as many. To decide it by the rest would take a
// hundred times as long as any other rule.
const outsideLeast = 300

// Unreachable reports whether no amount of such work decides rule i: it has seen enough
// of it, and none was in the rule's scope ("where", "in") or came when it applies
// ("when"). The finding of Close says what there was instead.
func (b *Blocks) Unreachable(i int) bool {
	s := &b.standings[i]
	return !s.inside && s.outside >= outsideLeast && b.Decided(i) == evidence.Inconclusive
}

// look notes whether a block of n samples has any that the rule is about.
func (s *blockStanding) look(r *rule, sums *charge.Sums, n int64) {
	if r.in < 0 && r.where < 0 || sums.Total > 0 {
		s.inside = true
		return
	}
	s.gate, s.outside = nil, charge.AddSaturating(s.outside, n)
}

// outsideOf says what keeps everything out of a rule's scope, by the profile of all
// blocks; nil if nothing does.
func (s *blockStanding) outsideOf(r *rule, t *decode.Table) *Outside {
	if s.inside || s.outside == 0 {
		return nil
	}
	o := &Outside{Samples: s.outside, Gate: s.gate}
	if o.Gate != nil || len(r.Where) == 0 {
		return o
	}
	set := labelsOf(t)
	for _, key := range slices.Sorted(maps.Keys(r.Where)) {
		value := r.Where[key]
		if set[key][value] {
			continue
		}
		if o.Key = key; set[key] != nil {
			o.Value, set = value, map[string]map[string]bool{key: set[key]}
		}
		for k, values := range set {
			for v := range values {
				o.Set = append(o.Set, k+"="+v)
			}
		}
		slices.Sort(o.Set)
		break
	}
	return o
}

// labelsOf are the values of each label in a profile.
func labelsOf(t *decode.Table) map[string]map[string]bool {
	set := map[string]map[string]bool{}
	for _, l := range t.Labels {
		if l.Str == 0 {
			continue // a number
		}
		key := string(t.String(l.Key))
		if set[key] == nil {
			set[key] = map[string]bool{}
		}
		set[key][string(t.String(l.Str))] = true
	}
	return set
}
