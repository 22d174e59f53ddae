package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/profguard/profguard/guard"
	"github.com/profguard/profguard/internal/waiting"
)

// rules is the file that is shipped.
const rules = "../../docs/alerts.yml"

// serveMetrics serves a registry in both formats of Prometheus.
func serveMetrics(t *testing.T, registry *prometheus.Registry) (url string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/openmetrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.Handle("/text", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	target := httptest.NewServer(mux)
	t.Cleanup(target.Close)
	return target.URL
}

// wantSeries expects that Prometheus sees by both formats that hot is broken and cold is
// not: in the series, in an alert of the shipped rules and, with the id of its dump, in an
// exemplar.
func wantSeries(t *testing.T, prom server, g *guard.Guard) {
	t.Helper()
	for _, job := range []string{"openmetrics", "text"} {
		waiting.Until(t, "Prometheus to see hot firing by "+job, func() bool {
			return prom.value(t, fmt.Sprintf(`profguard_budget_state{job=%q,budget="hot"}`, job)) == "2"
		})
		if v := prom.value(t, fmt.Sprintf(`profguard_budget_state{job=%q,budget="cold"}`, job)); v != "0" {
			t.Errorf("%s: cold is in state %q, want 0", job, v)
		}
		waiting.Until(t, "the alert by "+job, func() bool { return prom.alert(t, "ProfguardBudgetFiring", job, "hot") })
		if prom.alert(t, "ProfguardBudgetFiring", job, "cold") {
			t.Errorf("%s: an alert about cold", job)
		}
		waiting.Until(t, "the share by "+job, func() bool {
			return prom.value(t, fmt.Sprintf(`job_budget:profguard_share:ratio1h{job=%q,budget="hot"} > 0.1 < 1.01`, job)) != ""
		})
	}
	dumps := func() []string {
		return prom.exemplars(t, `profguard_verdicts_total{job="openmetrics",budget="hot",verdict="fail"}`)
	}
	waiting.Until(t, "an exemplar of the last dump", func() bool { // there may be one of an earlier dump
		return slices.ContainsFunc(g.Status().Budgets, func(b guard.BudgetStatus) bool {
			return b.Name == "hot" && slices.Contains(dumps(), b.Dump)
		})
	})
	for _, group := range prom.ruleErrors(t) {
		t.Errorf("rules: %s", group)
	}
}

// wantValid holds what is scraped against promtool.
func wantValid(t *testing.T, promtool, url string) {
	t.Helper()
	check := exec.Command(promtool, "check", "metrics")
	check.Stdin = body(t, url)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// TestRules holds the shipped rules against promtool and their own tests.
func TestRules(t *testing.T) {
	promtool := need(t, "prometheus", "promtool")
	for _, args := range [][]string{{"check", "rules", rules}, append([]string{"test", "rules"}, rulesTests(t)...)} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// rulesTests are the files of tests of the rules.
func rulesTests(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("../../docs/alerts*_test.yml")
	if err != nil || len(names) != 2 {
		t.Fatalf("tests of the rules: found %v, %v, want two files", names, err)
	}
	return names
}

// TestRulesTestFires: the rules' tests fail when a rule is wrong. Of the tests only the
// one is run that is about the rule.
func TestRulesTestFires(t *testing.T) {
	promtool := need(t, "prometheus", "promtool")
	data, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ from, to, test string }{
		{"profguard_budget_state == 2", "profguard_budget_state == 1", "a budget fires, "},
		{`query (print "profguard_budget_offender_info"`, `query (print "profguard_budget_limit"`, "a budget fires, "},
		{"profguard_hits:increase1h > 1000)\n            > 1.25", "profguard_hits:increase1h > 1)\n            > 1.25", "a fleet adds up"},
		{"> 1.25", "> 1.1", "a fleet adds up"},
		{`{additive="true"}`, "", "hits that do not add up "},
		{`{additive="function"}`, "", "hits that do not add up "},
		{"profguard_rollout_state == 1", "profguard_rollout_state == -1", "a rollout costs more"},
		{"timestamp_seconds > 900", "timestamp_seconds > 90000", "a rollout costs more"},
		{"> 0.5", "> 0.2", "windows are lost "},
		{"> 3600", "> 36000", "no good window, "},
		{"(profguard_budget_state) == -1\n", "(profguard_budget_state) <= -1\n", "budgets that are not decided"},
		{"profguard_budget_ineffective == 1", "profguard_budget_ineffective >= 0", "budgets that are not decided"},
		{"for: 24h", "for: 20h", "budgets that are not decided"},
		{"refused|full|off", "full|off", "profiles that do not get out"},
		{`unless on (job, instance) increase(profguard_exports_total{result="sent"}[30m]) > 0`, "", "profiles that do not get out"},
		{"max by (job, budget) (profguard_budget_state) == -2", "profguard_budget_state == -2", "budgets that nothing "},
		{"unless on (job, budget)", "and on (job, budget)", "budgets that nothing "},
	} {
		t.Run(tt.to, func(t *testing.T) {
			broken := strings.ReplaceAll(string(data), tt.from, tt.to)
			if broken == string(data) {
				t.Fatalf("%q does not occur in the rules", tt.from)
			}
			dir := t.TempDir()
			write(t, filepath.Join(dir, "alerts.yml"), broken)
			test := filepath.Join(dir, "one_test.yml")
			write(t, test, ruleTest(t, tt.test))
			// What was expected and what was found instead: a file that cannot be read
			// makes promtool fail, too.
			out, err := exec.Command(promtool, "test", "rules", test).CombinedOutput()
			if err == nil || !strings.Contains(string(out), "exp:") || !strings.Contains(string(out), "got:") {
				t.Errorf("with %q for %q the tests of the rules should find another result: %v\n%s", tt.to, tt.from, err, out)
			}
		})
	}
}

// ruleTest is a file with the one test of the rules whose name begins so.
func ruleTest(t *testing.T, name string) string {
	t.Helper()
	const begin = "\n  - name: "
	for _, path := range rulesTests(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		tests := strings.Split(string(data), begin)
		for _, test := range tests[1:] {
			if strings.HasPrefix(test, name) {
				return tests[0] + begin + test
			}
		}
	}
	t.Fatalf("no test of the rules is named %q", name)
	return ""
}

// server is a running Prometheus.
type server struct{ url string }

// startPrometheus starts one that scrapes the target in both formats, with the shipped
// rules. More is what its configuration has beside that.
func startPrometheus(t *testing.T, program, target, more string) server {
	t.Helper()
	dir, addr := t.TempDir(), freeAddr(t)
	path, err := filepath.Abs(rules)
	if err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(target, "http://")
	write(t, filepath.Join(dir, "prometheus.yml"), fmt.Sprintf(`
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
  - {job_name: openmetrics, metrics_path: /openmetrics, static_configs: [{targets: [%q]}]}
  - {job_name: text, metrics_path: /text, static_configs: [{targets: [%q]}]}
%s`, path, host, host, more))
	serve(t, addr, program, "--config.file", filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path", filepath.Join(dir, "data"),
		"--web.listen-address", addr, "--enable-feature", "exemplar-storage", "--log.level", "error")
	return server{url: "http://" + addr}
}

// serve runs Prometheus or Alertmanager until the test ends, and waits until it is ready.
func serve(t *testing.T, addr, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	waiting.Until(t, filepath.Base(program)+" to be ready", func() bool {
		resp, err := http.Get("http://" + addr + "/-/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// get decodes the data of an answer of the API.
func (s server) get(t *testing.T, path string, query url.Values, data any) {
	t.Helper()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.NewDecoder(body(t, s.url+"/api/v1/"+path+"?"+query.Encode())).Decode(&answer); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if answer.Status != "success" {
		t.Fatalf("%s %v: %s", path, query, answer.Error)
	}
}

// series is how many series a query finds.
func (s server) series(t *testing.T, query string) int {
	t.Helper()
	var data struct{ Result []struct{ Value [2]any } }
	s.get(t, "query", url.Values{"query": {query}}, &data)
	return len(data.Result)
}

// value is the one value of a query, or "".
func (s server) value(t *testing.T, query string) string {
	t.Helper()
	var data struct{ Result []struct{ Value [2]any } }
	s.get(t, "query", url.Values{"query": {query}}, &data)
	if len(data.Result) != 1 {
		return ""
	}
	return fmt.Sprint(data.Result[0].Value[1])
}

// label is a label of the one series of a query, or "".
func (s server) label(t *testing.T, query, label string) string {
	t.Helper()
	var data struct {
		Result []struct{ Metric map[string]string }
	}
	s.get(t, "query", url.Values{"query": {query}}, &data)
	if len(data.Result) != 1 {
		return ""
	}
	return data.Result[0].Metric[label]
}

// description is that of the first alert of a name.
func (s server) description(t *testing.T, name string) string {
	t.Helper()
	var data struct {
		Alerts []struct{ Labels, Annotations map[string]string }
	}
	s.get(t, "alerts", nil, &data)
	for _, a := range data.Alerts {
		if a.Labels["alertname"] == name {
			return a.Annotations["description"]
		}
	}
	return ""
}

func (s server) alert(t *testing.T, name, job, budget string) bool {
	t.Helper()
	var data struct {
		Alerts []struct {
			Labels map[string]string
			State  string
		}
	}
	s.get(t, "alerts", nil, &data)
	for _, a := range data.Alerts {
		if a.State == "firing" && a.Labels["alertname"] == name && a.Labels["job"] == job && a.Labels["budget"] == budget {
			return true
		}
	}
	return false
}

// exemplars are the dump ids of a series, latest first.
func (s server) exemplars(t *testing.T, series string) []string {
	t.Helper()
	var data []struct {
		Exemplars []struct{ Labels map[string]string }
	}
	s.get(t, "query_exemplars", url.Values{"query": {series}, "start": {"0"}, "end": {"9999999999"}}, &data)
	var ids []string
	for _, d := range data {
		for _, e := range d.Exemplars {
			ids = append([]string{e.Labels["dump"]}, ids...)
		}
	}
	return ids
}

// ruleErrors are the rules that could not be evaluated.
func (s server) ruleErrors(t *testing.T) []string {
	t.Helper()
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	s.get(t, "rules", nil, &data)
	if len(data.Groups) == 0 {
		return []string{"none are loaded"}
	}
	var list []string
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			if r.Health == "err" {
				list = append(list, r.Name+": "+r.LastError)
			}
		}
	}
	return list
}

func body(t *testing.T, url string) io.Reader {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReader(string(data))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
