package budget

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/profguard/profguard/internal/golden"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// TestFault_32_WrongSentences compares the messages for wrong sentences with testdata/wrong.txt,
// which is meant to be read: a sentence behind "> ", then what Parse says.
func TestFault_32_WrongSentences(t *testing.T) {
	var got strings.Builder
	count := 0
	for _, sentence := range wrongSentences(t) {
		count++
		set, err := Parse(sentence)
		if err == nil {
			t.Errorf("Parse(%q) = %v, want an error", sentence, set)
			continue
		}
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("Parse(%q): the error is a %T, want a *SyntaxError", sentence, err)
			continue
		}
		if syntax.Remedy == "" {
			t.Errorf("Parse(%q) does not say what to do: %v", sentence, err)
		}
		got.WriteString("> " + sentence + "\n" + err.Error() + "\n\n")
	}
	if count < 60 {
		t.Errorf("%s has %d sentences, want at least 60", wrongFile, count)
	}
	golden.Compare(t, *update, wrongFile, got.String())
}

// wrongFile is in testdata.
const wrongFile = "wrong.txt"

// wrongSentences are those of the golden file.
func wrongSentences(t *testing.T) (list []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", wrongFile))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if sentence, ok := strings.CutPrefix(line, "> "); ok {
			list = append(list, sentence)
		}
	}
	return list
}

// TestRemedies follows the advice of the golden file's messages: what they
// propose, or what is left when they say so, must be accepted, or at least move
// the error on.
func TestRemedies(t *testing.T) {
	proposed := regexp.MustCompile(`(?:did you mean|write, for example,) ("[^"]*"(?: or "[^"]*")*)`)
	leave := regexp.MustCompile(`^leave out ("[^"]*"|the comma|the parentheses)$`)
	followed := 0
	for _, sentence := range wrongSentences(t) {
		_, err := Parse(sentence)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			continue // TestFault_32_WrongSentences says so
		}
		if leave.MatchString(syntax.Remedy) {
			followed++
			if !helps(syntax, "") {
				t.Errorf("leaving it out does not help:\n%v", syntax)
			}
		}
		match := proposed.FindStringSubmatch(syntax.Remedy)
		if match == nil {
			continue
		}
		for proposal := range strings.SplitSeq(strings.Trim(match[1], `"`), `" or "`) {
			followed++
			if !helps(syntax, proposal) {
				t.Errorf("%q does not help:\n%v", proposal, syntax)
			}
		}
	}
	if followed < 60 {
		t.Errorf("%d proposals were followed, want at least 60", followed)
	}
}

// helps reports whether a proposal, in the place of the wrong word, of all
// before it too, or as a sentence, is better than what it replaces.
func helps(e *SyntaxError, proposal string) bool {
	runes := []rune(e.Text)
	before, rest := string(runes[:e.Column-1]), strings.TrimPrefix(string(runes[e.Column-1:]), e.Word)
	if e.Word == "" {
		before += " "
	}
	for _, text := range []string{before + proposal + rest, proposal + rest, proposal, "gc below 5% " + proposal, "f below 5% " + proposal} {
		_, err := Parse(text)
		var next *SyntaxError
		if !errors.As(err, &next) {
			return true
		}
		// The error is behind the proposal: it is another one.
		if at := strings.Index(text, proposal); utf8.RuneCountInString(text[:at+len(proposal)]) < next.Column {
			return true
		}
	}
	return false
}
