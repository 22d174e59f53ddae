package budget_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/unit"
)

const nobody = "no function of this profile matches"

// samplesOf is a CPU profile in which a function has so many samples, of all.
func samplesOf(function string, hits, all int) *profile.Profile {
	text := "cpu 10s\n"
	if hits > 0 {
		text += "main.main;main.run;" + function + " " + unit.Format(float64(hits), unit.Count) + "\n"
	}
	return folded.Must(text + "main.main;main.run;main.work " + unit.Format(float64(all-hits), unit.Count) + "\n")
}

// TestUnmatched: a saved profile in which a pattern matches nothing says so,
// beside its verdict.
func TestUnmatched(t *testing.T) {
	tests := []struct {
		name, budget string
		hits, all    int
		verdict      Verdict
		want         bool
	}{
		{"a pass", "portlist below 5%", 0, 1000, Pass, true},
		{"too few", "portlist below 5%", 0, 10, Inconclusive, true},
		{"a match", "portlist below 5%", 10, 1000, Pass, false},
		{"a figure", "gc below 5%", 0, 1000, Pass, false},
		{"a figure, too few", "gc below 5%", 0, 55, Inconclusive, false},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			res := judged(t, Must(c.budget), samplesOf("portlist.poll", c.hits, c.all))[0]
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
// results need no warning.
func TestUnmatchedWatched(t *testing.T) {
	w, err := newWatch(Must("portlist below 5%"), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for i, all := range []int{10, 1000} {
		results, err := w.Profile(samplesOf("portlist.poll", 0, all), time.Duration(i)*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if reason := results[0].Reason; strings.Contains(reason, nobody) {
			t.Errorf("window %d: %q", i, reason)
		}
	}
}
