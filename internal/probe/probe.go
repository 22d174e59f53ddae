// Package probe serves what a guard in each of many services would export, as an exporter of Prometheus: it takes their
// profiles and reads their metrics when it is asked for them.
package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/series"
	"github.com/profguard/profguard/internal/service"
)

// Config is what the flags of the command say. Errors name the flags.
type Config struct {
	Budgets              budget.Set
	Allowed              Allowed
	Authorization        string        // the file with the credentials, "" for none
	Seconds              int           // the length of a profile
	Every                time.Duration // between two probes of a target
	Functions            int           // how many are exported for each target
	Units                []string      // counters of work, beside those in the budgets
	Module               string        // of the targets
	Metrics              string        // the path of their metrics
	Log                  io.Writer
	Concurrency, Targets int // how many are probed at the same time, and how many are remembered
}

// A prober answers probes.
type prober struct {
	cfg      Config
	judged   loop.RemoteConfig // how targets are judged,
	question service.Question  // and what they are asked for
	slots    chan struct{}
	results  *prometheus.CounterVec
	running  prometheus.Gauge
	log      *log.Logger

	mu      sync.Mutex
	targets map[string]*target
}

// New checks the configuration, and returns what answers requests for probes, which end with the context.
func New(ctx context.Context, cfg Config) (http.Handler, error) {
	window := time.Duration(cfg.Seconds) * time.Second
	set, rules, err := judgeable(cfg.Budgets, cfg.Log)
	if err != nil {
		return nil, err
	}
	switch {
	case len(rules) > series.Max:
		return nil, fmt.Errorf("expected at most %d budgets, found %d: each has a dozen series for each target", series.Max, len(rules))
	case len(cfg.Allowed.hosts)+len(cfg.Allowed.nets) == 0:
		return nil, errors.New("expected -allow with the targets that may be probed, such as -allow '*.shop:6060' or -allow 10.1.0.0/16: anyone who can reach the probe can make it send requests")
	case cfg.Authorization != "" && cfg.Allowed.anyHost() != "":
		return nil, fmt.Errorf("-allow '%s' and -authorization: expected patterns that end in a dot and a name, such as *.shop:6060, and networks, such as 10.1.0.0/16: anyone who can reach the probe could have the token sent to their own host", cfg.Allowed.anyHost())
	case strings.Contains(cfg.Metrics, "//"):
		return nil, fmt.Errorf("-metrics: expected a path such as /metrics, found %q: -allow says which hosts are asked", cfg.Metrics)
	case cfg.Functions < 0 || cfg.Functions > 1000:
		return nil, fmt.Errorf("-functions: expected 0 to 1000, found %d", cfg.Functions)
	case cfg.Concurrency < 1 || cfg.Targets < 1:
		return nil, fmt.Errorf("-concurrency and -targets: expected 1 or more, found %d and %d", cfg.Concurrency, cfg.Targets)
	}
	_, err = service.ReadCredentials(cfg.Authorization) // each probe reads the file, as tokens are renewed
	if err := cmp.Or(service.CheckSeconds(cfg.Seconds), err); err != nil {
		return nil, err
	}
	if cfg.Every < window {
		return nil, fmt.Errorf("-every: expected the scrape_interval, at least -seconds (%v), found %v", window, cfg.Every)
	}
	q := service.QuestionOf(rules)
	if cfg.Functions > 0 && !slices.Contains(q.Kinds, kinds.CPU) {
		q.Kinds = append(q.Kinds, kinds.CPU)
	}
	q.Units, q.Seconds = slices.Concat(cfg.Units, q.Units), cfg.Seconds
	q.Facts = judge.Facts{Module: cfg.Module, Work: map[string]float64{}, Figures: map[string]float64{}}
	p := &prober{
		cfg: cfg, question: q, slots: make(chan struct{}, cfg.Concurrency), targets: map[string]*target{}, log: log.New(cfg.Log, "", 0),
		judged:  loop.RemoteConfig{Budgets: set, Every: cfg.Every, Window: window, Module: cfg.Module, Functions: cfg.Functions, Kind: (*judge.Rule).SampledBy},
		results: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "profguard_probes_total", Help: "Probes by result."}, []string{"result"}),
		running: prometheus.NewGauge(prometheus.GaugeOpts{Name: "profguard_probes_running", Help: "Running probes."}),
	}
	for _, result := range probeResults {
		p.results.WithLabelValues(result)
	}
	return p.handler(ctx), nil
}

