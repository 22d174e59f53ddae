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
	var words []string
	say := func(ok bool, more ...string) {
		if ok {
			words = append(words, more...)
		}
	}
	c := classOf(b.Subject)
	say(b.Name != "", b.Name+":")
	say(true, b.Subject)
	say(b.Rule != "", b.Rule)
	say(b.hasLimit(), b.limitWord(), b.Limit.String())
	say(b.Flat, "flat")
	// Readers of "above 20%" take it for either measure, so it is always said.
	say(!b.Flat && b.Limit.Unit == "%" && (c == classEach || c == classPattern), "cumulative")
	say(b.Per != "", "per", b.Per)
	say(b.Kind != "" && b.Kind != "cpu", "of", b.Kind)
	say(len(b.Except) > 0, "except", strings.Join(b.Except, ", "))
	say(b.In != "", "in", b.In)
	var labels []string
	for _, key := range slices.Sorted(maps.Keys(b.Where)) {
		labels = append(labels, labelText(key, "="+labelOperators)+"="+labelText(b.Where[key], ""))
	}
	say(len(labels) > 0, "where", strings.Join(labels, ", "))
	say(b.When != (Condition{}), "when", b.When.String())
	say(b.ForWindows == 1, "for 1 window")
	say(b.ForWindows != 0 && b.ForWindows != 1, "for", strconv.Itoa(b.ForWindows), "windows")
	say(b.ForTime != 0, "for", durationText(b.ForTime))
	return strings.Join(words, " ")
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
