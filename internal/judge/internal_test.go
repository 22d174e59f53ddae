package judge

import (
	"fmt"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/unit"
)

// TestProof: who is over the limit on growth only by its measured number is not
// named beside one that has grown beyond doubt, by the blocks or by all samples.
func TestProof(t *testing.T) {
	const limit = 0.05
	s := &blockStanding{each: map[string]*blockFunction{}}
	near := func(name string, hits float64) {
		test := evidence.NewSequential(evidence.Limit{Most: limit, Grows: true, K0: 100, N0: 1000})
		for range 60 {
			test.Add(hits, 10)
		}
		s.each[name] = &blockFunction{Sequential: test}
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
		{"main.unseen", fail, false},
	} {
		f := s.proof(&comparison{rule: &rule{Rule: Rule{Limit: limit}}}, found{name: tt.name, Finding: evidence.Finding{Low: tt.low}})
		if proven := f.Verdict == evidence.Fail; proven != tt.want || proven && (f.Low <= limit || f.Needed != 0) {
			t.Errorf("%s, above %v by all samples: %+v, want it proven: %v", tt.name, tt.low, f, tt.want)
		}
	}
}

// TestWatchBounded gives a watch thousands of function names that come and go.
func TestWatchBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	w, err := NewWatch([]Rule{
		{Class: Each, Limit: 0.2, Dimension: unit.Share, Kind: "cpu"},
		{Class: Each, Limit: 1, Dimension: unit.Cores, Kind: "cpu"},
	}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	name := 0
	for i := range 300 {
		text := "cpu 10s\n"
		for range 50 {
			name++
			text += fmt.Sprintf("main.main;main.run;main.f%d 20\n", name)
		}
		if _, err := w.Profile(folded.Must(text), time.Duration(i)*time.Minute, Facts{}); err != nil {
			t.Fatal(err)
		}
		for k := range w.standings {
			if got := len(w.standings[k].functions); got > maxFunctions {
				t.Fatalf("window %d: %d functions are remembered, want %d at the most", i, got, maxFunctions)
			}
		}
	}
}
