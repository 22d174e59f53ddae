package integration

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/profguard/profguard/internal/fleet"
)

// A scenario is a fleet as Prometheus sees it, minute by minute, for the shipped rules to judge. It
// is written as a test of promtool, which runs the real rule engine.
type scenario struct {
	series, tests strings.Builder
	minutes       int
	step          int    // minutes between two scrapes; 0 for one
	rules         int    // minutes between two evaluations; 0 for step
	job           string // of the instances that are added; "" for shop
}

// A life is what one process exports in each step; nil where it is not scraped.
type life []*fleet.Process

// instance adds a process of a build.
func (s *scenario) instance(name, build, unit string, l life) {
	s.runs(name, build, l)
	s.exports(name, unit, l)
}

// runs adds the build of an instance.
func (s *scenario) runs(name, build string, l life) {
	labels := fmt.Sprintf(", version=%q, revision=\"r-%[1]s\", goversion=\"go1.26.8\"", build)
	s.add(name, "build_info", labels, l, func(*fleet.Process) float64 { return 1 })
}

// add adds a series of an instance, with no sample where the value is below zero.
func (s *scenario) add(name, metric, labels string, l life, value func(p *fleet.Process) float64) {
	fmt.Fprintf(&s.series, "      - series: profguard_%s{job=%q, instance=%q%s}\n        values:", metric, cmp.Or(s.job, "shop"), name, labels)
	for minute := range s.minutes {
		if minute >= len(l) || l[minute] == nil || value(l[minute]) < 0 {
			s.series.WriteString(" _")
		} else {
			s.series.WriteString(" " + strconv.FormatFloat(value(l[minute]), 'g', -1, 64))
		}
	}
	s.series.WriteString("\n")
}

// exports adds the counters of an instance.
func (s *scenario) exports(name, unit string, l life) {
	add := func(metric, labels string, value func(p *fleet.Process) float64) {
		s.add(name, metric, labels, l, value)
	}
	add("function_samples_total", "", func(p *fleet.Process) float64 { return p.Samples })
	add("function_rest_ratio", "", func(p *fleet.Process) float64 { return p.Rest })
	add("window_work_total", fmt.Sprintf(", unit=%q", unit), func(p *fleet.Process) float64 { return p.Work })
	add("window_seconds_total", "", func(p *fleet.Process) float64 { return p.Seconds })
	functions := 0
	for _, p := range l {
		if p != nil {
			functions = len(p.Hits)
		}
	}
	for f := range functions {
		add("function_hits_total", fmt.Sprintf(", function=\"main.f%d\"", f), func(p *fleet.Process) float64 { return p.Hits[f] })
	}
}

// want expects samples of an expression in a minute, by their labels.
func (s *scenario) want(minute int, expr string, samples map[string]float64) {
	fmt.Fprintf(&s.tests, "      - expr: %q\n        eval_time: %dm\n        exp_samples:\n", expr, minute*max(s.step, 1))
	for labels, v := range samples {
		fmt.Fprintf(&s.tests, "          - {labels: '%s', value: %g}\n", labels, v)
	}
}

// costsMore expects the alert about a release for a build, or none.
func (s *scenario) costsMore(minute int, build string) {
	samples := map[string]float64{}
	if build != "" {
		samples[fmt.Sprintf(`{version=%q}`, build)] = 1
	}
	s.want(minute, `count by (version) (ALERTS{alertname="ProfguardReleaseCostsMore",alertstate="firing"})`, samples)
}

