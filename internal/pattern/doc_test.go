package pattern_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	. "github.com/profguard/profguard/internal/pattern"
)

// TestNames runs the examples of the package documentation.
func TestNames(t *testing.T) {
	text, err := os.ReadFile("testdata/names.txt")
	if err != nil {
		t.Fatal(err)
	}
	gap := regexp.MustCompile(`  +`)
	examples := 0
	for line := range strings.Lines(string(text)) {
		cells := gap.Split(strings.TrimSpace(line), -1)
		if cells[0] == "pattern" {
			continue
		}
		if len(cells) != 3 {
			t.Errorf("%q has %d columns, want 3", line, len(cells))
			continue
		}
		p, err := Parse(cells[0])
		if err != nil {
			t.Error(err)
			continue
		}
		if !p.Match(cells[1]) {
			t.Errorf("%s does not match %s", cells[0], cells[1])
		}
		if p.Match(cells[2]) {
			t.Errorf("%s matches %s", cells[0], cells[2])
		}
		examples++
	}
	if examples < 40 {
		t.Errorf("found only %d examples in names.txt", examples)
	}
}
