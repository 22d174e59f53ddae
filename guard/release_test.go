package guard

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/release"
)

// A deployment is a build that runs under load.
type deployment struct {
	version string
	extra   int               // samples of a new function in a window of some 400
	after   time.Duration     // when it begins
	rename  *strings.Replacer // of functions
	windows int
	warm    int     // samples of a cache that is filled, in each window of the first minute
	busy    float64 // the part of the time that threads wait for a core: work costs more then

	tenants func() []string // of the lines, in turn, "" for none; nil for no labels
}

// deploy runs a build in a folder: a minute a window, 100 requests in each.
func deploy(t *testing.T, dir string, d deployment, cfg Config, during func(*Guard, *world)) *world {
	t.Helper()
	w := newWorld()
	w.build = release.Build{Program: "example.com/shop", Version: d.version, Revision: "abcdef0123456789", Go: "go1.27.4", Arch: "linux/amd64", Binary: "binary-of-" + d.version}
	r := rand.New(rand.NewPCG(uint64(len(d.version)), uint64(d.extra+1)))
	requests, samples, dearer := 0.0, 0, 1+0.4*d.busy
	tenant := func(int) string { return "" }
	if d.tenants != nil {
		list := d.tenants()
		tenant = func(line int) string { return list[line%len(list)] }
	}
	w.take = func(n int) profiler.Window {
		var text strings.Builder
		text.WriteString("cpu 10s\n")
		lines := 0
		line := func(stack string, mean int) {
			label := tenant(lines)
			lines++
			mean = int(dearer * float64(mean))
			n := max(1, mean+int(2*r.NormFloat64()*float64(mean)/20))
			samples += n
			if d.rename != nil {
				stack = d.rename.Replace(stack)
			}
			fmt.Fprintf(&text, "net/http.(*conn).serve;net/http.serverHandler.ServeHTTP;main.route@main.go:9;%s %d%s\n", stack, n, label)
		}
		for i := range 8 {
			line(fmt.Sprintf("main.(*Shop).checkout@shop.go:10;main.step%d@step.go:%d", i, 10*i+7), 30)
		}
		line("main.(*Shop).search@shop.go:30;main.valid@valid.go:20", 60)
		line("main.(*Shop).search@shop.go:31;encoding/json.Marshal@encode.go:160", 100)
		if d.extra > 0 && time.Since(w.began) >= d.after {
			line("main.(*Shop).search@shop.go:33;main.audit@audit.go:46", d.extra)
		}
		if d.warm > 0 && time.Since(w.began) < time.Minute {
			line("main.(*Shop).search@shop.go:32;main.fillCache@cache.go:7", d.warm)
		}
		requests += 100
		return cpuWindow(text.String())
	}
	w.cores = func(time.Duration) float64 { return (0.4 + float64(d.extra)/1000) * dearer }
	w.load = func(since time.Duration) process.Load {
		return process.Load{Waited: since.Seconds() * w.cores(0) * d.busy / (1 - d.busy), Total: 1 + 2*since.Seconds()}
	}
	cfg.DumpDir = dir
	cfg.Work = map[string]func() float64{"request": func() float64 { return requests }}
	g := w.start(t, cfg)
	if during == nil {
		pass(time.Duration(d.windows) * time.Minute)
	} else {
		during(g, w)
	}
	g.Stop()
	files, _ := filepath.Glob(filepath.Join(dir, "profguard", "references", "*"))
	for _, f := range files { // the disk has another clock
		if info, err := os.Stat(f); err == nil && info.ModTime().After(time.Now()) {
			os.Chtimes(f, time.Now(), time.Now())
		}
	}
	return w
}

func named(events []Event, name EventName) (list []Event) {
	for _, e := range events {
		if e.Name == name {
			list = append(list, e)
		}
	}
	return list
}

