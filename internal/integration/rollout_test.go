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

// TestRollout rolls out twenty real processes under a real Prometheus, with kills and restarts, and asks "profguard
// rollout": first an equal build beside the one before, which is no dearer, and then one in its place that costs 5 points
// more in one function, which is found, by the command and by the service.
//
//	go test -run TestRollout -long -v -timeout 1h
func TestRollout(t *testing.T) {
	if !*long {
		t.Skip("only with -long")
	}
	program := need(t, "prometheus", "prometheus")
	const n = 20
	var addrs []string
	for range 2 * n {
		addrs = append(addrs, freeAddr(t))
	}
	command := profguard(t)
	service := freeAddr(t)
	prom := startFleetPrometheus(t, program, fmt.Sprintf(`  - {job_name: shop, static_configs: [{targets: [%s]}]}
  - {job_name: profguard-rollout, honor_labels: true, static_configs: [{targets: [%q]}]}
`, `"`+strings.Join(addrs, `", "`)+`"`, service))
	spawn(t, command, "rollout", "-prometheus", prom.url, "-since", "30m", "-every", "5s", "-listen", service)
	samples := func(revision string) float64 {
		return number(prom.value(t, fmt.Sprintf(`sum(profguard_function_samples_total * on (instance) group_left (revision) profguard_build_info{revision=%q})`, revision)))
	}
	ask := func(revision string, more ...string) (status int, text string) {
		args := append([]string{"rollout", "-prometheus", prom.url, "-job", "shop", "-since", "30m", "-build", revision}, more...)
		cmd := exec.Command(command, args...)
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
	const enough, much = 1000, 2000
	first := buildRelease(t, "v1", "1")
	stops := first.run(t, addrs[:n])
	before := first.revision(t, prom, addrs[0], "")
	waiting.Until(t, "the first build to have samples", func() bool { return samples(before) > enough })
	if status, text := ask(before); status != 3 || !strings.Contains(text, "no other build") {
		t.Errorf("one build: status %d, %s", status, text)
	}

	equal := buildRelease(t, "v1b", "1")
	equals := equal.run(t, addrs[n:])
	revision := equal.revision(t, prom, addrs[n], "")
	waiting.Until(t, "an equal build to have samples", func() bool { return samples(revision) > enough })
	for i := range 4 { // two of each are killed, and two start again
		stops[i]()
		equals[i]()
		if i < 2 {
			stops[i], equals[i] = first.run(t, addrs[i:i+1])[0], equal.run(t, addrs[n+i:n+i+1])[0]
		}
	}
	waiting.Until(t, "an equal build to have many samples", func() bool { return samples(revision) > much })
	status, text := ask(revision, "-limit", "20", "-process", "50")
	t.Logf("equal: status %d, %s", status, text)
	if status == 1 || status == 2 {
		t.Errorf("an equal build: status %d, %s", status, text)
	}
	if v := prom.value(t, fmt.Sprintf(`profguard_rollout_state{job="shop",revision=%q}`, revision)); v != "0" && v != "-1" {
		t.Errorf("an equal build has the state %q", v)
	}

	costly := buildRelease(t, "v2", "2")
	for i, stop := range stops { // in the places of the first build
		stop()
		costly.run(t, addrs[i:i+1])
	}
	revision = costly.revision(t, prom, addrs[0], before)
	status, text = ask(revision, "-wait", "10m", "-o", "json")
	t.Logf("costly: status %d, after %.0f samples: %s", status, samples(revision), text)
	if status != 1 || !regexp.MustCompile(`"text": "shop \S+ costs more: main\.tax \+[3-8]\.\d\d points`).MatchString(text[strings.Index(text, "{"):]) {
		t.Errorf("a build that costs more: status %d, %s", status, text)
	}
	waiting.Until(t, "the alert of the release that costs more", func() bool {
		return prom.series(t, fmt.Sprintf(`ALERTS{alertname="ProfguardRolloutCostsMore",alertstate="firing",revision=%q}`, revision)) == 1
	})
	if text := prom.description(t, "ProfguardRolloutCostsMore"); !regexp.MustCompile(`main\.tax \+[3-8]\.\d\d.* The whole takes \d+`).MatchString(text) {
		t.Errorf("the alert says %q", text)
	}
	if empty := withoutData(t, prom, queriesOf(t, "Functions of a job, by build")); len(empty) > 0 {
		t.Errorf("queries of the dashboard without data: %q", empty)
	}
	for _, group := range prom.ruleErrors(t) {
		t.Errorf("rules: %s", group)
	}
	promtool := need(t, "prometheus", "promtool")
	wantValid(t, promtool, "http://"+addrs[0]+"/metrics")
	wantValid(t, promtool, "http://"+service+"/metrics")
}

// profguard builds the command.
func profguard(t *testing.T) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "profguard")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "github.com/profguard/profguard/cmd/profguard").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
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
	fast := regexp.MustCompile(`(?m)^(\s+)(for): \d+[mh].*$`).ReplaceAllString(string(data), "$1$2: 2s")
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
	if out, err := exec.CommandContext(t.Context(), "go", append([]string{"build", "-buildvcs=false", "-o", binary}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// A builtRelease is the program of rollout, as a release has it.
type builtRelease struct{ binary, name string }

func buildRelease(t *testing.T, name, taxes string) builtRelease {
	t.Helper()
	return builtRelease{build(t, "-ldflags", fmt.Sprintf("-X main.release=%s -X main.taxes=%s", name, taxes), "./rollout"), name}
}

// run runs a process for each address.
func (r builtRelease) run(t *testing.T, addrs []string) (stops []func()) {
	t.Helper()
	for _, addr := range addrs {
		stops = append(stops, spawn(t, r.binary, "-addr", addr))
	}
	return stops
}

// revision is that of the release that runs at an address now, where another one may have run before.
func (r builtRelease) revision(t *testing.T, prom server, addr, before string) (revision string) {
	t.Helper()
	waiting.Until(t, r.name+" to be scraped", func() bool {
		revision = prom.label(t, fmt.Sprintf(`profguard_build_info{instance=%q,revision!=%q}`, addr, before), "revision")
		return revision != ""
	})
	return revision
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
// for three of them, as docs/releases.md says. One breaks a budget. The alert names it and its function, and
// the counters of all are in the rules of fleets.
func TestProbe(t *testing.T) {
	t.Parallel()
	program := need(t, "prometheus", "prometheus")
	promtool := need(t, "prometheus", "promtool")
	targets := plainTargets(t)
	command := profguard(t)
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
	waiting.Until(t, "the counters of functions, and rollout to see both builds", func() bool {
		if prom.series(t, `job_function:profguard_share:ratio1h{job="cart",function="main.tax"}`) != 1 {
			return false
		}
		out, _ := exec.Command(command, "rollout", "-prometheus", prom.url, "-job", "cart", "-since", "10m").Output()
		return bytes.Contains(out, []byte("several were first seen within a minute"))
	})
	for _, group := range prom.ruleErrors(t) {
		t.Errorf("rules: %s", group)
	}
	wantValid(t, promtool, "http://"+probe+"/probe?target="+targets[1])
	wantValid(t, promtool, "http://"+probe+"/metrics")
}

// TestFleetDocs: Prometheus takes the configurations of docs/releases.md.
func TestFleetDocs(t *testing.T) {
	promtool := need(t, "prometheus", "promtool")
	doc, err := os.ReadFile("../../docs/releases.md")
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
		if !strings.Contains(block[1], "scrape_configs:") { // of Kubernetes, or of GitHub
			continue
		}
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
