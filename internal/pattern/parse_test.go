package pattern_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/profguard/profguard/internal/golden"
	. "github.com/profguard/profguard/internal/pattern"
)

// mistakes are all refused; testdata/mistakes.golden has the messages.
var mistakes = []string{
	"", " ", "...", "../..", ".../...", "*", "*.*", "(**)", "./...",
	".http", "net/http/", "net//http", "net/http...", "...http", "net/...http/x", "net/http....Get",
	"net/**", "main.a..b", "main.", "main.F.",
	"main.F()", "F()", "main.F(int)", "net/http(*conn)", "net/http(*conn).serve", "net/(*conn).serve",
	"main.(*)", "main.(*T", "main.(*T.M", "main.().M", "main.*T.M)", "main.(*T)M",
	"main.F[int", "main.F]",
	"fmt.Println, fmt.Print", "no function", "a@v1.2.3", "net.Dial|Listen", "main.{Get,Put}", "^main", "main.F?", `a\b`, "main:F", "a,b", `"fmt`, `""`, `"\q"`, "a\x00b", "a\xff",
	"/net/http/", "/net", "/usr/lib", "//", "/(/", "/a**/", `/a\/`, "/[[:foo:]]/",
	strings.Repeat("a", MaxLength+1),
}

func TestParseMistakes(t *testing.T) {
	var got strings.Builder
	for _, text := range mistakes {
		p, err := Parse(text)
		if err == nil {
			t.Errorf("Parse(%q) accepts it as %v", text, p)
			continue
		}
		fmt.Fprintln(&got, err)
	}
	golden.Compare(t, "mistakes.golden", got.String())
}

func FuzzPattern(f *testing.F) {
	for _, test := range matchTests {
		f.Add(test.pattern, test.match[0])
		f.Add(test.pattern, test.miss[0])
	}
	for _, text := range mistakes {
		f.Add(text, "main.F")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		p, err := Parse(text)
		if err != nil {
			if p != nil {
				t.Errorf("Parse(%q) returns a pattern and %v", text, err)
			}
			return
		}
		var want []int32
		if p.Match(name) {
			want = []int32{0}
		}
		if diff := cmp.Diff(want, NewIndex([]*Pattern{p}).Match(name, nil)); diff != "" {
			t.Errorf("%q and its index differ about %q: -pattern +index\n%s", text, name, diff)
		}
	})
}

// What an expression needs is in each name that it matches, and is found where there is some.
func TestNeeded(t *testing.T) {
	for text, want := range map[string]string{
		`/Unmarshal/`: "Unmarshal", `/^net\.(Dial|Listen)/`: "net.", `/(?i)unmarshal/`: "", `/a|b/`: "", `/x*y?/`: "",
		`/.*(Encode)+$/`: "Encode", `/[a-c]+\.Foo.*Handler\d/`: ".Foo Handler", `/(ab){0,2}c/`: "c", "/\uFFFD.*b/": "b",
	} {
		p, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(p.Needs(), " "); got != want {
			t.Errorf("%s needs %q, want %q", text, got, want)
		}
		for _, name := range []string{"net.Dial", "main.unMarshal", "main.Unmarshal", "a.b", "x", "main.EncodeEncode", "ab.FooXHandler7", "abac", "\xff\xffb"} {
			if got, want := p.Match(name), p.Tried(name); got != want {
				t.Errorf("%s matches %q: %t, want %t", text, name, got, want)
			}
		}
	}
}
