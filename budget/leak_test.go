package budget_test

import (
	"testing"

	"github.com/google/pprof/profile"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
)

// A sample of the leak profile without a frame is no leak: since Go 1.27 a main goroutine in
// "select {}" is one. A leak beside it is still found, on the line of its go statement.
func TestLeakHasStack(t *testing.T) {
	for _, test := range []struct {
		name, stacks string
		verdict      Verdict
		hits         int64
		line         int
	}{
		{"main waits", "", Pass, 0, 0},
		{"a function literal leaks", "main.start.func1@start.go:36;main.receive@receive.go:19;runtime.gopark 2\n", Fail, 2, 30},
		{"a named function leaks", "main.run@run.go:15;main.receive@receive.go:19;runtime.gopark 2\n", Fail, 2, 15},
	} {
		p := folded.Must("goroutineleak\n" + test.stacks)
		for _, f := range p.Function {
			if f.Name == "main.start.func1" {
				f.StartLine = 30
			}
		}
		p.Sample = append(p.Sample, &profile.Sample{Value: []int64{1}})
		results, err := Must("no goroutine leaked").Judge(p, Facts{})
		if err != nil {
			t.Fatal(err)
		}
		r := results[0]
		line := 0
		for _, o := range r.Offenders {
			line = o.Line
			if o.Blame.Line != line {
				t.Errorf("%s: blamed on line %d", test.name, o.Blame.Line)
			}
		}
		if r.Verdict != test.verdict || r.Hits != test.hits || line != test.line {
			t.Errorf("%s: %d leaks, line %d: %s", test.name, r.Hits, line, r)
		}
	}
}
