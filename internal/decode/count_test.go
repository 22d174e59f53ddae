package decode_test

import (
	"testing"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
)

// TestCount: a window's samples are those of its profile, also where all budgets are
// idle.
func TestCount(t *testing.T) {
	table, err := new(decode.Decoder).Profile(folded.Must("cpu 10s\nmain.main;main.run 42\nmain.main;main.rest 8\n"))
	if err != nil {
		t.Fatal(err)
	}
	if n := table.Count(); n != 50 {
		t.Errorf("%d samples, expected 50", n)
	}
	if n := (*decode.Table)(nil).Count(); n != 0 {
		t.Errorf("%d samples of no profile", n)
	}
}
