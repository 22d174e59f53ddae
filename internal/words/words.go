// Package words puts the findings of package judge into words: the reason of a verdict in one
// sentence, and the offenders in some lines. A finding has values only, so what a reader sees
// can be changed here without touching what is judged.
package words

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// Terms are what sentences say about a budget: the rule that it is judged by, with two of its
// amounts as the budget has them.
type Terms struct {
	judge.Rule
	Values *kinds.Kind // the kind of profile whose values are charged
	Limit  unit.Amount
	When   unit.Amount // of Rule.When
}

// A vocabulary says some of the reasons, and "" for all others.
type vocabulary func(*phrasing, judge.Reason) string

// A phrasing is one finding that is put into words.
type phrasing struct {
	Terms
	finding *judge.Finding
	words   []vocabulary
}

// text is the reason and the notes.
func (p *phrasing) text() string {
	f := p.finding
	text := p.reason(f.Reason)
	if f.Cut > 0 {
		text += "; the runtime has cut off the stacks of " + p.count(f.Cut)
		if _, ok := f.Reason.(judge.Growth); ok {
			text += ", those of the baseline included"
		}
		text += ", and who called is not known"
	}
	if f.Unordered {
		text += "; the profile has no addresses, so no router outside the standard library is known"
	}
	if f.Unmatched {
		text += "; no function of this profile matches " + p.Subject
	}
	return text
}

func (p *phrasing) reason(reason judge.Reason) string {
	for _, say := range p.words {
		if text := say(p, reason); text != "" {
			return text
		}
	}
	return fmt.Sprint(reason) // a test sees to it that there are words
}

// who names the function, figure or process that the numbers are about.
func (p *phrasing) who() string {
	switch p.Class {
	case judge.Process:
		return "the process"
	case judge.Each:
		return cmp.Or(p.finding.Who, "the worst "+strings.TrimPrefix(p.Subject, "no "))
	}
	return p.Subject
}

func (p *phrasing) at() string { return p.who() + " at " + p.value() }

func (p *phrasing) value() string { return unit.Format(p.finding.Value, p.Dimension) }

// amount is a bound, beside the value.
func (p *phrasing) amount(v float64) string { return unit.Short(v, p.Dimension) }

// limit is the limit as the sentence has it, but in the unit of the measured value.
func (p *phrasing) limit() string {
	if p.Dimension == unit.Waited {
		return unit.Short(p.Rule.Limit, p.Dimension)
	}
	return p.Terms.Limit.String()
}

// samples are those behind the verdict.
func (p *phrasing) samples() string { return p.count(p.finding.Samples) }

func (p *phrasing) count(n int64) string {
	if p.isCounted() {
		return unit.Plural(n, "goroutine")
	}
	return unit.Plural(n, "sample")
}

// isCounted reports whether the values are counted and not sampled.
func (t *Terms) isCounted() bool { return t.Values.Sampling == kinds.Counted }

// when is the condition.
func (t *Terms) when() string { return Condition(t.Rule.When.Figure, t.Rule.When.Below, t.When) }

// Condition is a condition as it follows "when" in a sentence.
func Condition(figure string, below bool, amount unit.Amount) string {
	word := " above "
	if below {
		word = " below "
	}
	return figure + word + amount.String()
}

// scope names the part of a profile that a budget looks at, "" for all of it.
func (t *Terms) scope() string {
	var parts []string
	if t.In != "" {
		parts = append(parts, t.In)
	}
	for _, k := range slices.Sorted(maps.Keys(t.Where)) {
		parts = append(parts, k+"="+t.Where[k])
	}
	return strings.Join(parts, " and ")
}
