package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
	"github.com/profguard/profguard/internal/waiting"
)

// dashboard is the file that is shipped.
const dashboard = "../../docs/grafana.json"

// TestAlerting goes the whole way of an alert: a service breaks a budget, its guard's
// metrics say so in both formats, the shipped rules make an alert of it in a real
// Prometheus, and Alertmanager tells a webhook which budget it is, whose line, and what to
// do. When the service is mended, the webhook hears that it is over. The shipped dashboard
// has data meanwhile.
func TestAlerting(t *testing.T) {
	program := need(t, "prometheus", "prometheus")
	promtool := need(t, "prometheus", "promtool")
	alertmanager := need(t, "prometheus-alertmanager", "prometheus-alertmanager", "alertmanager")

	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	target := serveMetrics(t, registry)
	hook := newWebhook(t)

	mend := during(t, burn)
	g := start(t, guard.Config{
		Registerer: registry,
		DumpDir:    filepath.Join(t.TempDir(), "dumps"),
		Export:     guard.Export{To: nowhere{}},
		Budgets: budget.Must(
			"hot: integration.burn below 20%",
			"cold: integration.nobody absent",
		),
	})
	prom := startPrometheus(t, program, target, alerting(t, alertmanager, hook.url))

	is := func(status string) func(alert) bool {
		return func(a alert) bool {
			return a.Status == status && a.Labels["alertname"] == "ProfguardBudgetFiring" && a.Labels["job"] == "text" && a.Labels["budget"] == "hot"
		}
	}
	waiting.Until(t, "the webhook to hear that hot is broken", func() bool { return hook.has(is("firing")) })
	wantAlert(t, hook.first(is("firing")))
	wantSeries(t, prom, g)
	wantValid(t, promtool, target+"/text")
	queries := queriesOf(t, "")
	empty := queries
	defer func() {
		if len(empty) > 0 {
			t.Errorf("queries of the dashboard without data: %q", empty)
		}
	}()
	waiting.Until(t, "all of the dashboard to have data", func() bool {
		empty = withoutData(t, prom, queries)
		return len(empty) == 0
	})
	if got := withoutData(t, prom, []string{"profguard_budget_state", "profguard_nobody"}); !slices.Equal(got, []string{"profguard_nobody"}) {
		t.Errorf("queries without data: found %q, want the one of a metric that is not there", got)
	}

	mend()
	during(t, serveOrders)
	waiting.Until(t, "the webhook to hear that it is over", func() bool { return hook.has(is("resolved")) })
	wantAlert(t, hook.first(is("resolved")))
	if cold := hook.first(func(a alert) bool { return a.Labels["budget"] == "cold" }); cold.Status != "" {
		t.Errorf("an alert about cold: %+v", cold)
	}
}

// wantAlert expects what a person needs who is called in the night.
func wantAlert(t *testing.T, a alert) {
	t.Helper()
	for annotation, want := range map[string]string{
		"summary":     `127\.0\.0\.1:\d+ breaks its budget hot$`,
		"description": `^Offender: github\.com/profguard/profguard/internal/integration\.burn at integration/world_test\.go:\d+\. Last window: [\d.]+%\. Limit: 20%\.$`,
		"runbook":     `guard's page.*go tool pprof.*except`,
	} {
		if !regexp.MustCompile(want).MatchString(a.Annotations[annotation]) {
			t.Errorf("%s: %s: expected %s, found %q", a.Status, annotation, want, a.Annotations[annotation])
		}
	}
}

// alerting starts an Alertmanager that tells a webhook at once, and returns what
// Prometheus' configuration says about it.
func alerting(t *testing.T, program, webhook string) string {
	t.Helper()
	dir, addr := t.TempDir(), freeAddr(t)
	config := filepath.Join(dir, "alertmanager.yml")
	write(t, config, fmt.Sprintf(`
route: {receiver: hook, group_by: ['...'], group_wait: 0s, group_interval: 1s, repeat_interval: 1h}
receivers: [{name: hook, webhook_configs: [{url: %q, send_resolved: true}]}]
`, webhook))
	serve(t, addr, program, "--config.file", config, "--storage.path", filepath.Join(dir, "data"),
		"--web.listen-address", addr, "--cluster.listen-address", "", "--log.level", "error")
	return fmt.Sprintf("alerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}\n", addr)
}

// An alert is as Alertmanager tells it.
type alert struct {
	Status              string
	Labels, Annotations map[string]string
}

// A webhook keeps the alerts that it hears of.
type webhook struct {
	url    string
	mu     sync.Mutex
	alerts []alert
}

func newWebhook(t *testing.T) *webhook {
	w := &webhook{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message struct{ Alerts []alert }
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
			t.Errorf("the webhook: %v", err)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.alerts = append(w.alerts, message.Alerts...)
	}))
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

// first is the first alert that is as it should be, or none.
func (w *webhook) first(is func(alert) bool) alert {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.IndexFunc(w.alerts, is); i >= 0 {
		return w.alerts[i]
	}
	return alert{}
}

func (w *webhook) has(is func(alert) bool) bool { return w.first(is).Status != "" }

// A nowhere exporter takes all profiles, for the dashboard's panel of exports.
type nowhere struct{}

func (nowhere) Export(context.Context, guard.Profile) error { return nil }

// queriesOf are the queries of the dashboard's panels below a row, and variables, with what
// Grafana fills in filled in.
func queriesOf(t *testing.T, row string) []string {
	t.Helper()
	data, err := os.ReadFile(dashboard)
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Type    string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name, Type, Definition string }
		}
	}
	if err := json.Unmarshal(data, &board); err != nil {
		t.Fatalf("%s: %v", dashboard, err)
	}
	fill := []string{"$__rate_interval", "1m", "$__range", "1h"}
	var queries []string
	for _, v := range board.Templating.List {
		fill = append(fill, "$"+v.Name, ".+")
		if series, _, ok := strings.Cut(strings.TrimPrefix(v.Definition, "label_values("), ", "); ok && v.Type == "query" {
			queries = append(queries, series)
		}
	}
	at := ""
	for _, p := range board.Panels {
		if p.Type == "row" {
			at = p.Title
		}
		if p.Type == "row" || at != row {
			continue
		}
		if len(p.Targets) == 0 {
			t.Errorf("panel %q has no query", p.Title)
		}
		for _, target := range p.Targets {
			queries = append(queries, target.Expr)
		}
	}
	for i, query := range queries {
		queries[i] = strings.NewReplacer(fill...).Replace(query)
	}
	return queries
}

// withoutData are those queries that find nothing. One that is wrong fails the test.
func withoutData(t *testing.T, prom server, queries []string) (empty []string) {
	t.Helper()
	for _, query := range queries {
		if prom.series(t, query) == 0 {
			empty = append(empty, query)
		}
	}
	return empty
}
