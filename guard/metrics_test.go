package guard

import (
	"fmt"
	"net/http/httptest"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/golden"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/reference"
	"github.com/profguard/profguard/internal/series"
)

// scrape is what Prometheus reads, without the parts that differ each time.
func scrape(t *testing.T, from prometheus.Gatherer, accept string) string {
	t.Helper()
	handler := promhttp.HandlerFor(from, promhttp.HandlerOpts{EnableOpenMetrics: true})
	req := httptest.NewRequest("GET", "/metrics", nil)
	req.Header.Set("Accept", accept)
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, req)
	if rec.Code != 200 {
		t.Fatalf("scrape: %d %s", rec.Code, rec.Body)
	}
	return rec.Body.String()
}

// What differs is what the guard cost, and what the test's own goroutines do.
var (
	cpuSeconds = regexp.MustCompile(`(?m)^profguard_cpu_seconds_total .*$`)
	crowded    = regexp.MustCompile(`(?m)^profguard_budget_offender_info\{.*budget="crowd".*\n`)
)

func withoutDiffering(text string) string {
	return crowded.ReplaceAllString(cpuSeconds.ReplaceAllString(text, "profguard_cpu_seconds_total <differs>"), "")
}

const openMetrics = "application/openmetrics-text;version=1.0.0"

// eventful is a guard with a bit of everything to show.
func eventful(t *testing.T, w *world) (*Guard, *prometheus.Registry) {
	t.Helper()
	w.take = story("bxb")
	w.stretch = -1 // windows take no time
	w.offer = func(_ *dumps.Store, d dumps.Dump) (dumps.ID, error) {
		return dumps.ID("profguard-dump-" + d.Name), nil // and of only one more is heard
	}
	g := w.still(t, Config{Every: 10 * second, Window: 10 * second, Budgets: budget.Must("prints: fmt.Println below 20% for 2 windows", "crowd: goroutines below 5", "main.work below 90% where endpoint=/checkout")})
	dumpsTo(g, new(dumps.Store))
	for range 3 {
		time.Sleep(10 * second)
		step(t, g)
		dumpEnds(g, dumps.Outcome{ID: "profguard-dump-prints"})
	}
	dumpsTo(g, nil)
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(g.collector()); err != nil {
		t.Fatal(err)
	}
	return g, registry
}

func TestExposition(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		_, registry := eventful(t, w)
		text := withoutDiffering(scrape(t, registry, "text/plain"))
		golden.Compare(t, "exposition.txt", text)

		open := withoutDiffering(scrape(t, registry, openMetrics))
		golden.Compare(t, "exposition_open.txt", open)
		want := `profguard_verdicts_total{budget="prints",verdict="fail"} 2.0 # {dump="profguard-dump-prints"} 1.0 `
		if n := strings.Count(open, "# {"); !strings.Contains(open, want) || n != 1 {
			t.Errorf("%d exemplars, want the one of prints", n)
		}
		if !strings.Contains(text, `profguard_budget_state{budget="prints"} 2`) {
			t.Error("firing does not show")
		}
	})
}

var plainName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func TestMetricsLint(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		_, registry := eventful(t, w)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		problems, err := promlint.NewWithMetricFamilies(families).Lint()
		if err != nil || len(problems) > 0 {
			t.Errorf("promlint: %v %v", err, problems)
		}
		for _, f := range families {
			if !plainName.MatchString(f.GetName()) || !strings.HasPrefix(f.GetName(), "profguard_") {
				t.Errorf("metric %q", f.GetName())
			}
			for _, m := range f.Metric {
				for _, l := range m.Label {
					if !plainName.MatchString(l.GetName()) {
						t.Errorf("label %q of %s", l.GetName(), f.GetName())
					}
				}
			}
		}
	})
}

// TestLintFires is the planted offender of the two checks above.
func TestLintFires(t *testing.T) {
	text := "# HELP profguardRequests Bad.\n# TYPE profguardRequests counter\nprofguardRequests 1\n"
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) == 0 || plainName.MatchString("profguardRequests") {
		t.Errorf("nobody objects: %v %v", err, problems)
	}
}