// TestReleases: four builds in a row with nothing but a folder: the first becomes the reference, an
// equal one says so, one with an expensive function fires and names it with its line, and a
// refactored one moves cost.
func TestReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "dumps")
		growth := Config{Budgets: budget.Must("no function grows above 3 points per request", "process grows below 20% per request")}

		w := deploy(t, dir, deployment{version: "v1.0.0", windows: 30}, growth, func(g *Guard, w *world) {
			pass(30 * time.Minute)
			if r := g.Status().Budgets[0].Result; !strings.Contains(r.Reason, "this is the first build here; it becomes the reference") {
				t.Errorf("the first build: %s", r.Reason)
			}
		})
		if e := named(w.events, EventRelease); len(e) > 0 || len(named(w.events, EventFiring)) > 0 {
			t.Errorf("the first build: %v", w.events)
		}

		w = deploy(t, dir, deployment{version: "v1.0.1", windows: 65}, growth, nil)
		if e := named(w.events, EventRelease); len(e) != 1 || len(named(w.events, EventFiring)) > 0 ||
			!strings.HasPrefix(e[0].Message, "v1.0.1 (abcdef0) may cost ") || !strings.Contains(e[0].Message, " CPU per request than v1.0.0 (abcdef0) (") {
			t.Errorf("an equal build: %v", w.events)
		}

		w = deploy(t, dir, deployment{version: "v1.1.0", extra: 100, windows: 20}, growth, nil)
		firing := named(w.events, EventFiring)
		if len(firing) == 0 || !strings.Contains(firing[0].Message, "main.audit") || len(firing[0].Result.Offenders) == 0 || firing[0].Result.Offenders[0].Blame.Line != 46 {
			t.Fatalf("an expensive build: %+v", w.events)
		}
		for _, part := range []string{"main.audit costs ", " per request, nothing before: +", "v1.1.0 (abcdef0) against v1.0.1 (abcdef0)", "audit.go:46"} {
			if !strings.Contains(firing[0].Message, part) {
				t.Errorf("%q is not in %q", part, firing[0].Message)
			}
		}
		if at := firing[0].Time.Sub(w.began); at > 10*time.Minute {
			t.Errorf("it took %v to fire", at)
		}

		dumped, _ := filepath.Glob(filepath.Join(dir, "profguard", "profguard-*", firing[0].Dump+".before.cpu.pb.gz"))
		if len(dumped) != 1 {
			t.Errorf("what was before is not beside the dump %s: %v", firing[0].Dump, dumped)
		}
		firing[0].attributes(dir, func(_, logged string, value any) {
			if text, is := value.(string); logged == "diff" && is && (!strings.HasPrefix(text, "go tool pprof -normalize -diff_base ") || !strings.Contains(text, dumped[0])) {
				t.Errorf("the command is %q", text)
			}
		})

		// The reference of the expensive one is the newest now; the next is compared with it, and is cheaper.
		var lines bytes.Buffer
		growth.Logger = slog.New(slog.NewTextHandler(&lines, nil))
		w = deploy(t, dir, deployment{version: "v1.1.1", windows: 65, rename: strings.NewReplacer("main.valid", "main.isValid", "main.(*Shop).search", "main.(*Search).ServeHTTP")}, growth, func(g *Guard, _ *world) {
			pass(65 * time.Minute)
			if got := g.Status().text(); !strings.Contains(got, "\nrelease: v1.1.1 (abcdef0) costs ") {
				t.Errorf("status.txt does not say what the release costs:\n%s", got)
			}
		})
		e := named(w.events, EventRelease)
		if len(e) != 1 || len(named(w.events, EventFiring)) > 0 || !strings.Contains(e[0].Message, "% less CPU per request than v1.1.0") || !strings.Contains(e[0].Message, ", main.audit -") {
			t.Errorf("a refactored and cheaper build: %+v", w.events)
		}
		if got := lines.String(); strings.Count(got, "event=profguard.release.compared") != 1 || !strings.Contains(got, `level=INFO msg="v1.1.1 (abcdef0) costs `) {
			t.Errorf("not one line of the log says what the release costs:\n%s", got)
		}
		files, err := os.ReadDir(filepath.Join(dir, "profguard", "references"))
		if err != nil || len(files) != 4 {
			t.Errorf("%v, %v", files, err)
		}
	})
}

// TestFault_139_SetBudgetsInBetween: budgets of growth that come later are judged by all windows of the
// build, and those that go take nothing along.
func TestFault_139_SetBudgetsInBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "dumps")
		cfg := Config{Budgets: budget.Must("goroutines below 1000")}
		deploy(t, dir, deployment{version: "v1.0.0", windows: 30}, cfg, nil)
		w := deploy(t, dir, deployment{version: "v1.1.0", extra: 100}, cfg, func(g *Guard, w *world) {
			pass(10 * time.Minute)
			if err := g.SetBudgets(budget.Must("no function grows above 3 points per request")); err != nil {
				t.Fatal(err)
			}
			pass(5 * time.Minute)
			if r := g.Status().Budgets[0].Result; r.Verdict != budget.Fail || r.Samples < 5000 {
				t.Errorf("%v", r)
			}
			if err := g.SetBudgets(cfg.Budgets); err != nil {
				t.Fatal(err)
			}
			pass(5 * time.Minute)
		})
		if len(named(w.events, EventFiring)) != 1 {
			t.Errorf("%v", w.events)
		}
	})
}

// TestReleaseOfDefaults: the default budgets have one of growth, which needs nothing.
func TestReleaseOfDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, dir := range []string{"", filepath.Join(t.TempDir(), "dumps")} {
			w := newWorld()
			w.build = release.Build{Program: "example.com/shop", Version: "v1", Binary: "01"}
			g := w.start(t, Config{DumpDir: dir})
			pass(5 * time.Minute)
			for _, b := range g.Status().Budgets {
				if b.Name == "release-growth" && (b.State == StateFiring || b.Result.Verdict != budget.Inconclusive || !strings.Contains(b.Result.Reason, "each build leaves") && !strings.Contains(b.Result.Reason, "first build here")) {
					t.Errorf("DumpDir %q: %s %v", dir, b.State, b.Result)
				}
			}
			g.Stop()
		}
	})
}

