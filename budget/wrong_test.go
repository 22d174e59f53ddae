package budget

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// TestWrong compares the messages for wrong sentences with testdata/wrong.txt,
// which is meant to be read: a sentence behind "> ", then what Parse says.
func TestWrong(t *testing.T) {
	const file = "testdata/wrong.txt"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	count := 0
	for line := range strings.SplitSeq(string(data), "\n") {
		sentence, ok := strings.CutPrefix(line, "> ")
		if !ok {
			continue
		}
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
		t.Errorf("%s has %d sentences, want at least 60", file, count)
	}
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(data), got.String()); diff != "" {
		t.Errorf("messages differ from %s (-want +got); run with -update if they are better:\n%s", file, diff)
	}
}