// judgeable are the budgets that a probe can judge. A file of budgets may be that of a guard, which has baselines.
func judgeable(given budget.Set, said io.Writer) (set budget.Set, rules []judge.Rule, err error) {
	all, err := bridge.Rules(given)
	if err != nil {
		return nil, nil, err
	}
	for i := range all {
		if all[i].Test == judge.Grows {
			fmt.Fprintf(said, "%s: left out, without series: the probe has no baseline; docs/releases.md says how releases are compared\n", given[i])
			continue
		}
		set, rules = append(set, given[i]), append(rules, all[i])
	}
	if len(rules) == 0 {
		return nil, nil, errors.New("expected budgets that a probe can judge, found only budgets of growth: drop them, and give for instance -budget 'no function above 30%'")
	}
	return set, rules, nil
}

// probeResults are how requests for a probe end. docs/reference.md has the comments.
var probeResults = []string{
	"ok",      // the target has answered
	"failed",  // the target has not answered with what is needed
	"refused", // the target is not allowed, or the request is wrong
	"crowded", // there was no place for the target or for the probe in time
	"late",    // the target has not answered in time
	"panic",   // the probe has panicked
}

const welcome = `profguard probe, an exporter for Prometheus

/probe?target=HOST:PORT   the series of a target, which is profiled for it
/metrics                  those of the probe itself
/-/healthy                200 while it serves

docs/releases.md has the configuration of Prometheus.
`

// handler answers requests. Probes end with the context.
func (p *prober) handler(ctx context.Context) http.Handler {
	own := prometheus.NewRegistry()
	own.MustRegister(p.results, p.running, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "profguard_probe_targets", Help: "Remembered targets."}, func() float64 {
			p.mu.Lock()
			defer p.mu.Unlock()
			return float64(len(p.targets))
		}))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /probe", func(w http.ResponseWriter, r *http.Request) { p.probe(ctx, w, r) })
	mux.Handle("GET /metrics", promhttp.HandlerFor(own, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, welcome) })
	mux.HandleFunc("GET /-/healthy", func(http.ResponseWriter, *http.Request) {})
	return mux
}

// probe answers a request for a target.
func (p *prober) probe(server context.Context, w http.ResponseWriter, r *http.Request) {
	refuse := func(result string, status int, err error) {
		p.results.WithLabelValues(result).Inc()
		http.Error(w, err.Error(), status)
	}
	root, status, err := p.cfg.Allowed.root(r.URL.Query().Get("target"))
	if err != nil {
		refuse("refused", status, err)
		return
	}
	left, err := p.timeLeft(r)
	if err != nil {
		refuse("refused", http.StatusBadRequest, err)
		return
	}
	t := p.target(root)
	if t == nil {
		refuse("crowded", http.StatusServiceUnavailable, fmt.Errorf("expected at most %d targets, which are all in use: -targets says how many may be remembered", p.cfg.Targets))
		return
	}
	waiting, cancel := context.WithTimeout(r.Context(), left)
	defer cancel()
	select {
	case <-p.start(server, t, left):
	case <-waiting.Done():
		refuse("late", http.StatusGatewayTimeout, fmt.Errorf("%s has not answered in time", root.Host))
		return
	}
	t.mu.Lock()
	answer := t.answer
	t.mu.Unlock()
	if answer == nil {
		refuse("crowded", http.StatusServiceUnavailable, errors.New("too many targets are probed at the same time: -concurrency says how many may be"))
		return
	}
	registry := prometheus.NewRegistry()
	if err := registry.Register(answer); err != nil {
		refuse("failed", http.StatusInternalServerError, err)
		return
	}
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// timeLeft is how long an answer may take: as long as Prometheus waits, less what it takes to send.
func (p *prober) timeLeft(r *http.Request) (time.Duration, error) {
	most := p.judged.Window + service.Patience
	text := r.Header.Get("X-Prometheus-Scrape-Timeout-Seconds")
	if text == "" {
		return most, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	left := time.Duration(seconds*float64(time.Second)) - 500*time.Millisecond
	if err != nil || !(seconds > 0) || left < p.judged.Window+500*time.Millisecond {
		return 0, fmt.Errorf("expected a scrape_timeout of some seconds more than the %v that a profile takes, found %ss: make it longer, or -seconds shorter", p.judged.Window, text)
	}
	return min(left, most), nil
}

// target is what is remembered of a target, nil if there is no room for another one: a target that is
// still asked for is not forgotten, as its counters would begin at 0 each time.
func (p *prober) target(root *url.URL) *target {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := root.String()
	t := p.targets[name]
	if t == nil {
		if len(p.targets) >= p.cfg.Targets {
			maps.DeleteFunc(p.targets, func(_ string, t *target) bool { return time.Since(t.used) > forgotten*p.judged.Every })
		}
		if len(p.targets) >= p.cfg.Targets {
			return nil
		}
		t = &target{root: root}
		p.targets[name] = t
	}
	t.used = time.Now()
	return t
}

// forgotten is after how many periods without a probe a target makes room for others: one scrape may fail.
const forgotten = 2
