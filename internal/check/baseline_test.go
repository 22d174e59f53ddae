package check

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
)

// TestFault_41_BaselineOfAnotherGo: a check says by which toolchain its baseline was
// made, if it was another.
func TestFault_41_BaselineOfAnotherGo(t *testing.T) {
	for _, test := range []struct{ name, made, note string }{
		{"this one", toolchain(), ""},
		{"another", "go1.25.1 plan9/386", "was made by go1.25.1 plan9/386, this is " + toolchain()},
	} {
		p := folded.Must("cpu 10s\nmain.main;main.work 1000\n")
		p.Comments = []string{baselineComment + "call=100", toolchainComment + test.made}
		path := filepath.Join(t.TempDir(), "base.pprof")
		if err := saveProfile(path, p); err != nil {
			t.Fatal(err)
		}
		var b baselineFile
		if problem := b.load(path, budget.Must("process grows below 10% per call")); problem != "" || b.work["call"] != 100 {
			t.Errorf("%s: %q, %v", test.name, problem, b.work)
		}
		if notes := strings.Join(b.notes, "\n"); !strings.Contains(notes, test.note) || (notes == "") != (test.note == "") {
			t.Errorf("%s: the notes are %q, want one with %q", test.name, notes, test.note)
		}
	}
}
