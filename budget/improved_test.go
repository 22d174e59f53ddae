package budget_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
)

// A function that became cheaper makes the shares of all others larger. That is no growth. The twin is
// one that costs more.
func TestImprovementIsNoGrowth(t *testing.T) {
	release := func(compile, encode int) string {
		var b strings.Builder
		b.WriteString("cpu 60s\n")
		for i := range 8 {
			fmt.Fprintf(&b, "main.main;main.serve;main.step%d 300\n", i)
		}
		fmt.Fprintf(&b, "main.main;main.serve;main.compile %d\nmain.main;main.serve;main.encode %d\n", compile, encode)
		return b.String()
	}
	for _, tt := range []struct {
		name        string
		before, now string
		fails       bool
	}{
		{"improvement", release(3000, 1200), release(10, 1200), false},
		{"regression", release(300, 300), release(300, 2000), true},
		{"more than was saved", release(3000, 300), release(10, 9000), true},
	} {
		var now bytes.Buffer
		if err := folded.Must(tt.now).Write(&now); err != nil {
			t.Fatal(err)
		}
		results, err := budget.Must("no function grows above 5 points").JudgeReader(&now, budget.Facts{Module: "main", Baseline: budget.Baseline{Profile: folded.Must(tt.before)}})
		if err != nil {
			t.Fatal(err)
		}
		if r := results[0]; (r.Verdict == budget.Fail) != tt.fails || tt.fails && r.Offenders[0].Function != "main.encode" {
			t.Errorf("%s: %v", tt.name, r)
		} else {
			t.Log(tt.name, r)
		}
	}
}
