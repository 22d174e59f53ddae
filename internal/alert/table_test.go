package alert

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/golden"
)

// Verdicts as the tables write them.
const (
	Inconclusive = evidence.Inconclusive
	Pass         = evidence.Pass
	Fail         = evidence.Fail
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

var (
	verdicts  = []evidence.Verdict{Inconclusive, Pass, Fail}
	evidences = []Evidence{Open, Rising, Alarm, Recovered}
	states    = []State{Inactive, Pending, Firing, Resolved}
)

// TestEveryTransition walks the full product of state, verdict, evidence and
// mode and compares it with a table that a person can check line by line.
func TestEveryTransition(t *testing.T) {
	const now = 20 * time.Minute
	modes := []struct {
		title string
		with  Input
		fails int           // failing windows in a row before this one
		age   time.Duration // of the state
	}{
		{title: "without for", age: time.Minute},
		{title: "one hit is proof", with: Input{Proof: true}, age: time.Minute},
		{title: "for 1 window", with: Input{For: For{Windows: 1}}, age: time.Minute},
		{title: "for 3 windows, one failed before", with: Input{For: For{Windows: 3}}, fails: 1, age: time.Minute},
		{title: "for 3 windows, two failed before", with: Input{For: For{Windows: 3}}, fails: 2, age: 2 * time.Minute},
		{title: "for 5m, since 4m59s", with: Input{For: For{Time: 5 * time.Minute}}, fails: 4, age: 5*time.Minute - time.Second},
		{title: "for 5m, since 5m", with: Input{For: For{Time: 5 * time.Minute}}, fails: 5, age: 5 * time.Minute},
		{title: "one hit is proof, but for 3 windows, one failed before", with: Input{Proof: true, For: For{Windows: 3}}, fails: 1, age: time.Minute},
		{title: "for 3 windows and 5m, two failed before, since 4m59s", with: Input{For: For{Windows: 3, Time: 5 * time.Minute}}, fails: 2, age: 5*time.Minute - time.Second},
		{title: "for 3 windows and 5m, two failed before, since 5m", with: Input{For: For{Windows: 3, Time: 5 * time.Minute}}, fails: 2, age: 5 * time.Minute},
	}
	var out strings.Builder
	out.WriteString("Each cell is the next state; ! marks an event. Columns are the state before.\n")
	for _, m := range modes {
		fmt.Fprintf(&out, "\n== %s\n", m.title)
		w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
		fmt.Fprint(w, "window\tevidence")
		for _, s := range states {
			fmt.Fprintf(w, "\t%s", s)
		}
		fmt.Fprintln(w)
		for _, v := range verdicts {
			for _, e := range evidences {
				fmt.Fprintf(w, "%s\t%s", v, e)
				for _, s := range states {
					in := m.with
					in.Window, in.Evidence = v, e
					before := Alert{State: s, Since: now - m.age, Fails: m.fails}
					after, event := before.Next(in, now)
					fmt.Fprintf(w, "\t%s", cell(t, before, after, event, now))
				}
				fmt.Fprintln(w)
			}
		}
		w.Flush()
	}
	golden.Compare(t, *update, "transitions.txt", trimLines(out.String()))
}

// cell prints a transition, after checking what holds for all of them.
func cell(t *testing.T, before, after Alert, event Event, now time.Duration) string {
	t.Helper()
	if moved := before.State != after.State; moved && after.Since != now || !moved && after.Since != before.Since {
		t.Errorf("%v -> %v: Since went from %v to %v at %v", before.State, after.State, before.Since, after.Since, now)
	}
	fired := after.Firings - before.Firings
	if (event == Fired) != (fired == 1) || fired == 1 && after.FiredAt != now {
		t.Errorf("%v -> %v: event %v with Firings +%d, FiredAt %v", before.State, after.State, event, fired, after.FiredAt)
	}
	switch event {
	case None:
		return after.State.String()
	case BecamePending, Fired, Recovery:
		if event.String() != after.State.String() {
			t.Errorf("%v -> %v: told as %v", before.State, after.State, event)
		}
		return after.State.String() + "!"
	}
	t.Errorf("%v -> %v: unknown event %v", before.State, after.State, event)
	return "?"
}

func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}
