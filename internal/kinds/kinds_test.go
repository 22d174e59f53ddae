package kinds

import (
	"bytes"
	"runtime/pprof"
	"slices"
	"testing"

	"github.com/google/pprof/profile"
)

// TestValuesAreTheRuntimes reads a profile of each kind that the runtime has.
func TestValuesAreTheRuntimes(t *testing.T) {
	for _, k := range All {
		t.Run(k.Name, func(t *testing.T) {
			var b bytes.Buffer
			if k.Taken == Recorded {
				if err := pprof.StartCPUProfile(&b); err != nil {
					t.Skip(err) // go test -cpuprofile has the profiler
				}
				pprof.StopCPUProfile()
			} else if p := pprof.Lookup(k.Name); p == nil {
				t.Skip("this runtime has no such profile")
			} else if err := p.WriteTo(&b, 0); err != nil {
				t.Fatal(err)
			}
			p, err := profile.Parse(&b)
			if err != nil {
				t.Fatal(err)
			}
			want := map[Sampling][]string{
				Counted: {k.Count + "/count"}, Timed: {k.Count + "/count", k.Amount + "/nanoseconds"},
				Memory: {k.Count + "/count", k.Amount + "/bytes"}, Contention: {k.Count + "/count", k.Amount + "/nanoseconds"},
			}[k.Sampling]
			if len(want) == 0 {
				t.Fatalf("the line of the table is not whole: %+v", k)
			}
			for _, name := range want {
				if !slices.ContainsFunc(p.SampleType, func(v *profile.ValueType) bool { return v.Type+"/"+v.Unit == name }) {
					t.Errorf("the profile has no value %s", name)
				}
			}
		})
	}
}
