package analyzer

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

func TestAnalyzer(t *testing.T) { analysistest.Run(t, analysistest.TestData(), Analyzer, "shop") }

// quiet takes the errors of analysistest, which wants no reports in files that are not Go.
type quiet struct{}

func (quiet) Errorf(string, ...any) {}

// TestEmbedded: a mistake is told at the line of the file that is embedded.
func TestEmbedded(t *testing.T) {
	for _, r := range analysistest.Run(quiet{}, analysistest.TestData(), Analyzer, "embedded") {
		if len(r.Diagnostics) != 1 {
			t.Fatalf("expected one report, found %v", r.Diagnostics)
		}
		d := r.Diagnostics[0]
		at := r.Action.Package.Fset.Position(d.Pos)
		if filepath.Base(at.Filename) != "budgets.txt" || at.Line != 3 || at.Column != 21 || !strings.Contains(d.Message, `found "cumulativ"`) {
			t.Errorf("expected the word in line 3, found %v: %s", at, d.Message)
		}
	}
}
