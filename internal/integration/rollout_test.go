package integration

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/profguard/profguard/internal/waiting"
)

var long = flag.Bool("long", false, "roll out 20 processes, which takes ten minutes of a core, and measure what a fleet costs Prometheus")

// TestRollout rolls out twenty real processes under a real Prometheus, with the shipped rules: first
// a release that is equal, of which nothing is said, and then one that costs 5 points more in one
// function, of which there is one alert with the function in it.
//
//	go test -run TestRollout -long -v
func TestRollout(t *testing.T) {
	if !*long {
		t.Skip("only with -long")
	}
	program := need(t, "prometheus", "prometheus")
	promtool := need(t, "prometheus", "promtool")
	const n = 20
	var addrs []string
	for range 3 * n {
		addrs = append(addrs, freeAddr(t))
	}
	prom := startFleetPrometheus(t, program, fmt.Sprintf("  - {job_name: shop, static_configs: [{targets: [%s]}]}\n", `"`+strings.Join(addrs, `", "`)+`"`))
	samples := func(build string) float64 {
		return number(prom.value(t, fmt.Sprintf(`sum(profguard_function_samples_total * on (instance) group_left (revision) profguard_build_info{revision=%q})`, build)))
	}
	const enough, much = 2000, 8000 // how sure a difference is, depends on what is known of the old build
	first, stop := runFleet(t, prom, addrs[:n], "v1", "1")
	waiting.Until(t, "the first build to have samples", func() bool { return samples(first) > enough })

	equal, stopEqual := runFleet(t, prom, addrs[n:2*n], "v1b", "1")
	waiting.Until(t, "both builds to be compared side by side", func() bool {
		return prom.series(t, fmt.Sprintf(`job_build_function:profguard_points:ratio{revision=%q}`, equal)) > 0
	})
	stop()
	waiting.Until(t, "an equal build to have samples", func() bool { return samples(equal) > much })
	if n := prom.series(t, `ALERTS{alertname="ProfguardReleaseCostsMore"}`); n > 0 {
		t.Errorf("%d alerts of an equal release: %s", n, prom.value(t, `topk(1, job_build_function:profguard_sure:ratio)`))
	}

	costly, _ := runFleet(t, prom, addrs[2*n:], "v2", "2")
	t.Cleanup(func() {
		if t.Failed() { // processes with less work have to cost more to be told of
			t.Logf("%.0f samples, load %s, points %s", samples(costly), prom.value(t, `max(job_build_unit:profguard_load:ratio)`),
				prom.value(t, `job_build_function:profguard_points:ratio{function="main.tax"}`))
		}
	})
	stopEqual()
	waiting.Until(t, "the alert of the release that costs more", func() bool {
		return prom.series(t, fmt.Sprintf(`ALERTS{alertname="ProfguardReleaseCostsMore",alertstate="firing",revision=%q}`, costly)) == 1
	})
	if n := prom.series(t, `ALERTS{alertname="ProfguardReleaseCostsMore"}`); n != 1 {
		t.Errorf("%d alerts of a release, want one", n)
	}
	text := prom.description(t, "ProfguardReleaseCostsMore")
	t.Logf("after %.0f samples: %s", samples(costly), text)
	if !regexp.MustCompile(`^Revision ` + costly + ` takes more CPU per requests_total than .*\(\w+\), .* main\.tax \+[3-8]\.\d\d[,.].* The whole takes 10\d`).MatchString(text) {
		t.Errorf("the alert says %q", text)
	}
	if empty := withoutData(t, prom, queriesOf(t, "Functions of a job, by build")); len(empty) > 0 {
		t.Errorf("queries of the dashboard without data: %q", empty)
	}
	for _, group := range prom.ruleErrors(t) {
		t.Errorf("rules: %s", group)
	}
	wantValid(t, promtool, "http://"+addrs[2*n]+"/metrics")
}

// startFleetPrometheus starts one that scrapes each second, with the shipped rules, whose pauses are
// shorter.
func startFleetPrometheus(t *testing.T, program, jobs string) server {
	t.Helper()
	data, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	dir, addr := t.TempDir(), freeAddr(t)
	fast := regexp.MustCompile(`(?m)^(\s+)(for|interval): \d+[mh].*$`).ReplaceAllString(string(data), "$1$2: 2s")
	write(t, filepath.Join(dir, "alerts.yml"), fast)
	write(t, filepath.Join(dir, "prometheus.yml"), "global: {scrape_interval: 2s, evaluation_interval: 2s}\nrule_files: [alerts.yml]\nscrape_configs:\n"+jobs)
	serve(t, addr, program, "--config.file", filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path", filepath.Join(dir, "data"),
		"--web.listen-address", addr, "--log.level", "error")
	return server{url: "http://" + addr}
}

