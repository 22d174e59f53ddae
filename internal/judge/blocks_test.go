package judge

import (
	"testing"

	"github.com/profguard/profguard/internal/evidence"
)

// TestOnlyProven: a rule that fails names who is over the limit beyond doubt, by the
// blocks or by all samples.
func TestOnlyProven(t *testing.T) {
	s := &blockStanding{each: map[string]*blockFunction{}}
	near := func(name string, hits float64) {
		test := evidence.NewSequential(0.2)
		for range 30 {
			test.Add(hits, 10)
		}
		s.each[name] = &blockFunction{near: &test}
	}
	near("main.guilty", 8)
	near("main.busy", 2.2)
	near("main.proven", 2.2)
	f := &Finding{Over: 4}
	for name, low := range map[string]float64{"main.guilty": 0.1, "main.busy": 0.1, "main.proven": 0.21, "main.unseen": 0.1} {
		f.Offenders = append(f.Offenders, Offender{Frame: Frame{Function: name}, Low: low})
	}
	s.onlyProven(f, 0.2, 1)
	got := map[string]bool{}
	for _, o := range f.Offenders {
		got[o.Function] = true
	}
	if len(got) != 2 || !got["main.guilty"] || !got["main.proven"] || f.Over != 2 {
		t.Errorf("named are %v of %d, want main.guilty and main.proven", got, f.Over)
	}
}
