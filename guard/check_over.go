package guard

import (
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/pattern"
)

// mostOver bounds the search for what is over a limit: nobody reads on, or
// exempts more.
const mostOver = 40

// allOver lists the functions or packages over the limit of a "no function"
// budget. A result names a few; so these are exempted and the rest is judged
// again, until nothing is left. What it returns is thus what it takes to exempt.
// It is not complete if there is more than anybody wants to know, or a name that
// the language has no pattern for.
func allOver(res budget.Result, p *profile.Profile, facts budget.Facts) (names []string, complete bool) {
	b := res.Budget
	for len(names) < mostOver && b.Validate() == nil {
		found := len(names)
		for _, o := range res.Offenders {
			if !slices.Contains(names, o.Function) {
				names = append(names, o.Function)
			}
		}
		if len(res.Offenders) == 0 || len(names) == found {
			return names, len(res.Offenders) == 0
		}
		b.Except = append(slices.Clone(b.Except), names[found:]...)
		res = budget.Set{b}.Judge(p, facts)[0]
	}
	return names, false
}

// canExempt reports whether a budget's offenders can be exempted from it.
func canExempt(b budget.Budget) bool {
	return (b.Subject == "no function" || b.Subject == "no package") && b.Rule == "" && !slices.Equal(b.Except, []string{"none"})
}

// culprits are what a tree of calls leads to, with what is said about them; of
// those that are merely on the list of what is costly, nothing.
type culprits struct {
	names    map[string]culpritMark
	patterns []culpritPattern
}

// A culpritMark is what is said at each place of a culprit.
type culpritMark struct {
	text string
	all  bool // it is about all places together, each of which may be little
}

type culpritPattern struct {
	*pattern.Pattern
	mark culpritMark
}

// culprits are those of the budgets that failed.
func (rep *checkReport) culprits() culprits {
	c := culprits{names: map[string]culpritMark{}}
	for i, res := range rep.results {
		if res.Verdict != budget.Fail {
			continue
		}
		mark := culpritMark{"  <- over the limit", !res.Budget.Flat}
		switch res.Budget.Rule {
		case "absent":
			mark = culpritMark{text: "  <- is to be absent"}
		case "grows":
			mark = culpritMark{text: "  <- grew"}
		}
		switch res.Budget.Subject {
		case "no function", "no package":
			for _, name := range rep.over[i] {
				c.names[name] = mark
			}
		case "process":
			mark = culpritMark{}
		default:
			if p, err := pattern.Parse(res.Budget.Subject); err == nil {
				c.patterns = append(c.patterns, culpritPattern{p, mark})
				continue
			}
		}
		for _, o := range res.Offenders {
			if c.names[o.Function].text == "" {
				c.names[o.Function] = mark
			}
		}
	}
	return c
}

// find knows a culprit by its name, by its package's or by a pattern, and says by
// which.
func (c culprits) find(name string) (key string, mark culpritMark, ok bool) {
	if mark, ok = c.names[name]; ok {
		return name, mark, true
	}
	dir := strings.LastIndexByte(name, '/') + 1
	if dot := strings.IndexByte(name[dir:], '.'); dot >= 0 {
		if mark, ok = c.names[name[:dir+dot]]; ok {
			return name[:dir+dot], mark, true
		}
	}
	for _, p := range c.patterns {
		if p.Match(name) {
			return p.String(), p.mark, true
		}
	}
	return "", culpritMark{}, false
}
