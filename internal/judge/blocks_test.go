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
	who, first := s.onlyProven(&comparison{rule: &rule{Rule: Rule{Limit: 0.2}}}, f, "", evidence.Finding{})
	if want, _ := s.proof(f.Offenders[0].Function, f.Offenders[0].Low, 0.2); who != f.Offenders[0].Function || first != want {
		t.Errorf("the finding is %+v of %s, want that of the first offender: %+v", first, who, want)
	}
	got := map[string]bool{}
	for _, o := range f.Offenders {
		got[o.Function] = true
	}
	if len(got) != 2 || !got["main.guilty"] || !got["main.proven"] || f.Over != 2 {
		t.Errorf("named are %v of %d, want main.guilty and main.proven", got, f.Over)
	}
}

// TestProof: who is over the limit on growth only by its measured number is not
// named beside one that has grown beyond doubt, by the blocks or by all samples.
func TestProof(t *testing.T) {
	const limit = 0.05
	s := &blockStanding{each: map[string]*blockFunction{"main.rare": {}}}
	near := func(name string, hits float64) {
		test := evidence.NewSequentialGrowth(evidence.Baseline{K: 100, N: 1000, Limit: limit})
		for range 60 {
			test.Add(hits, 10)
		}
		s.each[name] = &blockFunction{near: &test}
	}
	near("main.grown", 8)
	near("main.slightly", 1.6)
	const fail, open = 0.06, 0.04 // lower bounds by all samples
	for _, tt := range []struct {
		name string
		low  float64
		want bool
	}{
		{"main.grown", open, true},
		{"main.slightly", open, false},
		{"main.slightly", fail, true},
		{"main.rare", fail, false},
		{"main.unseen", fail, false},
	} {
		f, proven := s.proof(tt.name, tt.low, limit)
		if proven != tt.want || proven && (f.Verdict != evidence.Fail || f.Low <= limit || f.Needed != 0) {
			t.Errorf("%s, above %v by all samples: proven %v by %+v, want %v", tt.name, tt.low, proven, f, tt.want)
		}
	}
}
