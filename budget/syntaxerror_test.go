package budget_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/profguard/profguard/budget"
)

// TestSyntaxErrorPicture is about lines that are not plain letters: the mark
// must stay under the word.
func TestSyntaxErrorPicture(t *testing.T) {
	tests := []struct{ name, text, line, mark string }{
		{"plain", "gc above 5%", "gc above 5%", "   ^^^^^"},
		{"tabs", "\tgc\t above\t5%", " gc  above 5%", "     ^^^^^"},
		{"umlauts", "größe above 5%", "größe above 5%", "      ^^^^^"},
		{"control", "gc \x1b[31m 5%", "gc \ufffd[31m 5%", "   ^"},
		{"not UTF-8", "gc \xff 5%", "gc \ufffd 5%", "   ^"},
		{"end", "gc below", "gc below", "        ^"},
		{"end before blanks", "gc below  ", "gc below  ", "        ^"},
		{"long", strings.Repeat("x", 300) + " above 5%",
			"..." + strings.Repeat("x", 79) + " above 5%", strings.Repeat(" ", 3+80) + "^^^^^"},
		{"long behind", "gc above " + strings.Repeat("x", 300), "gc above " + strings.Repeat("x", 151) + "...", "   ^^^^^"},
		{"long word", "gc " + strings.Repeat("y", 300), "gc " + strings.Repeat("y", 157) + "...", "   " + strings.Repeat("^", 157)},
		{"long end", strings.Repeat("x", 300), "..." + strings.Repeat("x", 80), strings.Repeat(" ", 3+80) + "^"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse(test.text)
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("got %v, want a *SyntaxError", err)
			}
			line, mark := syntax.Picture()
			if line != test.line || mark != test.mark {
				t.Errorf("got\n%s\n%s\nwant\n%s\n%s", line, mark, test.line, test.mark)
			}
			if !utf8.ValidString(err.Error()) {
				t.Error("the message is not UTF-8")
			}
		})
	}
}

// TestSyntaxErrorBounded is about texts that nobody wrote by hand: the message
// must not repeat them.
func TestSyntaxErrorBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	for _, text := range []string{
		long, long + " above 5%", "gc " + long, "gc below 5" + long, "gc below 5% in " + long, "no " + long, long + ":", long + ": " + long,
		"no function above 5% of " + long, "no function above 20 of heap per " + long, "gc below 5% when " + long, `"` + long, "/" + long,
		"a below 5% where " + long, "a below 5% for " + long, "a in " + long, strings.Repeat("[", 1<<14), "gc below " + strings.Repeat("9", 1<<14),
		long + " below 64MiB", long + " below 0%", long + " steady", `"` + long + `" below 5%`, "a below " + long, "a below 5," + strings.Repeat("1", 1<<14),
		// Each dot may end the package: a mistake with all of them would take minutes.
		strings.Repeat("x.", 2000) + "y below 20", "no function above 20 except " + strings.Repeat(strings.Repeat("x.", 1000)+"y,", 30) + "z",
		strings.Repeat("[", 1<<14) + strings.Repeat(" [", 1<<14), "gc below 5% " + strings.Repeat("x ", 1<<14),
	} {
		_, err := Parse(text)
		if err == nil {
			t.Errorf("Parse(%.40q...) accepts", text)
			continue
		}
		// Two lines of longestLine with their mark, a word, a remedy, and the rest.
		if got := len(err.Error()); got > 1200 {
			t.Errorf("Parse(%.40q...): the message has %d bytes: %.1500s", text, got, err.Error())
		}
	}
}

func TestSyntaxErrorZero(t *testing.T) {
	// A value that nobody filled in must still print.
	for _, e := range []*SyntaxError{{}, {Column: 99, Text: "short"}, {Column: -1, Text: "short", Word: "longer than the line"}} {
		if !strings.HasPrefix(e.Error(), "parse budget: ") {
			t.Errorf("got %q", e.Error())
		}
	}
}
