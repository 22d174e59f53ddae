package budget

import (
	"cmp"

	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// Rules returns the rules for package judge, or an error that lists all mistakes of the set.
// It is for packages of profguard only.
func (s Set) Rules() ([]judge.Rule, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	rules := make([]judge.Rule, len(s))
	for i := range s {
		rules[i] = s[i].rule()
	}
	return rules, nil
}

func (b *Budget) rule() judge.Rule {
	r := judge.Rule{
		Class:     classOf(b.Subject),
		Subject:   b.Subject,
		Packages:  b.Subject == "no package",
		Limit:     b.Limit.base(),
		Dimension: b.dimension(),
		Flat:      b.Flat,
		Kind:      cmp.Or(b.Kind, kinds.CPU),
		Per:       b.Per,
		In:        b.In,
		Where:     b.Where,
		When:      judge.Condition{Figure: b.When.Figure, Below: b.When.Below, Limit: b.When.Amount.base()},
	}
	switch b.Rule {
	case "absent":
		r.Test = judge.Absent
	case "grows":
		r.Test = judge.Grows
	case "steady":
		r.Test = judge.Steady
	}
	if r.Literal = len(b.Except) == 1 && b.Except[0] == "none"; !r.Literal {
		r.Except = b.Except
	}
	return r
}

// dimension is the dimension of the measured value.
func (b *Budget) dimension() unit.Dimension {
	switch b.Rule {
	case "absent":
		return unit.Share // there is no limit
	case "steady":
		return fits(b)[0].dim
	}
	return b.Limit.dimension()
}
