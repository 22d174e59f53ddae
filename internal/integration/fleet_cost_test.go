package integration

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/waiting"
)

var fleetSize = flag.Int("instances", 100, "how many processes TestFleetCost measures")

// A guarded process, as its /metrics is: 10 budgets, 100 functions with names of usual length, a unit
// of work, at a time since its start.
func exposition(instance int, since time.Duration) string {
	var b strings.Builder
	windows := since.Seconds() / 10
	for n := range 10 {
		budget := fmt.Sprintf(`budget="budget-%d"`, n)
		for _, name := range []string{"state", "ineffective"} {
			fmt.Fprintf(&b, "profguard_budget_%s{%s} 0\n", name, budget)
		}
		for _, name := range []string{"value", "low", "high", "limit"} {
			fmt.Fprintf(&b, "profguard_budget_%s{%s,unit=\"ratio\"} 0.2\n", name, budget)
		}
		for _, verdict := range []string{"fail", "inconclusive", "pass"} {
			fmt.Fprintf(&b, "profguard_verdicts_total{%s,verdict=%q} %.0f\n", budget, verdict, windows)
		}
		fmt.Fprintf(&b, "profguard_samples_total{additive=\"true\",%s} %.0f\nprofguard_hits_total{additive=\"true\",%s} %.0f\n", budget, 100*windows, budget, 10*windows)
	}
	for n := range 100 {
		share := 0.5 / float64(n+1) * (1 + float64((instance+n)%10)/20)
		fmt.Fprintf(&b, "profguard_function_hits_total{function=\"github.com/example/shop/internal/orders.(*Service).Function%03d\"} %.0f\n", n, 100*windows*share)
	}
	fmt.Fprintf(&b, "profguard_function_samples_total %.0f\nprofguard_function_rest_ratio 0.004\nprofguard_window_seconds_total %.0f\nprofguard_window_work_total{unit=\"request\"} %.0f\n", 100*windows, 10*windows, 1000*windows)
	fmt.Fprintf(&b, "profguard_build_info{goversion=\"go1.26.8\",revision=\"%d\",version=\"v1\"} 1\n", instance%2)
	for n := range 22 { // outcomes of windows, panics, events that were dropped
		fmt.Fprintf(&b, "profguard_windows_total{outcome=\"outcome-%d\"} %.0f\n", n, windows)
	}
	return b.String()
}

// TestFleetCost measures what a fleet costs Prometheus: 100 processes, or as many as are asked for.
//
//	go test -run TestFleetCost -long -v -instances 100
func TestFleetCost(t *testing.T) {
	if !*long {
		t.Skip("only with -long")
	}
	program := need(t, "prometheus", "prometheus")
	text := exposition(7, time.Hour)
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	zip.Write([]byte(text))
	zip.Close()
	t.Logf("a scrape: %d series, %d bytes, %d compressed", strings.Count(text, "\n"), len(text), packed.Len())

	began := time.Now()
	fleet := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var instance int
		fmt.Sscanf(r.URL.Path, "/metrics/%d", &instance)
		fmt.Fprint(w, exposition(instance, time.Since(began)))
	}))
	defer fleet.Close()
	host := strings.TrimPrefix(fleet.URL, "http://")
	var jobs strings.Builder
	jobs.WriteString("  - job_name: shop\n    static_configs:\n")
	for i := range *fleetSize {
		fmt.Fprintf(&jobs, "      - {targets: [%q], labels: {__metrics_path__: /metrics/%d, instance: \"10.1.0.%d:6060\"}}\n", host, i, i)
	}
	dir, addr := t.TempDir(), freeAddr(t)
	data, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "alerts.yml"), string(data))
	const interval = 15
	write(t, filepath.Join(dir, "prometheus.yml"), fmt.Sprintf("global: {scrape_interval: %ds, evaluation_interval: %[1]ds}\nrule_files: [alerts.yml]\nscrape_configs:\n%s  - {job_name: prometheus, static_configs: [{targets: [%q]}]}\n",
		interval, jobs.String(), addr))
	serve(t, addr, program, "--config.file", filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path", filepath.Join(dir, "data"),
		"--web.listen-address", addr, "--log.level", "error")
	prom := server{url: "http://" + addr}
	waiting.Until(t, "the rules to have looked at all", func() bool {
		return number(prom.value(t, `count(profguard_function_samples_total)`)) == float64(*fleetSize) && time.Since(began) > 90*time.Second
	})
	for what, query := range map[string]string{
		"series in all":           `prometheus_tsdb_head_series`,
		"series of the processes": `sum(scrape_samples_scraped{job="shop"})`,
		"memory, MiB":             `process_resident_memory_bytes{job="prometheus"} / 2^20`,
		"cores":                   `rate(process_cpu_seconds_total{job="prometheus"}[1m])`,
	} {
		t.Logf("%d processes, scraped every %d seconds: %s %.3g", *fleetSize, interval, what, number(prom.value(t, query)))
	}
	var groups struct {
		Groups []struct {
			Name           string
			EvaluationTime float64
		}
	}
	prom.get(t, "rules", nil, &groups)
	for _, g := range groups.Groups {
		t.Logf("%d processes: %.3f seconds to evaluate %s", *fleetSize, g.EvaluationTime, g.Name)
	}
	for _, group := range prom.ruleErrors(t) {
		t.Errorf("rules: %s", group)
	}
}
