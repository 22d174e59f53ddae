package budget

import (
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/folded"
)

const nobody = "no function of this profile matches"

// samplesOf is a CPU profile in which a function has so many samples, of all.
func samplesOf(function string, hits, all int) *profile.Profile {
	text := "cpu 10s\n"
	if hits > 0 {
		text += "main.main;main.run;" + function + " " + format(float64(hits), dimCount) + "\n"
	}
	return folded.Must(text + "main.main;main.run;main.work " + format(float64(all-hits), dimCount) + "\n")
}

// TestUnmatched: a saved profile in which a pattern matches nothing says so,
// beside its verdict; one that has shown before is not misspelt.
func TestUnmatched(t *testing.T) {
	tests := []struct {
		name, budget string
		profiles     []*profile.Profile
		verdict      Verdict
		want         bool
	}{
		{"a pass", "portlist below 5%", []*profile.Profile{samplesOf("", 0, 1000)}, Pass, true},
		{"too few", "portlist below 5%", []*profile.Profile{samplesOf("", 0, 10)}, Inconclusive, true},
		{"a match", "portlist below 5%", []*profile.Profile{samplesOf("portlist.poll", 10, 1000)}, Pass, false},
		{"a match before", "portlist below 5%", []*profile.Profile{samplesOf("portlist.poll", 500, 1000), samplesOf("", 0, 1000)}, Pass, false},
		{"a match before, too few", "portlist below 5%", []*profile.Profile{samplesOf("portlist.poll", 500, 1000), samplesOf("", 0, 10)}, Inconclusive, false},
		{"a figure", "gc below 5%", []*profile.Profile{samplesOf("", 0, 1000)}, Pass, false},
		{"a figure, too few", "gc below 5%", []*profile.Profile{samplesOf("", 0, 55)}, Inconclusive, false},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			j, err := NewJudge(Must(c.budget))
			if err != nil {
				t.Fatal(err)
			}
			var res Result
			for _, p := range c.profiles {
				results, err := j.Profile(p)
				if err != nil {
					t.Fatal(err)
				}
				res = results[0]
			}
			if res.Verdict != c.verdict || strings.Contains(res.Reason, nobody) != c.want {
				t.Errorf("%v, %q: want %v, and said that nobody matches: %t", res.Verdict, res.Reason, c.verdict, c.want)
			}
			if c.verdict == Pass && strings.HasPrefix(res.Reason, nobody) {
				t.Errorf("%q: a pass that begins like a mistake", res.Reason)
			}
		})
	}
}

// TestUnmatchedWatched: a program that is watched is asked what is linked, so its
// passes need no warning, and its first windows do.
func TestUnmatchedWatched(t *testing.T) {
	w, err := NewWatch(Must("portlist below 5%"), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		samples int
		want    bool
	}{{10, true}, {1000, false}} {
		results, err := w.Profile(samplesOf("", 0, c.samples), time.Duration(i)*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(results[0].Reason, nobody); got != c.want {
			t.Errorf("%d samples: %q, said that nobody matches: %t, want %t", c.samples, results[0].Reason, got, c.want)
		}
	}
}