// TestReleaseOnQuieterMachine: a build that costs less after one on a busy machine is not told as cheaper for
// sure, and why. On a machine that is as busy, it is.
func TestReleaseOnQuieterMachine(t *testing.T) {
	for _, busy := range []float64{0.35, 0} {
		synctest.Test(t, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "dumps")
			slower := deployment{version: "v1.0.0", windows: 30, busy: 0.35}
			deploy(t, dir, slower, Config{}, nil)
			w := deploy(t, dir, deployment{version: "v1.0.1", windows: 65, busy: 0.35 - busy}, Config{}, nil)
			e := named(w.events, EventRelease)
			if len(e) != 1 {
				t.Fatalf("%v", w.events)
			}
			r, said := e[0].Release, strings.Contains(e[0].Message, "the machine was busier before (threads waited 35% of the time for a core, now 0%)")
			if unsure := r.High >= 0 && r.Low <= 0 && strings.Contains(e[0].Message, " may cost "); busy > 0 && (!unsure || !said) || busy == 0 && said {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestFault_146_WarmUp: what a process does in its first minute is no cost of a request, neither of a build
// that has just begun nor of the one before. What it does after that is.
func TestFault_146_WarmUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "dumps")
		cfg := Config{Budgets: budget.Must("no function grows above 3 points per request", "process grows below 20% per request"), Every: 5 * time.Second, Window: 2 * time.Second}
		for _, version := range []string{"v1.0.0", "v1.0.1"} {
			w := deploy(t, dir, deployment{version: version, warm: 500}, cfg, func(g *Guard, w *world) {
				pass(2 * time.Minute)
				r := g.Status().Release
				if version == "v1.0.0" {
					return
				}
				if r == nil || r.Samples < 2000 {
					t.Fatalf("%+v, want a comparison after two minutes", r)
				}
				for _, f := range r.Functions {
					if f.Function == "main.fillCache" {
						t.Errorf("%+v counts", f)
					}
				}
			})
			if firing := named(w.events, EventFiring); len(firing) > 0 {
				t.Errorf("%s: %v", version, firing)
			}
		}
		w := deploy(t, dir, deployment{version: "v1.1.0", warm: 500, extra: 100}, cfg, func(*Guard, *world) { // the clean twin
			pass(5 * time.Minute)
		})
		if firing := named(w.events, EventFiring); len(firing) == 0 || !strings.Contains(firing[0].Message, "main.audit") || firing[0].Time.Sub(w.began) < time.Minute {
			t.Errorf("%v", w.events)
		}
		w = deploy(t, dir, deployment{version: "v1.1.1", warm: 500}, cfg, func(*Guard, *world) {
			pass(50 * time.Second)
		})
		files, err := filepath.Glob(filepath.Join(dir, "profguard", "references", "*v1.1.1*"))
		if err != nil || len(files) > 0 || len(named(w.events, EventRelease)) > 0 {
			t.Errorf("a process of less than a minute left %v, and told %v", files, w.events)
		}
	})
}

// TestReleaseSaysWhat: the event comes when a function surely costs more, also if that may be less than the limit, and
// begins with it, as the status does then. One that costs more later gets an event of its own. Each is told once.
func TestReleaseSaysWhat(t *testing.T) {
	for _, test := range []struct {
		name   string
		build  deployment
		events []string // a part of the message of each
	}{
		{"surely above the limit", deployment{extra: 60}, []string{"; more: main.audit +", ""}},
		{"surely above 0", deployment{extra: 20}, []string{"; more, perhaps by less than 3 points: main.audit +", ""}},
		{"later", deployment{extra: 100, after: 70 * time.Minute}, []string{"", "main.audit +"}},
		{"an equal build", deployment{}, []string{""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "dumps")
				cfg := Config{Budgets: budget.Must("goroutines below 1000")}
				deploy(t, dir, deployment{version: "v1.0.0", windows: 30}, cfg, nil)
				d := test.build
				d.version, d.windows = "v1.1.0", 130
				w := deploy(t, dir, d, cfg, nil)
				list := named(w.events, EventRelease)
				if len(list) != len(test.events) {
					t.Fatalf("expected %d events, found %d: %+v", len(test.events), len(list), list)
				}
				for i, want := range test.events {
					e := list[i]
					says := strings.Contains(e.Message, "main.audit")
					if !strings.Contains(e.Message, want) || says != (want != "" || i > 0) {
						t.Errorf("expected %q in event %d, found %q", want, i, e.Message)
					}
					if first := e.Release.Functions[0]; says && (first.Function != "main.audit" || first.Low <= 0) {
						t.Errorf("the functions begin with %+v: %s", first, e.Message)
					}
					attributes := map[string]any{}
					e.attributes("", func(name, _ string, value any) { attributes[name] = value })
					if got := attributes["code.function.name"]; says != (got == "main.audit") || says != (attributes["code.line.number"] == 46) {
						t.Errorf("%q has the attributes %v", e.Message, attributes)
					}
					t.Logf("after %v: %s", e.Time.Sub(w.began), e.Message)
				}
				if at := list[0].Time.Sub(w.began); d.extra > 0 && d.after == 0 && at > 30*time.Minute {
					t.Errorf("the first event came after %v: %s", at, list[0].Message)
				}
			})
		})
	}
}
