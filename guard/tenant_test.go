package guard

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/webtest"
)

// noisy is a window of fifty tenants, one of which has 400 of 1,000 samples.
func noisy(name string) string {
	text := "cpu 10s\nmain.main;main.serve;main.report@report.go:39;encoding/json.Marshal@encode.go:160 400 {tenant=" + name + "}\n"
	for i := range 49 {
		text += fmt.Sprintf("main.main;main.serve;main.page 10 {tenant=t%d}\n", i)
	}
	return text + "main.main;main.idle 110\n"
}

// everything is all that a guard tells of a window: events as the callback, the log and OpenTelemetry have them,
// metrics, status, page and the sidecar of its dump.
func everything(t *testing.T, w *world, keep func(key, value string) bool) map[string]string {
	t.Helper()
	var lines bytes.Buffer
	p := &provider{}
	cfg := dumping(t, "noisy: no tenant above 30% for 1 windows")
	cfg.LoggerProvider, cfg.Logger, cfg.Export.Label = p, slog.New(slog.NewJSONHandler(&lines, nil)), keep
	g := w.start(t, cfg)
	defer g.Stop()
	initials(t, g, 1)
	pass(2 * second) // for a hook that hangs
	saved(t, g)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(g.collector())
	all := map[string]string{"metrics": scrape(t, registry, "text/plain"), "log": lines.String()}
	for _, name := range []string{"/status.json", "/status.txt"} {
		all[name] = webtest.Body(t, webtest.Ask(g.Handler(), "GET", name))
	}
	all["event"] = fmt.Sprintf("%+v", firings(w)[0])
	_, records := p.seen()
	records[0].WalkAttributes(func(a attribute.KeyValue) bool {
		all["record"] += string(a.Key) + "=" + a.Value.String() + "\n"
		return true
	})
	info, _, err := storeOf(g).List(1)
	if err != nil {
		t.Fatal(err)
	}
	all["sidecar"] = fmt.Sprintf("%+v", standsIn(t, sidecar(t, info[0]).Budget))
	return all
}

// TestNoisyTenant: whoever hears of it hears of the tenant, and of what it does.
func TestNoisyTenant(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = func(int) profiler.Window { return cpuWindow(noisy("acme")) }
		all := everything(t, w, nil)
		for name, text := range all {
			if !strings.Contains(text, "acme") || !strings.Contains(text, "json.Marshal") {
				t.Errorf("%s does not name the tenant and its function:\n%s", name, text)
			}
		}
		for _, want := range []string{"profguard.label.name=tenant\n", "profguard.label.value=acme\n", "code.function.name=encoding/json.Marshal\n", "profguard.blame.code.function.name=main.report\n"} {
			if !strings.Contains(all["record"], want) {
				t.Errorf("the record lacks %q:\n%s", want, all["record"])
			}
		}
		if want := `profguard_budget_offender_info{blame_file="report.go:39",blame_function="main.report",budget="noisy",file="encode.go:160",function="encoding/json.Marshal",owner_file="",owner_function="",value="acme"} 1`; !strings.Contains(all["metrics"], want) {
			t.Errorf("the metrics lack %s", want)
		}
		if want := "except acme"; !strings.Contains(all["/status.txt"], want) || !strings.Contains(all["log"], want) {
			t.Errorf("nothing says how to accept it:\n%s", all["/status.txt"])
		}
	})
}

// TestHiddenTenant: what Export.Label refuses is told nowhere, also if it panics.
func TestHiddenTenant(t *testing.T) {
	for name, keep := range map[string]func(key, value string) bool{
		"refuses": func(key, value string) bool { return key != "tenant" || value != "s3cr3t" },
		"panics":  func(string, string) bool { panic("s3cr3t") },
		"hangs":   func(string, string) bool { time.Sleep(second); return true },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.take = func(int) profiler.Window { return cpuWindow(noisy("s3cr3t")) }
				for where, text := range everything(t, w, keep) {
					if strings.Contains(text, "s3cr3t") || !strings.Contains(text, "(hidden)") {
						t.Errorf("%s:\n%s", where, text)
					}
				}
			})
		})
	}
}

// TestTenantsOfClients: a client that takes another long name in each window makes neither series nor the events
// grow without end.
func TestTenantsOfClients(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = func(n int) profiler.Window {
			return cpuWindow(noisy(fmt.Sprintf("%s-%d", strings.Repeat("x", 10_000), n)))
		}
		g := w.start(t, Config{Window: 10 * second, Every: 10 * second, Budgets: budget.Must("noisy: no tenant above 30% for 1 windows")})
		initials(t, g, 100)
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(g.collector())
		text := scrape(t, registry, "text/plain")
		if n := strings.Count(text, "profguard_budget_offender_info{"); n != 1 || len(text) > 30_000 {
			t.Errorf("%d series of offenders, %d bytes of metrics", n, len(text))
		}
		events := w.seen()
		if len(events) > 70 {
			t.Errorf("%d events in 100 windows", len(events))
		}
		for _, e := range events {
			if len(e.Message) > 1000 {
				t.Errorf("a message of %d bytes", len(e.Message))
			}
		}
		g.Stop()
	})
}

// TestLabelThatNobodySets is told of after an hour, with the call that sets it; its twin has the label once.
func TestLabelThatNobodySets(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = func(n int) profiler.Window {
			if n == 20 {
				return cpuWindow(noisy("acme"))
			}
			return cpuWindow("cpu 10s\nmain.main;main.idle 500\n")
		}
		g := w.start(t, Config{Window: 10 * second, Every: 10 * second, Budgets: budget.Must("none: no user above 30%", "once: no tenant above 50%", "routes: no endpoint above 30%")})
		initials(t, g, 62)
		wantEvents(t, w, EventIneffective+" none", EventIneffective+" routes")
		for i, want := range []string{`label.Do(ctx, "user", value, f)`, "", "label.Handler(mux)"} {
			b := g.Status().Budgets[i]
			if !strings.Contains(b.Warning, want) || (want == "") != (b.Warning == "") || g.standing(i).Proven == budget.Pass {
				t.Errorf("%s: warning %q, %+v", b.Name, b.Warning, b)
			}
		}
		g.Stop()
	})
}