// Prometheus sees no increase in a counter that begins with one. Without a directory
// there are no dumps to count.
func TestCountersBeginAtZero(t *testing.T) {
	for _, dir := range []string{"", t.TempDir() + "/dumps"} {
		registry := prometheus.NewRegistry()
		g := newWorld().start(t, Config{Budgets: simple, Registerer: registry, DumpDir: dir})
		text := scrape(t, registry, "text/plain")
		g.Stop()
		for series, want := range map[string]bool{
			`windows_total{outcome="ok"} 0`: true, `windows_total{outcome="stolen"} 0`: true, `windows_total{outcome="too_large"} 0`: true,
			`windows_total{outcome="canceled"} 0`: false,
			`dumps_total{result="saved"} 0`:       dir != "", `dumps_total{result="no_space"} 0`: dir != "", `dumps_total{result="too_soon"} 0`: dir != "",
		} {
			if strings.Contains(text, "profguard_"+series+"\n") != want {
				t.Errorf("DumpDir %q: %s is there: %v, want %v", dir, series, !want, want)
			}
		}
	}
	new(Guard).collect(make(chan prometheus.Metric, 100)) // was never started: no panic
}

// TestOffenderSeries: while a budget fires there is one series of its offender, which its
// last event named. A window that passes does not take it away, and another function in
// its place is the only one then.
func TestOffenderSeries(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		const head = "cpu 10s\nmain.main;main.serve;main.work 300\nmain.main;main.serve;"
		windows := map[rune]profiler.Window{
			'A': cpuWindow(head + "main.order@/src/shop/order.go:39;regexp.compile@/go/src/regexp/regexp.go:168 700\n"),
			'B': cpuWindow(head + "main.list@/src/shop/list.go:12 700\n"),
			'g': cpuWindow(good),
		}
		w.linked, w.stretch = []string{"regexp.compile", "main.list"}, -1
		registry := prometheus.NewPedanticRegistry()
		g := w.still(t, Config{Registerer: registry, Every: minute, Window: 10 * second,
			Budgets: budget.Must("x: /^(regexp.compile|main.list)$/ below 20% for 2 windows")})
		if err := registry.Register(g.collector()); err != nil {
			t.Fatal(err)
		}
		compile := `{blame_file="shop/order.go:39",blame_function="main.order",budget="x",file="regexp/regexp.go:168",function="regexp.compile",owner_file="",owner_function="",value=""} 1`
		list := `{blame_file="shop/list.go:12",blame_function="main.list",budget="x",file="shop/list.go:12",function="main.list",owner_file="",owner_function="",value=""} 1`
		for n, next := range []struct {
			window rune
			want   string
		}{{'A', ""}, {'A', compile}, {'g', compile}, {'B', list}, {'g', list}, {'g', ""}} {
			time.Sleep(minute)
			w.take = func(int) profiler.Window { return windows[next.window] }
			step(t, g)
			var got []string
			for line := range strings.Lines(scrape(t, registry, "text/plain")) {
				if series, ok := strings.CutPrefix(line, "profguard_budget_offender_info"); ok {
					got = append(got, strings.TrimSpace(series))
				}
			}
			if strings.Join(got, "\n") != next.want {
				t.Errorf("after window %d, %c: expected %q, found %q", n+1, next.window, next.want, got)
			}
		}
	})
}

func TestSamplesAndHitsAdd(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = story("gbgb")
		registry := prometheus.NewRegistry()
		g := w.start(t, Config{Budgets: simple, Window: 10 * second, Every: 10 * second, Registerer: registry})
		pass(time.Millisecond)
		for n := 1; n <= 4; n++ {
			pass(10 * second)
			text := scrape(t, registry, "text/plain")
			for _, want := range []string{
				fmt.Sprintf(`profguard_samples_total{additive="true",budget="prints"} %d`, 1000*n),
				fmt.Sprintf(`profguard_hits_total{additive="true",budget="prints"} %d`, 700*(n/2)),
				fmt.Sprintf(`profguard_windows_total{outcome="ok"} %d`, n),
			} {
				if !strings.Contains(text, want+"\n") {
					t.Errorf("after %d windows: no %s", n, want)
				}
			}
		}
		g.Stop()
	})
}