// run holds the rules against the scenario.
func (s *scenario) run(t *testing.T) {
	t.Helper()
	promtool := need(t, "prometheus", "promtool")
	path, err := filepath.Abs(rules)
	if err != nil {
		t.Fatal(err)
	}
	// Without an order, promtool evaluates groups in any: alerts before what they read has been recorded.
	const groups = "profguard-fleet, profguard-fleet-functions, profguard-release, profguard-alerts"
	file := filepath.Join(t.TempDir(), "fleet_test.yml")
	write(t, file, fmt.Sprintf("rule_files: [%q]\nevaluation_interval: %dm\ngroup_eval_order: [%s]\ntests:\n  - interval: %dm\n    input_series:\n%s    promql_expr_test:\n%s",
		path, max(s.rules, s.step, 1), groups, max(s.step, 1), s.series.String(), s.tests.String()))
	if out, err := exec.Command(promtool, "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// simulated are the lives of processes of a service from a minute on. Seen, which may be nil, gets
// them all as they are in each minute.
func simulated(random *rand.Rand, s *fleet.Service, n, from, until int, seen func(minute int, list []fleet.Process)) []life {
	var pods []*fleet.Pod
	for range n {
		pods = append(pods, s.Start(random))
	}
	lives := make([]life, n)
	for minute := range until {
		var list []fleet.Process
		for i, pod := range pods {
			if minute < from {
				lives[i] = append(lives[i], nil)
				continue
			}
			if minute > from {
				pod.Run(random, 1)
			}
			now := pod.Process
			now.Hits = slices.Clone(now.Hits)
			lives[i] = append(lives[i], &now)
			list = append(list, now)
		}
		if seen != nil {
			seen(minute, list)
		}
	}
	return lives
}

// service is one with few functions, so that promtool is done soon. The last one is not in the old
// build.
func service(more float64) *fleet.Service {
	s := &fleet.Service{Shares: []float64{0.5, 0.1, 0.01 + more, 0.002}, Processes: 0.2, Windows: 0.3, Samples: 10 * (1 + more), Work: 100}
	return s
}

// The rules of Prometheus compute what the simulation of package fleet computes, with 100 processes of
// each of two builds: so what the simulation tells of their errors is true of the rules.
func TestRulesAreTheFormula(t *testing.T) {
	for _, tt := range []struct {
		name     string
		more     float64
		work     float64 // of a new process, as a part of that of an old one
		was, is  int
		wantSure bool
	}{
		{"a point more", 0.01, 1, 100, 100, true},
		{"equal", 0, 1, 100, 100, false},
		{"one new process", 0.4, 1, 40, 1, true},
		{"one new process, equal", 0, 1, 40, 1, false},
		{"few old processes", 0.3, 1, 5, 30, true},
		{"of 20, one less", 0.3, 1, 20, 19, true},
		{"of 14, equal", 0, 1, 14, 14, false},
		{"less work", 0.1, 0.5, 100, 100, true},
		{"less work, equal", 0, 0.5, 100, 100, false},
		{"more work", 0.1, 2, 15, 15, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const deployed, until = 60, 90
			random := rand.New(rand.NewPCG(45, 7))
			s := &scenario{minutes: until}
			old := fleet.NewOld(len(service(0).Shares))
			for i, l := range simulated(random, service(0), tt.was, 0, until, func(_ int, list []fleet.Process) { old.See(list) }) {
				s.instance(fmt.Sprint("old-", i), "v1", "request", l)
			}
			var list []fleet.Difference
			after := service(tt.more)
			after.Samples, after.Work = after.Samples*tt.work, after.Work*tt.work
			after.Always = (1 - min(tt.work, 1)) * service(0).Samples * after.Shares[3] // as much a second as before
			for i, l := range simulated(random, after, tt.is, deployed, until, func(minute int, now []fleet.Process) {
				if minute == until-1 {
					list = old.Compare(now)
				}
			}) {
				s.instance(fmt.Sprint("new-", i), "v2", "request", l)
			}
			points, variances, sure := map[string]float64{}, map[string]float64{}, map[string]float64{}
			for f, d := range list {
				name := fmt.Sprintf(`{function="main.f%d"}`, f)
				points[name], variances[name] = math.Round(1e6*d.Points), math.Round(1e5*math.Log(d.Variance))
				if d.Sure {
					sure[name] = 1
				}
			}
			s.want(until-1, `round(1e6 * sum by (function) (job_build_function:profguard_points:ratio))`, points)
			s.want(until-1, `round(1e5 * ln(sum by (function) (job_build_function:profguard_more:variance)))`, variances)
			s.want(until-1, `sum by (function) (job_build_function:profguard_sure:ratio > bool 0)`, sure)
			build := ""
			if tt.wantSure {
				build = "v2"
			}
			if list[2].Sure != tt.wantSure {
				t.Errorf("%+v, want sure %t", list[2], tt.wantSure)
			}
			s.costsMore(until-1, build)
			s.run(t)
		})
	}
}

// The lower bound of a fleet's share goes from the formula for few processes to that for many without
// a step.
func TestShareBoundHasNoStep(t *testing.T) {
	s := &scenario{}
	low := map[int]float64{}
	for _, n := range []int{1, 2, 10, 11, 15, 19, 20, 40} {
		samples, hits, squares := 0.0, 0.0, 0.0
		for i := range n {
			h := float64(20 + 20*(i%2)) // of 100 each minute
			of := fmt.Sprintf(`job="%d", instance="%d"`, n, i)
			fmt.Fprintf(&s.series, "      - {series: 'profguard_samples_total{additive=\"true\", %s, budget=\"b\"}', values: \"0+100x120\"}\n", of)
			fmt.Fprintf(&s.series, "      - {series: 'profguard_hits_total{additive=\"true\", %s, budget=\"b\"}', values: \"0+%gx120\"}\n", of, h)
			fmt.Fprintf(&s.series, "      - {series: 'profguard_function_samples_total{%s}', values: \"0+100x120\"}\n", of)
			fmt.Fprintf(&s.series, "      - {series: 'profguard_function_hits_total{%s, function=\"f\"}', values: \"0+%gx120\"}\n", of, h)
			samples, hits, squares = samples+6000, hits+60*h, squares+3600*h*h
		}
		share, count := hits/samples, float64(n)
		variance := share / samples
		if n > 1 {
			variance = max(variance, (squares-hits*hits/count)/(samples*samples)*count/(count-1))
		}
		many := min(max(count/10-1, 0), 1)
		low[n] = share - math.Sqrt(many*variance*(count-1)*(math.Exp(27.6/count)-1)+(1-many)*2*27.6*share/samples)
		s.want(100, fmt.Sprintf(`round(1e6 * job_budget:profguard_share_low:ratio1h{job="%d"})`, n), map[string]float64{fmt.Sprintf(`{job="%d", budget="b"}`, n): math.Round(1e6 * low[n])})
		s.want(100, fmt.Sprintf(`round(1e6 * job_function:profguard_function_share_low:ratio1h{job="%d"})`, n), map[string]float64{fmt.Sprintf(`{job="%d", function="f"}`, n): math.Round(1e6 * low[n])})
	}
	if step := math.Abs(low[20] - low[19]); step > 0.03 {
		t.Errorf("the bound is %.3f of 20 processes and %.3f of 19", low[20], low[19])
	}
	t.Log(low)
	s.run(t)
}
