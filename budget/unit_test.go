package budget_test

import (
	"math"
	"testing"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/unit"
)

func TestAmount(t *testing.T) {
	tests := []struct {
		amount Amount
		dim    unit.Dimension
		base   float64
		text   string
	}{
		{Amount{20, "%"}, unit.Share, 0.2, "20%"},
		{Amount{0.5, "%"}, unit.Share, 0.005, "0.5%"},
		{Amount{5, "points"}, unit.Points, 0.05, "5 points"},
		{Amount{1, "points"}, unit.Points, 0.01, "1 point"},
		{Amount{1, "cores"}, unit.Cores, 1, "1 core"},
		{Amount{1.5, "cores"}, unit.Cores, 1.5, "1.5 cores"},
		{Amount{40, "ns"}, unit.Time, 40e-9, "40ns"},
		{Amount{40, "us"}, unit.Time, 40e-6, "40us"},
		{Amount{2, "ms"}, unit.Time, 2e-3, "2ms"},
		{Amount{1, "s"}, unit.Time, 1, "1s"},
		{Amount{2, "m"}, unit.Time, 120, "2m"},
		{Amount{1, "h"}, unit.Time, 3600, "1h"},
		{Amount{7, "B"}, unit.Bytes, 7, "7B"},
		{Amount{2, "KiB"}, unit.Bytes, 2048, "2KiB"},
		{Amount{64, "MiB"}, unit.Bytes, 64 << 20, "64MiB"},
		{Amount{1, "GiB"}, unit.Bytes, 1 << 30, "1GiB"},
		{Amount{2, "kB"}, unit.Bytes, 2000, "2kB"},
		{Amount{64, "MB"}, unit.Bytes, 64e6, "64MB"},
		{Amount{1, "GB"}, unit.Bytes, 1e9, "1GB"},
		{Amount{5000, ""}, unit.Count, 5000, "5000"},
		{Amount{1e15, ""}, unit.Count, 1e15, "1000000000000000"},
		{Amount{5, "parsec"}, unit.Unknown, 0, "5parsec"},
	}
	for _, test := range tests {
		a := test.amount
		if got := a.Dimension(); got != test.dim {
			t.Errorf("%v: dimension %d, want %d", a, got, test.dim)
		}
		if got := a.Base(); math.Abs(got-test.base) > 1e-12*test.base {
			t.Errorf("%v: base %v, want %v", a, got, test.base)
		}
		if got := a.String(); got != test.text {
			t.Errorf("%#v prints as %q, want %q", a, got, test.text)
		}
	}
}

// TestBaseIsExact: a limit is the number that was written, and not its neighbour.
func TestBaseIsExact(t *testing.T) {
	for a, want := range map[Amount]float64{
		{35, "%"}: 0.35, {29, "%"}: 0.29, {7, "points"}: 0.07,
		{40, "us"}: 40e-6, {3, "ms"}: 0.003, {7, "ns"}: 7e-9, {2, "h"}: 7200,
		{64, "MiB"}: 64 << 20, {1.5, "cores"}: 1.5, {5000, ""}: 5000,
	} {
		if got := a.Base(); got != want {
			t.Errorf("%s is %v, want %v", a, got, want)
		}
	}
}