// build builds the program of rollout.
func build(t *testing.T, args ...string) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "rollout")
	if out, err := exec.CommandContext(t.Context(), "go", append([]string{"build", "-o", binary}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// runFleet runs a release, a process for each address, and returns its revision.
func runFleet(t *testing.T, prom server, addrs []string, release, taxes string) (revision string, stop func()) {
	t.Helper()
	binary := build(t, "-ldflags", fmt.Sprintf("-X main.release=%s -X main.taxes=%s", release, taxes), "./rollout")
	var stops []func()
	for _, addr := range addrs {
		stops = append(stops, spawn(t, binary, "-addr", addr))
	}
	of := fmt.Sprintf(`profguard_build_info{instance=%q}`, addrs[0])
	waiting.Until(t, release+" to be scraped", func() bool { return prom.value(t, of) == "1" })
	return prom.label(t, of, "revision"), func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// spawn runs a program until the test ends, or it is stopped.
func spawn(t *testing.T, program string, args ...string) (stop func()) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
	t.Cleanup(stop)
	return stop
}

func number(text string) (v float64) {
	fmt.Sscan(text, &v)
	return v
}

// plainTargets are three services that import nothing of profguard, the first of which taxes its prices
// again and again.
func plainTargets(t *testing.T) (addrs []string) {
	t.Helper()
	for i := range 3 {
		taxes := "1"
		if i == 0 {
			taxes = "100"
		}
		binary := build(t, "-tags", "plain", "-ldflags", "-X main.taxes="+taxes, "./rollout")
		imports, err := exec.Command("go", "version", "-m", binary).Output()
		if err != nil || bytes.Contains(imports, []byte("google/pprof")) {
			t.Fatalf("the program imports profguard: %v\n%s", err, imports)
		}
		addr := freeAddr(t)
		spawn(t, binary, "-addr", addr, "-load", "0.1")
		addrs = append(addrs, addr)
	}
	return addrs
}

// TestProbe goes the whole way of a service without a guard: a real Prometheus asks "profguard probe"
// for three of them, as docs/fleet.md says. One breaks a budget. The alert names it and its function, and
// the counters of all are in the rules of fleets.
func TestProbe(t *testing.T) {
	t.Parallel()
	program := need(t, "prometheus", "prometheus")
	promtool := need(t, "prometheus", "promtool")
	targets := plainTargets(t)
	command := filepath.Join(t.TempDir(), "profguard")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", command, "github.com/profguard/profguard/cmd/profguard").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	budgets, probe := filepath.Join(t.TempDir(), "budgets.txt"), freeAddr(t)
	write(t, budgets, "tax: main.tax below 30%\neach: no function above 99%\nprocess below 1s per requests_total\ngoroutines below 10000\nrss below 10GiB\n")
	spawn(t, command, "probe", "-b", budgets, "-allow", "127.0.0.0/8", "-seconds", "1", "-every", "2s", "-listen", probe)

	jobs := fmt.Sprintf(`  - job_name: cart
    metrics_path: /probe
    static_configs: [{targets: [%s]}]
    relabel_configs:
      - {source_labels: [__address__], target_label: __param_target}
      - {source_labels: [__param_target], target_label: instance}
      - {target_label: __address__, replacement: %q}
`, `"`+strings.Join(targets, `", "`)+`"`, probe)
	prom := startFleetPrometheus(t, program, jobs)
	waiting.Until(t, "the alert about the first target", func() bool { return prom.alert(t, "ProfguardBudgetFiring", "cart", "tax") })
	if v := prom.label(t, `ALERTS{alertname="ProfguardBudgetFiring"}`, "instance"); v != targets[0] {
		t.Errorf("the alert is about %q, want %s alone", v, targets[0])
	}
	if text := prom.description(t, "ProfguardBudgetFiring"); !strings.Contains(text, "Offender: main.tax at rollout/main.go:") || !strings.Contains(text, "Limit: 30%") {
		t.Errorf("the alert says %q", text)
	}
	for _, budget := range []string{"goroutines below 10000", "rss below 10GiB", "process below 1s per requests_total"} {
		if n := prom.series(t, fmt.Sprintf(`profguard_budget_state{budget=%q} == 0`, budget)); n != 3 {
			t.Errorf("%s is kept by %d of 3 targets", budget, n)
		}
	}
	// Their processes are a minute old soon.
	waiting.Until(t, "the counters of functions in the rules of fleets", func() bool {
		return prom.series(t, `job_function:profguard_function_share:ratio1h{job="cart",function="main.tax"}`) == 1 &&
			prom.series(t, `job_build_function:profguard_cost:mean{job="cart",unit="requests_total",function="main.tax"}`) == 2 // builds
	})
	for _, group := range prom.ruleErrors(t) {
		t.Errorf("rules: %s", group)
	}
	wantValid(t, promtool, "http://"+probe+"/probe?target="+targets[1])
	wantValid(t, promtool, "http://"+probe+"/metrics")
}

// TestFleetDocs: Prometheus takes the configurations of docs/fleet.md.
func TestFleetDocs(t *testing.T) {
	promtool := need(t, "prometheus", "promtool")
	doc, err := os.ReadFile("../../docs/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	alerts, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(doc), -1)
	if len(blocks) < 2 {
		t.Fatalf("%d configurations", len(blocks))
	}
	for i, block := range blocks {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "alerts.yml"), string(alerts))
		// Debian's Prometheus has no discovery by Kubernetes.
		write(t, filepath.Join(dir, "prometheus.yml"), strings.ReplaceAll(block[1], "kubernetes_sd_configs: [{role: pod}]", "static_configs: [{targets: [pod]}]"))
		if out, err := exec.Command(promtool, "check", "config", filepath.Join(dir, "prometheus.yml")).CombinedOutput(); err != nil {
			t.Errorf("block %d: %v\n%s", i, err, out)
		}
	}
	if !slices.ContainsFunc(blocks, func(b []string) bool { return strings.Contains(b[1], "metrics_path: /probe") }) {
		t.Error("none is of the probe")
	}
}
