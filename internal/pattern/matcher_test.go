package pattern

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// TestMatcherEqualsExpression puts expressions and names together at random, so
// that they meet often: what a matcher leaves out must be no match.
func TestMatcherEqualsExpression(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	r := rand.New(rand.NewPCG(3, 4))
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	var expression func(depth int) string
	expression = func(depth int) string {
		var b strings.Builder
		for range 1 + r.IntN(4) {
			switch n := r.IntN(8); {
			case n == 0 && depth > 0:
				b.WriteString("(" + expression(depth-1) + "|" + expression(depth-1) + ")" + pick("", "?", "+", "*", "{2}"))
			case n == 1:
				b.WriteString(pick(".", ".*", "[ab]", `\d+`, "(?i:k)", "ß?"))
			case n == 2:
				b.WriteString(pick("^", "$", ""))
			default:
				b.WriteString(pick("a", "ab", "K", "Main", `\.`, "x1", "É", "b{2}", "c?"))
			}
		}
		return b.String()
	}
	for range 3000 {
		text := pick("", "(?i)") + expression(2)
		re, err := regexp.Compile(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		pattern := &Pattern{text: text, regexp: newMatcher(re)}
		ix := NewIndex([]*Pattern{pattern})
		for range 20 {
			var name strings.Builder
			for range r.IntN(8) {
				name.WriteString(pick("a", "b", "ab", "k", "K", "\u212a", "Main", "main", ".", "x1", "é", "É", "c"))
			}
			want := re.MatchString(name.String())
			if got := pattern.Match(name.String()); got != want {
				t.Fatalf("/%s/ matches %q: %v, want %v; it needs %q", text, name.String(), got, want, pattern.regexp.needed)
			}
			if got := len(ix.Match(name.String(), nil)) > 0; got != want {
				t.Fatalf("/%s/ matches %q in an index: %v, want %v", text, name.String(), got, want)
			}
		}
	}
}
