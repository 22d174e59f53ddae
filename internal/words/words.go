// Package words puts the findings of package judge into words: the reason of a verdict in one
// sentence, and the offenders in some lines. A finding has values only, so what a reader sees
// can be changed here without touching what is judged.
package words

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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
			text += ", including those of the baseline"
		}
		text += ", so the callers are unknown"
	}
	if f.Unordered {
		text += "; the profile has no addresses, so only routers of the standard library are recognized"
	}
	if f.Open > 0 && f.Values > 1 {
		text += fmt.Sprintf("; %d of %d values are undecided on their own, with too little work (%s)", f.Open, f.Values, p.Per)
		if f.Uncounted > 0 {
			text += fmt.Sprintf(", %d of them without a series of their own", f.Uncounted)
		}
	}
	if f.Without > 0 {
		text += "; " + unit.Format(f.Without, unit.Share) + " of the samples have no " + p.Label
	}
	if f.Unmatched {
		text += "; no function of this profile matches " + p.subject()
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
	switch {
	case p.Class == judge.Process:
		return "the process"
	case p.Class.IsEach():
		return cmp.Or(p.named(p.finding.Who), "the worst "+p.Each())
	}
	return p.subject()
}

// named is one of those that the budget is about: a function or a package, or "tenant acme".
func (t *Terms) named(who string) string {
	if t.Label == "" || who == "" {
		return who
	}
	if strings.ContainsAny(who, " ,;:") {
		who = strconv.Quote(who)
	}
	return t.Label + " " + who
}

// Each is what the budget is about each of: function, package, or the name of a label.
func (t *Terms) Each() string { return cmp.Or(t.Label, strings.TrimPrefix(t.Subject, "no ")) }

// maxSubject is how much of a pattern a reason repeats, in bytes. The budget, which stands beside it, has all.
const maxSubject = 60

// subject is the pattern, of a long one the beginning.
func (p *phrasing) subject() string {
	if len(p.Subject) <= maxSubject {
		return p.Subject
	}
	end := maxSubject
	for !utf8.RuneStart(p.Subject[end]) {
		end--
	}
	return p.Subject[:end] + "..."
}

func (p *phrasing) at() string { return p.who() + " at " + p.value() }

// value is the measured one, with the digits that its bounds carry.
func (p *phrasing) value() string {
	return unit.Rounded(p.finding.Value, p.finding.Low, p.finding.High, p.Dimension)
}

// bound is one of the value, with as many digits.
func (p *phrasing) bound(v float64) string { return unit.Bound(v, p.finding.Value, p.Dimension) }

// amount is another amount, beside the value.
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
		return unit.Plural(n, p.Values.Count)
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
