package pattern

import (
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// TestDocExamples runs the tables of the package documentation.
func TestDocExamples(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	gap := regexp.MustCompile(`  +`)
	examples := 0
	for line := range strings.Lines(file.Doc.Text()) {
		cells := gap.Split(strings.Trim(line, "\t\n"), -1)
		if !strings.HasPrefix(line, "\t") || cells[0] == "pattern" {
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
			t.Errorf("%s does not match %s", p, cells[1])
		}
		if p.Match(cells[2]) {
			t.Errorf("%s matches %s", p, cells[2])
		}
		examples++
	}
	if examples < 40 {
		t.Errorf("found only %d examples in doc.go", examples)
	}
}
