package budget_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
)

// TestFault_39_ZeroSamples: nothing is proved by nothing, in one window and in as
// many as there may be. The twin of each is a window that decides.
func TestFault_39_ZeroSamples(t *testing.T) {
	for _, test := range []struct {
		sentence, header, twin string
		want                   Verdict
	}{
		{"no function above 20%", "cpu 10s", "main.main;main.run;main.work 1000", Fail},
		{"no package above 20% flat", "cpu 10s", "main.main;main.run;main.work 1000", Fail},
		{"main.work below 5%", "cpu 10s", "main.main;main.run;main.rest 1000", Pass},
		{"main.work absent", "cpu 10s", "main.main;main.run;main.work 1000", Fail},
		{"main.work below 1 core", "cpu 10s", "main.main;main.run;main.work 10", Pass},
		{"main.work below 1ms per request", "cpu 10s", "main.main;main.run;main.work 1000", Fail},
		{"main.work absent of allocs", "allocs 10s", "main.main;main.run;main.work 100000 10000000000", Fail},
		{"no function above 20% of allocs", "allocs 10s", "main.main;main.run;main.work 100000 10000000000", Fail},
		{"no function above 0.1 cores of mutex", "mutex 10s", "main.main;main.run;main.work 100000 100s", Fail},
		{"no function above 0.1 cores of block", "block 10s", "main.main;main.run;main.work 100000 100s", Fail},
	} {
		t.Run(test.sentence, func(t *testing.T) {
			set := Must(test.sentence)
			facts := Facts{Kind: Kind(strings.Fields(test.header)[0]), Elapsed: 10 * time.Second, Work: map[string]float64{"request": 1000}}
			nothing := folded.Must(test.header + "\n")
			if r := judged(t, set, nothing, facts)[0]; r.Verdict != Inconclusive || r.Reason == "" {
				t.Errorf("without samples: %s", r)
			}
			// A broken profile has values that are worth no sample.
			if stack, _, ok := strings.Cut(test.twin, " 100000 "); ok {
				values := folded.Must(test.header + "\n" + stack + " 0 1000\n")
				if r := judged(t, set, values, facts)[0]; r.Verdict != Inconclusive || r.Samples != 0 || strings.Contains(r.Reason, "0 samples") {
					t.Errorf("values of no sample: %s", r)
				}
			}
			if r := judged(t, set, folded.Must(test.header+"\n"+test.twin+"\n"), facts)[0]; r.Verdict != test.want {
				t.Errorf("with samples, want %s: %s", test.want, r)
			}
			w, err := newWatch(set, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 100 {
				results, err := w.Profile(nothing, time.Duration(i)*time.Minute, facts)
				if err != nil {
					t.Fatal(err)
				}
				if r := results[0]; r.Verdict != Inconclusive || r.Proven != Inconclusive {
					t.Fatalf("window %d without samples: alarm %s: %s", i, r.Proven, r)
				}
			}
		})
	}
}

// TestFault_41_BaselineOfAnotherUnit is told from one that fits.
func TestFault_41_BaselineOfAnotherUnit(t *testing.T) {
	p := folded.Must("cpu 10s\nmain.main;main.run;main.work 5000\nmain.main;main.run;main.rest 5000\n")
	slower := p.Copy()
	slower.Period *= 10
	for _, test := range []struct {
		name     string
		baseline Facts
		reason   string // "": it fits
	}{
		{"the same", Facts{Baseline: Baseline{Profile: p.Copy()}}, ""},
		{"heap", Facts{Baseline: Baseline{Profile: folded.Must("heap\nmain.main;main.run;main.work 500 500000\n")}}, "another kind of profile: heap"},
		{"goroutines", Facts{Baseline: Baseline{Profile: folded.Must("goroutine\nmain.main;main.run;main.work 500\n")}}, "another kind of profile: goroutine"},
		{"another period", Facts{Baseline: Baseline{Profile: slower}}, "period 100000000"},
		{"none", Facts{}, "nothing to compare with"},
	} {
		r := judged(t, Must("main.work grows below 20 points"), p, test.baseline)[0]
		if test.reason == "" && r.Verdict != Pass {
			t.Errorf("%s: %s", test.name, r)
		}
		if test.reason != "" && (r.Verdict != Inconclusive || !strings.Contains(r.Reason, test.reason)) {
			t.Errorf("%s: want inconclusive, because %q: %s", test.name, test.reason, r)
		}
	}
}