func TestFault_25_DuplicateRegistration(t *testing.T) {
	noLeaks(t)
	registry := prometheus.NewRegistry()
	taken := prometheus.NewGauge(prometheus.GaugeOpts{Name: "profguard_paused", Help: "Somebody else's."})
	registry.MustRegister(taken)
	w := newWorld()
	g, err := start(w.quiet(Config{Registerer: registry}), "a test", w.seams())
	if err == nil || !strings.Contains(err.Error(), "Config.Registerer") {
		t.Errorf("%v, %v", g, err)
	}
	if theGuard() != nil {
		t.Fatal("a guard that could not start counts as running")
	}
	// The clean twin; and when it has stopped the names are free again.
	registry = prometheus.NewRegistry()
	for range 2 {
		g, err := start(w.quiet(Config{Registerer: registry}), "a test", w.seams())
		if err != nil {
			t.Fatal(err)
		}
		g.Stop()
	}
}

// stuck is a registry that accepts but never lets go.
type stuck struct {
	prometheus.Registerer
	never chan struct{}
}

func (s stuck) Register(prometheus.Collector) error  { return nil }
func (s stuck) Unregister(prometheus.Collector) bool { <-s.never; return true }

func TestFault_26_RegistryBlocks(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		never := make(chan struct{})
		g := w.start(t, Config{Budgets: simple, Window: 10 * second, Every: 10 * second, Registerer: stuck{never: never}})
		pass(time.Millisecond)
		// A scrape that is never read hangs in Collect.
		hung := make(chan prometheus.Metric)
		go g.collect(hung)
		pass(time.Minute)
		if n := g.Status().Windows["ok"]; n != 6 {
			t.Errorf("%d windows beside a scrape that hangs, want 6", n)
		}
		before := time.Now()
		g.Stop()
		if d := time.Since(before); d > stopPromise {
			t.Errorf("Stop took %v", d)
		}
		close(never)
		go func() {
			for range hung {
			}
		}()
		pass(second)
		close(hung)
	})
}

func TestFault_27_CollectorPanics(t *testing.T) {
	noLeaks(t)
	w := newWorld()
	g := w.still(t, Config{Budgets: simple})
	registry := prometheus.NewRegistry()
	// In a wrapped collector the panic would end the process.
	if err := prometheus.WrapRegistererWithPrefix("app_", registry).Register(g.collector()); err != nil {
		t.Fatal(err)
	}
	mend := breakStatus(g)
	if _, err := registry.Gather(); err != nil {
		t.Logf("gather: %v", err)
	}
	mend()
	if n := g.Status().Panics["metrics"]; n != 1 {
		t.Errorf("%d panics counted, want 1", n)
	}
	if text := scrape(t, registry, "text/plain"); !strings.Contains(text, `app_profguard_panics_total{part="metrics"} 1`) {
		t.Error("the panic does not show in the next scrape")
	}
}

func TestFault_28_NamesThatAreNotUTF8(t *testing.T) {
	noLeaks(t)
	w := newWorld()
	long := strings.Repeat("x", 300)
	set := budget.Set{
		{Subject: "fmt", Limit: budget.Amount{Value: 5, Unit: "%"}, Where: map[string]string{"endpoint": "/a\xff"}},
		{Subject: "fmt", Limit: budget.Amount{Value: 5, Unit: "%"}, Where: map[string]string{"endpoint": "/a\xfe"}},
		{Subject: "fmt", Limit: budget.Amount{Value: 5, Unit: "%"}, Where: map[string]string{"endpoint": long + "a"}},
		{Subject: "fmt", Limit: budget.Amount{Value: 5, Unit: "%"}, Where: map[string]string{"endpoint": long + "b"}},
	}
	g := w.still(t, Config{Budgets: budget.Must("fmt below 5%")})
	if err := force(g, set); err != nil { // if a sentence like that is ever accepted
		t.Skipf("such budgets are refused: %v", err)
	}
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(g.collector()); err != nil {
		t.Fatal(err)
	}
	text := scrape(t, registry, "text/plain")
	if n := strings.Count(text, "\nprofguard_budget_state{"); n != len(set) {
		t.Errorf("%d budgets have a series, want %d:\n%s", n, len(set), text)
	}
	for _, tt := range []struct{ in, want string }{{"a\xffb", "a\uFFFDb"}, {"é", "é"}, {strings.Repeat("é", 101), strings.Repeat("é", 100)}} {
		if got := series.Label(tt.in); got != tt.want {
			t.Errorf("label(%q) = %q", tt.in, got)
		}
	}
}

