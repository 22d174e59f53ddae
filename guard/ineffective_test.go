package guard

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/profiler"
)

// manyStacks is a window with twenty stacks, and those of a text.
func manyStacks(more string) profiler.Window {
	var text strings.Builder
	text.WriteString("cpu 10s\n" + more)
	for i := range 20 {
		fmt.Fprintf(&text, "main.main;main.serve;main.work%d 10\n", i)
	}
	return cpuWindow(text.String())
}

// seriesOf is the value of a budget's series.
func seriesOf(t *testing.T, g *Guard, metric, budget string) string {
	t.Helper()
	registry := prometheus.NewRegistry()
	if err := registry.Register(g.collector()); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(scrape(t, registry, openMetrics)) {
		if v, ok := strings.CutPrefix(line, fmt.Sprintf("%s{budget=%q} ", metric, budget)); ok {
			return strings.TrimSuffix(strings.TrimSpace(v), ".0")
		}
	}
	return "none"
}

// Nothing ever runs within the one budget: it is said after an hour, and taken
// back by the first sample. Its twins, of which one has a sample now and then and one
// is idle, stay quiet; what is misspelt is said at once.
func TestNeverWithin(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.linked = append(w.linked, "main.handle")
		w.take = func(n int) profiler.Window {
			switch {
			case n == 50:
				return manyStacks("main.main;main.serve;encoding/json.Marshal;fmt.Println 10\n")
			case n >= 70:
				return manyStacks("main.main;main.handle;fmt.Println 10\n")
			}
			return manyStacks("")
		}
		g := w.start(t, Config{Window: 10 * second, Every: 10 * second, Budgets: budget.Must(
			"never: fmt.Println below 20% in main.handle",
			"label: no function above 20% where endpoint=/chekout",
			"seldom: fmt.Println below 20% in encoding/json.Marshal",
			"idle: fmt.Println below 20% in main.handle when process above 2 cores",
			"typo: portlister below 20%",
		)})
		initials(t, g, 59)
		wantEvents(t, w, EventIneffective+" typo")
		if seriesOf(t, g, "profguard_budget_ineffective", "typo") != "1" || seriesOf(t, g, "profguard_budget_ineffective", "never") != "0" {
			t.Error("the misspelt one, and no other, is to be known from its metric")
		}
		initials(t, g, 3)
		for name, want := range map[string]string{"never": "1", "label": "1", "seldom": "0", "idle": "0", "typo": "1"} {
			if got := seriesOf(t, g, "profguard_budget_ineffective", name); got != want {
				t.Errorf("%s: ineffective %s, want %s", name, got, want)
			}
		}
		if b := g.Status().Budgets[1]; !strings.Contains(b.Warning, `no sample within its "in" and "where" in 62 windows`) {
			t.Errorf("warning %q", b.Warning)
		}
		initials(t, g, 10)
		if got := seriesOf(t, g, "profguard_budget_ineffective", "never"); got != "0" || g.Status().Budgets[0].Warning != "" {
			t.Errorf("with samples: ineffective %s, warning %q", got, g.Status().Budgets[0].Warning)
		}
		g.Stop()
	})
}

// The same is said of work that is never done, for example because a label has a misspelt
// value, and not of work that is done between two windows.
func TestNeverAnyWork(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.linked = append(w.linked, "main.handle")
		w.take = func(int) profiler.Window { return manyStacks("") }
		g := w.start(t, Config{Window: 2 * second, Every: 10 * second,
			Budgets: budget.Must("counted: process below 1s per never", "sampled: fmt.Println below 1s per never", "seldom: process below 1000s per seldom", "done: fmt.Println below 1000s per seldom", "between: fmt.Println below 1000s per between", "within: fmt.Println below 1000s per often in main.handle"),
			Work: map[string]func() float64{
				"often":   func() float64 { return time.Since(w.began).Seconds() },
				"never":   func() float64 { return 7 },
				"seldom":  func() float64 { return min(time.Since(w.began).Seconds(), 25) },
				"between": func() float64 { return math.Floor(time.Since(w.began).Seconds()/100 + .2) }, // at 80 s, 180 s and so on
			}})
		for _, step := range []struct {
			windows int
			want    string
		}{{40, "0"}, {22, "1"}} {
			initials(t, g, step.windows)
			for _, name := range []string{"counted", "sampled"} {
				if got := seriesOf(t, g, "profguard_budget_ineffective", name); got != step.want {
					t.Errorf("%s after %d windows more: ineffective %s, want %s", name, step.windows, got, step.want)
				}
			}
		}
		for i, want := range []string{"no never was counted in ", "no never was counted in ", "", "", "", "no sample within its "} {
			if b := g.Status().Budgets[i]; !strings.Contains(b.Warning, want) || want == "" && b.Warning != "" {
				t.Errorf("%s: warning %q, want %q", b.Name, b.Warning, want)
			}
		}
		g.Stop()
	})
}

