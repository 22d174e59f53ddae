package budget_test

import (
	"os"
	"testing"

	"github.com/google/pprof/profile"

	. "github.com/profguard/profguard/budget"
)

// A service that reads and writes JSON, built by two releases of Go: in the newer, encoding/json
// has the work done by other packages. Budgets on encoding/json say the same about both.
func TestMovedJSON(t *testing.T) {
	for sentence, want := range map[string]Verdict{
		"no function above 20% cumulative except encoding/json when process above 0.1 cores": Pass, // README's first
		"no function above 20% cumulative":                                                   Fail, // or else it shows nothing
		"encoding/json below 10% flat":                                                       Fail,
		"json below 10% flat":                                                                Fail,
		"encoding/json/... below 10% flat":                                                   Fail,
		"encoding/json below 40%":                                                            Fail,
		"encoding/json absent in main.handle":                                                Fail,
		"encoding/json below 90%":                                                            Pass,
		"encoding/json.(*Decoder).Decode below 10%":                                          Fail,
		"encoding/json.Unmarshal absent":                                                     Pass, // what Decode calls is encoding/json/v2.Unmarshal, or none
		"runtime below 3% in encoding/json":                                                  Fail,
		"no package above 50% flat except runtime/...":                                       Pass,
	} {
		for _, release := range []string{"1.26", "1.27"} {
			data, err := os.ReadFile("testdata/json-go" + release + ".pb.gz")
			if err != nil {
				t.Fatal(err)
			}
			p, err := profile.ParseData(data)
			if err != nil {
				t.Fatal(err)
			}
			results, err := Must(sentence).Judge(p, Facts{Module: "example.com/shop", Figures: map[Figure]float64{"process": 0.8}})
			if err != nil {
				t.Fatal(err)
			}
			if r := results[0]; r.Verdict != want {
				t.Errorf("Go %s: %s, want %v:\n%s", release, sentence, want, r)
			}
		}
	}
}