func TestFault_29_MillionNames(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		names := 20_000
		if *long {
			names = 1_000_000
		}
		per := names / 10 // distinct functions in each window
		registry := prometheus.NewRegistry()
		w.stretch = -1
		w.linked = nil
		n := 0
		w.take = func(int) profiler.Window {
			var b strings.Builder
			b.WriteString("cpu 10s\n")
			for i := range per / 50 {
				b.WriteString("main.main")
				for j := range 50 {
					fmt.Fprintf(&b, ";p%d.F%d", n, i*50+j)
				}
				b.WriteString(" 1\n")
			}
			n++
			return cpuWindow(b.String())
		}
		g := w.still(t, Config{Budgets: budget.Must("no function above 20% cumulative", "no package above 30% flat"), Registerer: registry})
		if err := registry.Register(g.collector()); err != nil {
			t.Fatal(err)
		}
		var series []int
		for range 10 {
			time.Sleep(minute)
			step(t, g)
			text := scrape(t, registry, "text/plain")
			offenders := strings.Count(text, "\nprofguard_budget_offender_info{")
			if offenders > 2 {
				t.Fatalf("%d series of the offenders of two budgets", offenders)
			}
			series = append(series, strings.Count(text, "\n")-strings.Count(text, "\n#")-offenders)
			if strings.Contains(text, ".F1") {
				t.Fatal("a function is a label")
			}
		}
		if series[1] != series[9] || series[9] > 60 {
			t.Errorf("series after each window: %v", series)
		}
		if g.Status().Windows["ok"] == 0 {
			t.Errorf("windows %v: the test proves nothing", g.Status().Windows)
		}
	})
}

func TestSeriesAreBoundedByBudgets(t *testing.T) {
	noLeaks(t)
	g := newWorld().still(t, Config{Budgets: many(500)})
	registry := prometheus.NewRegistry()
	if err := registry.Register(g.collector()); err != nil {
		t.Fatal(err)
	}
	text := scrape(t, registry, "text/plain")
	if n := strings.Count(text, "\nprofguard_budget_state{"); n != series.Max {
		t.Errorf("%d budgets have series, want %d", n, series.Max)
	}
}

// TestBuildInfo: the status and the metrics say which build runs.
func TestBuildInfo(t *testing.T) {
	got := buildIn(reference.BuildOf(&debug.BuildInfo{
		GoVersion: "go1.27.4", Main: debug.Module{Path: "example.com/shop", Version: "v1.2.3"},
		Settings: []debug.BuildSetting{{Key: "-race", Value: "true"}, {Key: "vcs.revision", Value: "0a1b2c"}, {Key: "vcs.modified", Value: "true"}},
	}))
	if want := (Build{"v1.2.3", "0a1b2c-dirty", "go1.27.4"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	bubble(t, func(t *testing.T, w *world) {
		g := w.start(t, Config{Budgets: budget.Must("portlist absent")})
		if b := g.Status().Build; b.Go != runtime.Version() {
			t.Errorf("the status says %+v", b)
		}
		g.Stop()
	})
	g := stillGuard(t, nil)
	g.build = got
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(g.collector())
	binary := reference.ThisBuild().Binary
	for revision, want := range map[string]string{"0a1b2c": "0a1b2c", "0a1b2c-dirty": "0a1b2c-dirty-" + binary[:8], "": binary} {
		g.build.Revision = revision
		if text := scrape(t, registry, "text/plain"); !strings.Contains(text, fmt.Sprintf(`profguard_build_info{goversion="go1.27.4",revision=%q,version="v1.2.3"} 1`, want)) {
			t.Errorf("revision %q is not exported as %q:\n%s", revision, want, text)
		}
	}
}