// Windows without any sample, and windows in which the budget's condition did not hold,
// are none in which it was missed: after a night of them, one window at work is the first.
func TestIdleWindowsAreNotMissed(t *testing.T) {
	for sentence, night := range map[string]string{
		"b: no function above 20% in main.handle":                              "cpu 10s\n",
		"b: no function above 20% in main.handle when process above 0.2 cores": idle,
	} {
		bubble(t, func(t *testing.T, w *world) {
			w.linked = append(w.linked, "main.handle")
			w.cores = func(since time.Duration) float64 {
				if since < 70*10*second {
					return 0.1
				}
				return 1
			}
			w.take = func(n int) profiler.Window {
				if n < 70 {
					return cpuWindow(night)
				}
				return manyStacks("")
			}
			g := w.start(t, Config{Window: 10 * second, Every: 10 * second, Budgets: budget.Must(sentence)})
			initials(t, g, 75)
			if b := g.Status().Budgets[0]; b.Warning != "" {
				t.Errorf("warning %q", b.Warning)
			}
			initials(t, g, loop.IneffectiveWindows)
			if b := g.Status().Budgets[0]; b.Warning == "" {
				t.Error("no warning")
			}
			wantEvents(t, w, EventIneffective+" b")
			g.Stop()
		})
	}
}

// A small service has too few samples a window to pass in any, and enough in all.
func TestDecidedByAllWindows(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = func(int) profiler.Window { return small(50, 0) }
		g := w.start(t, Config{Window: 10 * second, Every: 10 * second, Budgets: budget.Must("print: fmt.Println absent", "typo: portlister below 20%")})
		initials(t, g, 3)
		if got := seriesOf(t, g, "profguard_budget_state", "print"); got != "-1" {
			t.Errorf("after 150 samples: state %s, want -1, undecided", got)
		}
		initials(t, g, 4)
		b := g.Status().Budgets[0]
		if got := seriesOf(t, g, "profguard_budget_state", "print"); got != "0" || b.Verdicts["pass"] != 0 {
			t.Errorf("after 350 samples: state %s, verdicts %v; want ok, by no single window", got, b.Verdicts)
		}
		if got := seriesOf(t, g, "profguard_budget_state", "typo"); got != "-2" {
			t.Errorf("a budget that guards nothing: state %s, want -2, no data", got)
		}
		g.Stop()
	})
}

// A name that is nearly one of the program's is answered with that.
func TestNearlyLinked(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		g := w.start(t, Config{Window: 10 * second, Every: 10 * second, Budgets: budget.Must(
			"typo: fmt.Pirntln below 20%", "other: portlister below 20%", "near: fmt.Pirntln absent", "gone: portlister absent",
			"within: fmt.Println absent in portlister.Poll", "nowhere: portlister absent in portlister.Poll", "slow: goroutines steady")})
		initials(t, g, 1)
		wantEvents(t, w, EventIneffective+" typo", EventIneffective+" other", EventIneffective+" near", EventIneffective+" within", EventIneffective+" slow")
		b := g.Status().Budgets
		if want := "did you mean fmt.Println, which is linked?"; !strings.Contains(b[0].Warning, want) {
			t.Errorf("warning %q, want %q", b[0].Warning, want)
		}
		if b[1].Warning == "" || strings.Contains(b[1].Warning, "did you mean") {
			t.Errorf("warning %q, about what is near to nothing", b[1].Warning)
		}
		if want := "matches fmt.Pirntln: did you mean fmt.Println, which is linked?"; !strings.HasSuffix(b[2].Warning, want) {
			t.Errorf("warning %q, want %q", b[2].Warning, want)
		}
		if b[3].Warning != "" || b[3].Result.Verdict != budget.Pass {
			t.Errorf("%v, with warning %q, about what is absent and near to nothing", b[3].Result.Verdict, b[3].Warning)
		}
		g.Stop()
	})
}

// No line of the defaults is a mistake of the user's: in a program that links nothing
// of them none is ineffective, on no way. What the user wrote is, also beside them.
func TestDefaultsAreNotIneffective(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.linked = []string{"main.main"}
		g := w.start(t, Config{Window: 10 * second, Every: 10 * second, Budgets: append(budget.Default(), budget.Must("typo: fmt.Pirntln below 20%")...)})
		initials(t, g, loop.IneffectiveWindows+2)
		wantEvents(t, w, EventIneffective+" typo")
		for _, b := range g.Status().Budgets {
			want := "0"
			if b.Name == "typo" {
				want = "1"
			}
			if got := seriesOf(t, g, "profguard_budget_ineffective", b.Name); got != want || (b.Warning != "") != (want == "1") {
				t.Errorf("%s: ineffective %s, warning %q", b.Name, got, b.Warning)
			}
		}
		if reason := g.Status().Budgets[3].Result.Reason; !strings.Contains(reason, "no function") {
			t.Errorf("that nothing of it is linked is not in the reason: %q", reason)
		}
		g.Stop()
	})
}
