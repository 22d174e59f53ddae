package compare

import (
	"testing"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/reference"
	"github.com/profguard/profguard/internal/tree"
)

// TestKeptProfile: a profile of CPU that is kept says of which test binary it is, and how many calls it has; one of
// allocations is an ordinary profile.
func TestKeptProfile(t *testing.T) {
	table, err := new(decode.Decoder).Profile(folded.Must("cpu 10s\ntesting.(*B).runN;example.com/shop.BenchmarkSum;example.com/shop.sum 100\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := &profiled{table: table, clock: 2 * time.Second, calls: 1500}
	for kind, calls := range map[string]float64{"cpu": 1500, "allocs": 0} {
		kept, err := new(decode.Decoder).Bytes(p.file("example.com/shop", "head", kind, time.Now()))
		if err != nil {
			t.Fatal(err)
		}
		side, err := reference.Of(t.Context(), new(tree.Counter), kept, kept.Comments())
		if err != nil {
			t.Fatal(err)
		}
		known := side.Build.Program == "example.com/shop.test" && side.Build.Version == "head" && side.Pieces.Count == 1
		if side.Pieces.Work["call"] != calls || known != (kind == "cpu") || side.Tree.N() != 100 {
			t.Errorf("%s: found %+v with %v", kind, side.Build, side.Pieces)
		}
	}
}
