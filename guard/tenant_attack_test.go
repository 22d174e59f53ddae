package guard

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/webtest"
)

// onValues are budgets of each sort that is about values.
const onValues = "share: no user above 30%\ncores: no user above 0.5 cores\nwork: no user above 5ms per http_requests_total\ngrown: no user grows above 5 points per http_requests_total"

// attacked is a guard with budgets of all sorts on a label, in a build after another one, that sees such windows of values.
func attacked(t *testing.T, w *world, registry *prometheus.Registry, keep func(key, value string) bool, windows int) (g *Guard, dir string, lines *bytes.Buffer) {
	t.Helper()
	dir, lines = filepath.Join(t.TempDir(), "dumps"), new(bytes.Buffer)
	set, err := budget.Parse(onValues)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Budgets: set, Registerer: registry, DumpDir: dir, Export: Export{Label: keep},
		Logger: slog.New(slog.NewTextHandler(lines, nil)),
	}
	for build := range 2 {
		w.build = release.Build{Program: "example.com/shop", Version: fmt.Sprint("v", build), Binary: fmt.Sprint("binary-", build)}
		g = w.start(t, cfg)
		for range windows {
			pass(time.Minute)
		}
		if build == 0 {
			g.Stop()
		}
	}
	return g, dir, lines
}

// TestValuesUnderAttack: a client that takes other values in each window, some of them long, makes nothing grow: neither
// what is told nor what is kept. And nothing passes.
func TestValuesUnderAttack(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		registry, counter := requestsOf("user")
		w.take = func(n int) profiler.Window {
			var text strings.Builder
			text.WriteString("cpu 10s\n")
			for i := range 10_000 {
				value := fmt.Sprintf("u%d-%d", n, i)
				if i%100 == 0 {
					value = strings.Repeat("x", 1000) + value
				}
				fmt.Fprintf(&text, "main.main;main.serve 1 {user=%s}\n", value)
				if i%10 == 0 {
					counter.WithLabelValues(value, "200").Add(10)
				}
			}
			return cpuWindow(text.String())
		}
		g, dir, lines := attacked(t, w, registry, nil, 9)
		for i, b := range g.Status().Budgets {
			proven := g.standing(i).Proven
			if b.State == StateFiring || b.Name != "grown" && (proven == budget.Pass || !strings.Contains(b.Result.Reason, "more than 1000 values")) {
				t.Errorf("%v, proven %v\n%s", b.State, proven, b.Result)
			}
		}
		text := map[string]string{"log": lines.String()}
		own := prometheus.NewPedanticRegistry()
		own.MustRegister(g.collector())
		text["metrics"] = scrape(t, own, "text/plain")
		text["status.json"] = webtest.Body(t, webtest.Ask(g.Handler(), "GET", "/status.json"))
		text["events"] = fmt.Sprintf("%+v", w.seen())
		g.Stop()
		for name, text := range text {
			if len(text) > 60_000 || strings.Count(text, "xxx") > 2000 {
				t.Errorf("%s has %d bytes", name, len(text))
			}
		}
		files, _ := filepath.Glob(filepath.Join(dir, "profguard", "references", "*"))
		for _, f := range files {
			if info, err := os.Stat(f); err != nil || info.Size() > 100_000 {
				t.Errorf("%s: %v, %d bytes", f, err, info.Size())
			}
		}
		if len(files) != 2 {
			t.Errorf("%d references", len(files))
		}
	})
}

// TestValuesHiddenWhole: a hook that compares whole values is not asked about a part of one, which it would not know.
func TestValuesHiddenWhole(t *testing.T) {
	for name, secret := range map[string]string{"long": strings.Repeat("y", 3000), "control characters": "s3cr3t\x01yyyy", "its twin": "s3cr3tyyyy"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.take = func(int) profiler.Window { return cpuWindow(noisy(secret)) }
				for where, text := range everything(t, w, func(_, value string) bool { return value != secret }) {
					if strings.Contains(text, "yyyy") || strings.Contains(text, "s3cr3t") || !strings.Contains(text, "(hidden)") {
						t.Errorf("%s:\n%.2000s", where, text)
					}
				}
			})
		})
	}
}

// TestValuesHiddenUnderAttack: a refused value is nowhere, in no sort of budget, whether it is over the limit, has no
// counter, or is one of many; a value that is named like a function, and those that differ behind what is shown, are
// values like others.
func TestValuesHiddenUnderAttack(t *testing.T) {
	long := strings.Repeat("y", 3000)
	for name, values := range map[string][]string{
		"over the limit":    {"s3cr3t", "a"},
		"without a counter": {"s3cr3t-none", "a"},
		"long":              {long + "s3cr3t", long + "a"},
		"like a function":   {"main.serve.s3cr3t", "main.serve"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				registry, counter := requestsOf("user")
				counter.WithLabelValues("a", "200").Inc()
				w.take = func(int) profiler.Window {
					for i, value := range values {
						if !strings.Contains(value, "none") {
							counter.WithLabelValues(value, "200").Add([]float64{10, 10_000}[i])
						}
					}
					more := 0
					if w.build.Version == "v1" {
						more = 300
					}
					return cpuWindow(fmt.Sprintf("cpu 10s\nmain.main;main.serve %d {user=%s}\nmain.main;main.serve 100 {user=%s}\nmain.main;main.serve 200\n", 400+more, values[0], values[1]))
				}
				asked := map[string]bool{}
				g, _, lines := attacked(t, w, registry, func(_, value string) bool {
					asked[value] = true
					return !strings.Contains(value, "s3cr3t") && !strings.HasPrefix(value, "yyy")
				}, 15)
				own := prometheus.NewPedanticRegistry()
				own.MustRegister(g.collector())
				all := map[string]string{"log": lines.String(), "metrics": scrape(t, own, "text/plain"), "events": fmt.Sprintf("%+v", w.seen())}
				for _, page := range []string{"/status.json", "/status.txt"} {
					all[page] = webtest.Body(t, webtest.Ask(g.Handler(), "GET", page))
				}
				for where, text := range all {
					if strings.Contains(text, "s3cr3t") || strings.Contains(text, "yyyy") || !strings.Contains(text, "(hidden)") {
						t.Errorf("%s: %.3000s", where, text)
					}
				}
				firing := map[string]bool{}
				for i, b := range g.Status().Budgets {
					firing[b.Name] = b.State == StateFiring
					if g.standing(i).Proven == budget.Pass {
						t.Errorf("passes: %s", b.Result)
					}
				}
				if want := name != "without a counter"; !firing["share"] || firing["work"] != want {
					t.Errorf("firing: %v", firing)
				}
				g.Stop()
			})
		})
	}
}
