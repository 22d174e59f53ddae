package guard

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/golden"
)

// TestMistakes shows what a stranger reads who gets the configuration wrong.
func TestMistakes(t *testing.T) {
	noLeaks(t)
	count := func() float64 { return 0 }
	tests := []struct {
		name string
		cfg  Config
	}{
		{"no budgets", Config{Budgets: budget.Set{}}},
		{"a budget that makes no sense", Config{Budgets: budget.Set{{Subject: "no function"}}}},
		{"two of a name", Config{Budgets: append(budget.Must("a: fmt below 5%"), budget.Must("a: os below 5%")...)}},
		{"too many budgets", Config{Budgets: many(1001)}},
		{"a short window", Config{Window: time.Millisecond}},
		{"a long window", Config{Window: time.Hour, Every: 2 * time.Hour}},
		{"a negative window", Config{Window: -second}},
		{"windows that overlap", Config{Every: 5 * second, Window: 10 * second}},
		{"a negative period", Config{Every: -minute}},
		{"retention without dumps", Config{DumpLimits: DumpLimits{Dumps: 3}}},
		{"negative retention", Config{DumpDir: "dumps", DumpLimits: DumpLimits{Dumps: -1, Age: -time.Hour}}},
		{"work without a function", Config{Work: map[string]func() float64{"request": nil}}},
		{"work that nobody counts", Config{Budgets: budget.Must("encoding/json below 40us per request")}},
		{"growth without a baseline", Config{Budgets: budget.Must("no function grows above 5 points")}},
		{"growth of another kind", Config{Budgets: budget.Must("no function grows above 5 points of heap"), Baseline: Baseline{Profile: folded.Must(good)}}},
		{"growth that a reference does not know", Config{Budgets: budget.Must("no package grows above 5 points"), DumpDir: "dumps"}},
		{"growth per work that the baseline has not", Config{
			Budgets: budget.Must("process grows below 10% per request"), Baseline: Baseline{Profile: folded.Must(good)},
			Work: map[string]func() float64{"request": count},
		}},
		{"baseline work of nothing", Config{Baseline: Baseline{Work: map[string]float64{"request": 0, "call": nan()}}}},
		{"a broken baseline", Config{Baseline: Baseline{Profile: &profile.Profile{Sample: []*profile.Sample{{Value: []int64{1, 2}}}}}}},
		{"many mistakes at once", Config{
			Budgets: budget.Set{{Subject: "no function"}, {Subject: "fmt", Rule: "absent", Per: "request"}},
			Window:  time.Millisecond, Every: -minute, DumpLimits: DumpLimits{Dumps: -1}, Work: map[string]func() float64{"request": nil},
			Baseline: Baseline{Work: map[string]float64{"request": -1}},
		}},
	}
	var b strings.Builder
	for _, tt := range tests {
		g, err := Start(tt.cfg)
		if err == nil {
			t.Errorf("%s: no error", tt.name)
			g.Stop()
		}
		if g != nil {
			t.Errorf("%s: a guard came with the error", tt.name)
		}
		fmt.Fprintf(&b, "# %s\n%v\n\n", tt.name, err)
	}
	golden.Compare(t, "mistakes.txt", b.String())
}

func many(n int) budget.Set {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf("b%d: example.com/p%d below 5%%", i, i))
	}
	return budget.Must(lines...)
}

func TestDefaults(t *testing.T) {
	for _, tt := range []struct {
		name          string
		cfg           Config
		every, window time.Duration
	}{
		{"zero", Config{}, minute, 10 * second},
		{"a window", Config{Window: 2 * minute}, 2 * minute, 2 * minute},
		{"a short period", Config{Every: 5 * second}, 5 * second, 2500 * time.Millisecond},
		{"the shortest", Config{Every: second}, second, second},
		{"both", Config{Every: 5 * minute, Window: 3 * second}, 5 * minute, 3 * second},
	} {
		c, err := completed(tt.cfg)
		if err != nil || c.Every != tt.every || c.Window != tt.window || len(c.Budgets) == 0 || c.Registerer == nil {
			t.Errorf("%s: %v, a window of %v every %v", tt.name, err, c.Window, c.Every)
		}
	}
}

// What the caller does to a configuration after Start is not seen.
func TestConfigIsRead(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		cfg := Config{
			Budgets: budget.Must("json: encoding/json below 40us per request"),
			Work:    map[string]func() float64{"request": func() float64 { return float64(time.Since(w.began)) }},
		}
		g := w.start(t, cfg)
		cfg.Budgets[0] = budget.Budget{}
		delete(cfg.Work, "request")
		pass(2 * minute)
		if b := g.Status().Budgets[0]; b.Name != "json" || strings.Contains(b.Result.Reason, "nobody counts") {
			t.Errorf("%s: %s", b.Name, b.Result.Reason)
		}
		g.Stop()
	})
}

