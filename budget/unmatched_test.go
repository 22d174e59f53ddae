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
			res := Must(c.budget).Judge(samplesOf("portlist.poll", c.hits, c.all))[0]
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
// passes need no warning, and what has shown before is not misspelt.
func TestUnmatchedWatched(t *testing.T) {
	set := Must("portlist below 5%")
	w, err := newWatch(set, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		hits, all int
		want      bool
	}{{0, 10, true}, {0, 1000, false}, {500, 1000, false}, {0, 10, false}, {0, 10, false}} {
		if i == 4 { // another set takes its place
			after, err := newWatch(Must("gc below 5%", set[0].String()), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			after.Inherit(1, w.Watch, 0)
			w = after
		}
		results, err := w.Profile(samplesOf("portlist.poll", c.hits, c.all), time.Duration(i)*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		reason := results[len(results)-1].Reason
		if got := strings.Contains(reason, nobody); got != c.want {
			t.Errorf("window %d: %q, said that nobody matches: %t, want %t", i, reason, got, c.want)
		}
	}
}
