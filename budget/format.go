package budget

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/profguard/profguard/internal/unit"
	"github.com/profguard/profguard/internal/words"
)

// String returns the budget's canonical sentence, with its name in front when
// it has one. Parsing a valid budget's sentence gives the same budget.
func (b Budget) String() string {
	if b.Kind == KindCPU {
		b.Kind = ""
	}
	var list []string
	for p := range parts {
		text := b.text(p)
		switch {
		case text == "":
			continue
		case p == partName:
			text += ":"
		case p == partLimit:
			text = limitWord(b.Subject) + " " + text
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}

// text is what a sentence says of a part, "" if nothing.
func (b *Budget) text(p part) string {
	said := ""
	switch p {
	case partName:
		return b.Name
	case partSubject:
		return b.Subject
	case partRule:
		return string(b.Rule)
	case partLimit:
		if b.Limit != (Amount{}) || b.Rule == RuleLimit || b.Rule == RuleGrows {
			return b.Limit.String()
		}
	case partMeasure:
		if b.Flat {
			return "flat"
		}
		// Readers of "above 20%" take it for either measure, so it is always said.
		if b.Limit.Unit == "%" && b.takes(p) {
			return "cumulative"
		}
	case partPer:
		said = b.Per
	case partKind:
		said = string(b.Kind)
	case partExcept:
		said = strings.Join(b.Except, ", ")
		if b.Label() != "" {
			said = b.valuesText()
		}
	case partIn:
		said = b.In
	case partWhere:
		var labels []string
		for _, key := range slices.Sorted(maps.Keys(b.Where)) {
			labels = append(labels, labelText(key, "="+labelOperators)+"="+labelText(b.Where[key], ""))
		}
		said = strings.Join(labels, ", ")
	case partWhen:
		if b.When != (Condition{}) {
			said = b.When.String()
		}
	case partFor:
		if b.ForWindows != 0 {
			said = unit.Plural(b.ForWindows, "window")
		}
		if b.ForTime != 0 {
			said += withoutZeros.Replace(b.ForTime.String()) // beside windows it is a mistake
		}
	}
	if said == "" {
		return ""
	}
	return clauseWords[p][0] + " " + said
}

// MarshalText returns the canonical sentence, also for JSON.
func (b Budget) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// String returns the condition as it follows "when" in a sentence.
func (c Condition) String() string {
	return words.Condition(string(c.Figure), c.Below, unit.Amount(c.Amount))
}

// String returns the sentences of the set, one a line.
func (s Set) String() string {
	lines := make([]string, len(s))
	for i, b := range s {
		lines[i] = b.String()
	}
	return strings.Join(lines, "\n")
}

// labelText returns a label's key or value as a sentence holds it, in quotes
// when it would not be read as one word. Characters in special need them too.
func labelText(text, special string) string {
	plain := !hasWildcard(text) && text != "" && text[0] != '=' && text[0] != '~' && utf8.ValidString(text) &&
		!strings.ContainsAny(text, special+` ,#"`+"'`\\") && !strings.ContainsFunc(text, isInvisible)
	if plain {
		return text
	}
	return strconv.Quote(text)
}

// labelName returns the key of a label as it follows "no".
func labelName(key string) string {
	if isLabelName(key) {
		return key
	}
	return strconv.Quote(key)
}

// withoutZeros makes 5m of "5m0s", and 1h of "1h0m0s".
var withoutZeros = strings.NewReplacer("h0m0s", "h", "m0s", "m")

// String returns the amount as a budget's sentence spells it: "20%",
// "1.5 cores", "64MiB", "5000".
func (a Amount) String() string { return unit.Amount(a).String() }
