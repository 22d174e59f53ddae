package compare

import (
	"testing"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/reference"
)

// TestKeptProfile: a profile that is kept says of which test binary it is, and how many calls it has.
func TestKeptProfile(t *testing.T) {
	const stack = "testing.(*B).runN;example.com/shop.BenchmarkSum;example.com/shop.sum 100"
	for _, text := range []string{"cpu 10s\n" + stack + "\n", "allocs\n" + stack + " 6400\n"} {
		table, err := new(decode.Decoder).Profile(folded.Must(text))
		if err != nil {
			t.Fatal(err)
		}
		p := &profiled{table: table, clock: 2 * time.Second, calls: 1500}
		kept, err := new(decode.Decoder).Bytes(p.file("example.com/shop", "head", time.Now()))
		if err != nil {
			t.Fatal(err)
		}
		side, _, err := reference.Facts(kept.Comments())
		if err != nil || side.Build.Program != "example.com/shop.test" || side.Build.Version != "head" || side.Pieces.Work["call"] != 1500 || kept.Count() != table.Count() {
			t.Errorf("%v: found %+v with %+v", err, side.Build, side.Pieces)
		}
	}
}
