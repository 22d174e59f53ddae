package budget

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// String returns the budget's canonical sentence, with its name in front when
// it has one. Parsing a valid budget's sentence gives the same budget.
func (b Budget) String() string {
	var s strings.Builder
	if b.Name != "" {
		s.WriteString(b.Name + ": ")
	}
	s.WriteString(b.Subject)
	if b.Rule != "" {
		s.WriteString(" " + b.Rule)
	}
	if b.hasLimit() {
		s.WriteString(" " + b.limitWord() + " " + b.Limit.String())
	}
	switch class := classOf(b.Subject); {
	case b.Flat:
		s.WriteString(" flat")
	// Readers of "above 20%" take it for either measure, so it is always said.
	case b.Limit.Unit == "%" && (class == classEach || class == classPattern):
		s.WriteString(" cumulative")
	}
	if b.Per != "" {
		s.WriteString(" per " + b.Per)
	}
	if b.Kind != "" && b.Kind != "cpu" {
		s.WriteString(" of " + b.Kind)
	}
	if len(b.Except) > 0 {
		s.WriteString(" except " + strings.Join(b.Except, ", "))
	}
	if b.In != "" {
		s.WriteString(" in " + b.In)
	}
	for i, key := range slices.Sorted(maps.Keys(b.Where)) {
		if i == 0 {
			s.WriteString(" where ")
		} else {
			s.WriteString(", ")
		}
		s.WriteString(labelText(key, "="+labelOperators) + "=" + labelText(b.Where[key], ""))
	}
	if b.When != (Condition{}) {
		s.WriteString(" when " + b.When.String())
	}
	if b.ForWindows != 0 {
		s.WriteString(" for " + strconv.Itoa(b.ForWindows) + " window")
		if b.ForWindows != 1 {
			s.WriteByte('s')
		}
	}
	if b.ForTime != 0 {
		s.WriteString(" for " + durationText(b.ForTime))
	}
	return s.String()
}

// MarshalText returns the canonical sentence, also for JSON.
func (b Budget) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// String returns the condition as it follows "when" in a sentence.
func (c Condition) String() string {
	word := " above "
	if c.Below {
		word = " below "
	}
	return c.Figure + word + c.Amount.String()
}

// String returns the sentences of the set, one a line.
func (s Set) String() string {
	lines := make([]string, len(s))
	for i, b := range s {
		lines[i] = b.String()
	}
	return strings.Join(lines, "\n")
}

// hasLimit reports whether the budget's sentence states an amount.
func (b Budget) hasLimit() bool {
	switch b.Rule {
	case "absent", "leaked", "steady":
		return b.Limit != (Amount{})
	}
	return true
}

// limitWord returns the word in front of the amount: "no function above",
// but "crypto/tls below".
func (b Budget) limitWord() string {
	if b.Rule != "steady" && strings.HasPrefix(b.Subject, "no ") {
		return "above"
	}
	return "below"
}

// labelText returns a label's key or value as a sentence holds it, in quotes
// when it would not be read as one word. Characters in special need them too.
func labelText(text, special string) string {
	plain := text != "" && text[0] != '=' && text[0] != '~' && utf8.ValidString(text) &&
		!strings.ContainsAny(text, special+`,#"`+"'`\\") &&
		!strings.ContainsFunc(text, func(r rune) bool { return isSpace(r) || !unicode.IsPrint(r) })
	if plain {
		return text
	}
	return strconv.Quote(text)
}

// durationText is d.String() without the zeros of "5m0s" and "1h0m0s".
func durationText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// String returns the amount as a budget's sentence spells it: "20%",
// "1.5 cores", "64MiB", "5000".
func (a Amount) String() string {
	number := strconv.FormatFloat(a.Value, 'f', -1, 64)
	switch a.Unit {
	case "cores", "points":
		name := a.Unit
		if a.Value == 1 {
			name = strings.TrimSuffix(name, "s")
		}
		return number + " " + name
	}
	return number + a.Unit
}