func TestFault_33_BadReload(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = always(bad)
		g := w.start(t, Config{Budgets: budget.Must("x: fmt.Println below 20%", "y: main.work below 90%"), Window: 10 * second, Every: 10 * second})
		initials(t, g, 5)
		before := g.Status().Budgets
		for _, set := range []budget.Set{
			{},
			{{Subject: "no function"}},
			budget.Must("json: encoding/json below 40us per request"),
			budget.Must("no function grows above 5 points"),
			many(1001),
		} {
			err := g.SetBudgets(set)
			if err == nil || !strings.Contains(err.Error(), "the old budgets stay in force") {
				t.Errorf("a set of %d: %v", len(set), err)
			}
		}
		after := g.Status().Budgets
		if len(after) != 2 || after[0].State != StateFiring || after[0].Samples != before[0].Samples {
			t.Errorf("after bad sets: %d budgets, the first %s with %d samples", len(after), after[0].State, after[0].Samples)
		}
		initials(t, g, 1)
		if got := g.Status().Budgets[0].Samples; got <= before[0].Samples {
			t.Errorf("the old set is not judged any more: %d samples", got)
		}
		g.Stop()
	})
}

func TestSetBudgets(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = always(bad)
		g := w.start(t, Config{Budgets: budget.Must("x: fmt.Println below 20%", "y: main.work below 90%"), Window: 10 * second, Every: 10 * second})
		initials(t, g, 5)
		before := g.Status().Budgets
		pass(5 * second) // in mid-window
		if err := g.SetBudgets(budget.Must("z: main.serve below 90%", "x: fmt.Println below 20%", "y: main.work below 80%")); err != nil {
			t.Fatal(err)
		}
		s := g.Status()
		x := s.Budgets[1]
		if x.State != StateFiring || x.Samples != before[0].Samples || x.Since != before[0].Since {
			t.Errorf("x: %s since %v, %d samples", x.State, x.Since, x.Samples)
		}
		if y := s.Budgets[2]; y.Samples != 0 || y.State != StateNoData {
			t.Errorf("y, whose sentence has changed: %s, %d samples", y.State, y.Samples)
		}
		// Counters of budgets that stay never go back, whatever happens to the others.
		last := before[0].Samples
		for i := range 20 {
			set := budget.Must("x: fmt.Println below 20%", fmt.Sprintf("n%d: main.work below 50%%", i))
			if err := g.SetBudgets(set); err != nil {
				t.Fatal(err)
			}
			pass(7 * second)
			x := g.Status().Budgets[0]
			if x.Samples < last || x.State != StateFiring {
				t.Fatalf("%d samples after %d, %s", x.Samples, last, x.State)
			}
			last = x.Samples
		}
		if got := w.told(); len(got) != 2 { // x, and n-something or z: whatever fired once
			t.Logf("events %q", got)
		}
		if n := strings.Count(strings.Join(w.told(), "\n"), "profguard.budget.firing x"); n != 1 {
			t.Errorf("x was told %d times", n)
		}
		if err := g.SetBudgets(nil); err != nil || len(g.Status().Budgets) != len(budget.Default()) {
			t.Errorf("nil means the default budgets: %v", err)
		}
		g.Stop()
		var none *Guard
		if err := none.SetBudgets(nil); err == nil {
			t.Error("a guard that does not run took budgets")
		}
	})
}

// To write a profile changes it, so that one that is the host's and the guard's
// would be a data race.
func TestHostWritesItsBaseline(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		baseline := folded.Must(good)
		g := w.start(t, Config{
			Budgets: budget.Must("no function grows above 5 points"), Window: 10 * second, Every: 10 * second, Baseline: Baseline{Profile: baseline},
		})
		var writer sync.WaitGroup
		done := make(chan struct{})
		writer.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				var b bytes.Buffer
				if err := baseline.Write(&b); err != nil {
					t.Error(err)
				}
				time.Sleep(second) // the clock stands still while somebody works
			}
		})
		pass(35 * second)
		if err := g.SetBudgets(budget.Must("no function grows above 6 points")); err != nil {
			t.Error(err)
		}
		pass(10 * second)
		if r := g.Status().Budgets[0].Result; g.Status().Windows["ok"] < 3 || strings.Contains(r.Reason, "baseline:") {
			t.Errorf("%v: %s", r.Verdict, r.Reason)
		}
		close(done)
		writer.Wait()
		g.Stop()
	})
}
