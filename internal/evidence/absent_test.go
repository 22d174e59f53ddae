package evidence

import (
	"math"
	"testing"
)

func TestAbsent(t *testing.T) {
	tests := []struct {
		name   string
		k, n   float64
		want   Verdict
		needed float64
	}{
		{"one hit is proof", 1, 1e6, Fail, 0},
		{"one hit among few, too", 1, 1, Fail, 0},
		{"nothing seen", 0, 0, Inconclusive, 299},
		{"one short", 0, 298, Inconclusive, 299},
		{"enough", 0, 299, Pass, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := Absent(tt.k, tt.n)
			if f.Verdict != tt.want || f.Needed != tt.needed {
				t.Errorf("%v, needs %v; want %v, %v", f.Verdict, f.Needed, tt.want, tt.needed)
			}
		})
	}
	// The rule of three.
	if high := Absent(0, 1000).High; math.Abs(high-0.003) > 1e-4 {
		t.Errorf("none in 1000 leaves %v, want about 0.003", high)
	}
}
