package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/url"
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
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/series"
	"github.com/profguard/profguard/internal/unit"
)

// probe serves what a guard in each of many targets would export, as an exporter of Prometheus.
func probe(ctx context.Context, args []string, std streams) (int, error) {
	p := &prober{source: source{streams: std, stays: true}, log: log.New(std.err, "", 0)}
	f := newFlags("probe")
	files, sentences := budgetFlags(f, "")
	listen := f.String("listen", ":9201", "the `address` for /probe and /metrics")
	f.Func("allow", "a target that may be probed: a `pattern` such as *.shop:6060, or a network such as 10.1.0.0/16; may be given several times", p.allowed.add)
	p.source.credentials.flag(f)
	f.IntVar(&p.source.seconds, "seconds", 10, "the length of a profile in `seconds`; scrape_timeout must be a few seconds longer")
	f.DurationVar(&p.judged.Every, "every", guardPeriod, "the `period`: set it to the scrape_interval. A target that is asked again within half of it gets the same answer")
	f.IntVar(&p.judged.Functions, "functions", 100, "the maximum number of functions exported for each target, which rollout compares; 0 for none")
	f.Func("unit", "a counter in the targets' `metrics` that counts work, such as http_requests_total; may be given several times. Units that budgets name are always counted", p.unit)
	f.StringVar(&p.judged.Module, "module", "", "the `path` of your module, to find your calls and to tell a server's own work from yours")
	f.StringVar(&p.source.metrics, "metrics", "/metrics", "the `path` of each target's own metrics")
	concurrency := f.Int("concurrency", 50, "the maximum number of targets probed at the same time")
	f.IntVar(&p.most, "targets", 1000, "the maximum number of targets remembered; the least recently probed is dropped")
	args, err := parseFlags(f, args, std.out)
	if err != nil {
		return exitMisuse, err
	}
	if len(args) > 0 {
		return exitMisuse, fmt.Errorf("expected no arguments, found %q: targets are named by Prometheus, as /probe?target=HOST:PORT", args[0])
	}
	set, err := readBudgets(*files, *sentences)
	if err != nil {
		return exitMisuse, err
	}
	if err := p.prepare(set, *concurrency); err != nil {
		return exitMisuse, err
	}
	return serve(ctx, std.err, *listen, "/probe?target=HOST:PORT, /metrics", p.handler(ctx))
}

// A prober answers probes.
type prober struct {
	source  source
	judged  loop.RemoteConfig // how targets are judged
	rules   []judge.Rule
	units   []string
	allowed allowed
	most    int
	slots   chan struct{}
	results *prometheus.CounterVec
	running prometheus.Gauge
	log     *log.Logger

	mu      sync.Mutex
	targets map[string]*probeTarget
}

// A probeTarget is a target with the probe that runs, if one does.
type probeTarget struct {
	root *url.URL
	used time.Time // by prober.mu

	mu     sync.Mutex
	busy   chan struct{} // closed when the running probe is done; nil without one
	ended  time.Time
	answer page   // of the last probe
	wrong  string // what the log has said of it, "" if nothing is wrong
	known  *watched
}

func (p *prober) unit(text string) error {
	if _, ok := unit.ParseWork(text); !ok {
		return fmt.Errorf("expected the name of a counter, found %q", text)
	}
	p.units = append(p.units, text)
	return nil
}

// prepare checks the flags and compiles the budgets.
func (p *prober) prepare(set budget.Set, concurrency int) error {
	j := &p.judged
	if err := p.takes(set); err != nil {
		return err
	}
	switch {
	case len(p.rules) > series.Max:
		return fmt.Errorf("expected at most %d budgets, found %d: each has a dozen series for each target", series.Max, len(p.rules))
	case len(p.allowed.hosts)+len(p.allowed.nets) == 0:
		return errors.New("expected -allow with the targets that may be probed, such as -allow '*.shop:6060' or -allow 10.1.0.0/16: anyone who can reach the probe can make it send requests")
	case p.source.credentials.file != "" && p.allowed.anyHost() != "":
		return fmt.Errorf("-allow '%s' and -authorization: expected patterns that end in a dot and a name, such as *.shop:6060, and networks, such as 10.1.0.0/16: anyone who can reach the probe could have the token sent to their own host", p.allowed.anyHost())
	case strings.Contains(p.source.metrics, "//"):
		return fmt.Errorf("-metrics: expected a path such as /metrics, found %q: -allow says which hosts are asked", p.source.metrics)
	case j.Functions < 0 || j.Functions > 1000:
		return fmt.Errorf("-functions: expected 0 to 1000, found %d", j.Functions)
	case concurrency < 1 || p.most < 1:
		return fmt.Errorf("-concurrency and -targets: expected 1 or more, found %d and %d", concurrency, p.most)
	}
	if err := p.source.checkSeconds(); err != nil {
		return err
	}
	trial := p.source.credentials // each probe reads the file, as tokens are renewed
	if err := trial.load(); err != nil {
		return err
	}
	if j.Window = time.Duration(p.source.seconds) * time.Second; j.Every < j.Window {
		return fmt.Errorf("-every: expected the scrape_interval, at least -seconds (%v), found %v", j.Window, j.Every)
	}
	j.Kind = (*judge.Rule).SampledBy
	for _, text := range unitsOf(p.rules) {
		if err := p.unit(text); err != nil {
			return err
		}
	}
	p.source.streams.err = io.Discard // requests are silent
	p.slots, p.targets = make(chan struct{}, concurrency), map[string]*probeTarget{}
	p.results = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "profguard_probes_total", Help: "Probes by result."}, []string{"result"})
	for _, result := range probeResults {
		p.results.WithLabelValues(result)
	}
	p.running = prometheus.NewGauge(prometheus.GaugeOpts{Name: "profguard_probes_running", Help: "Running probes."})
	return nil
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

// takes keeps the budgets that a probe can judge. A file of budgets may be that of a guard, which has baselines.
func (p *prober) takes(set budget.Set) error {
	rules, err := bridge.Rules(set)
	if err != nil {
		return err
	}
	for i := range rules {
		if rules[i].Test == judge.Grows {
			fmt.Fprintf(p.source.err, "%s: left out, without series: the probe has no baseline; docs/releases.md says how releases are compared\n", set[i])
			continue
		}
		p.judged.Budgets, p.rules = append(p.judged.Budgets, set[i]), append(p.rules, rules[i])
	}
	if len(p.rules) == 0 {
		return errors.New("expected budgets that a probe can judge, found only budgets of growth: drop them, and give for instance -budget 'no function above 30%'")
	}
	return nil
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
	root, err := p.allowed.root(r.URL.Query().Get("target"))
	if err != nil {
		status := http.StatusBadRequest
		if _, ok := errors.AsType[notAllowed](err); ok {
			status = http.StatusForbidden
		}
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
		refuse("crowded", http.StatusServiceUnavailable, fmt.Errorf("expected at most %d targets, which are all in use: -targets says how many may be remembered", p.most))
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
	most := p.judged.Window + patience
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
func (p *prober) target(root *url.URL) *probeTarget {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := root.String()
	t := p.targets[name]
	if t == nil {
		if len(p.targets) >= p.most {
			maps.DeleteFunc(p.targets, func(_ string, t *probeTarget) bool { return time.Since(t.used) > forgotten*p.judged.Every })
		}
		if len(p.targets) >= p.most {
			return nil
		}
		t = &probeTarget{root: root}
		p.targets[name] = t
	}
	t.used = time.Now()
	return t
}

// forgotten is after how many periods without a probe a target makes room for others: one scrape may fail.
const forgotten = 2

// start returns a channel that is closed when there is an answer. Who asks while a target is
// probed, or soon after, gets the same one: two servers of Prometheus take no two profiles.
func (p *prober) start(server context.Context, t *probeTarget, left time.Duration) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy != nil {
		return t.busy
	}
	done := make(chan struct{})
	if t.answer != nil && time.Since(t.ended) < p.judged.Every/2 {
		close(done)
		return done
	}
	t.busy = done
	go p.run(server, t, done, left)
	return done
}

// run probes a target.
func (p *prober) run(server context.Context, t *probeTarget, done chan struct{}, left time.Duration) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(server, left)
	defer cancel()
	var answer page
	var reason, text string // of what is wrong
	defer func() {
		if r := recover(); r != nil { // of a profile that a decoder or a judge cannot bear
			p.results.WithLabelValues("panic").Inc()
			reason, text = "panic", fmt.Sprintf("the probe has failed (panic): %v", r)
			answer = (*watched)(nil).page(reason, time.Since(began))
		}
		if answer != nil && server.Err() == nil {
			p.tell(t, reason, text)
		}
		t.mu.Lock()
		t.answer, t.ended, t.busy = answer, time.Now(), nil
		t.mu.Unlock()
		close(done)
	}()
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return
	}
	p.running.Inc()
	defer p.running.Dec()
	a, err := p.ask(ctx, t)
	result := "ok"
	if err != nil {
		result = "failed"
	}
	p.results.WithLabelValues(result).Inc()
	reason, text = p.wrong(t, a, err)
	answer = t.known.page(reasonOf(err), time.Since(began))
}

// tell says in the log that something begins to be wrong with a target, for another reason than before, or no longer is.
// Only the running probe uses what is noted of it.
func (p *prober) tell(t *probeTarget, reason, text string) {
	before := t.wrong
	if t.wrong = reason; reason == before {
		return
	}
	if reason == "" {
		text = "the probe works again"
	}
	p.log.Println(pattern.Clipped(t.root.Host+": "+text, 600))
}

// wrong is what is wrong with a target, in a word and in words; "" for nothing. That its metrics lack something is no
// failure: budgets on functions are judged without it.
func (p *prober) wrong(t *probeTarget, a *answer, err error) (reason, text string) {
	if err != nil {
		reason = reasonOf(err)
		return reason, fmt.Sprintf("the probe has failed (%s): %s", reason, strings.TrimPrefix(err.Error(), t.root.Host+": "))
	}
	if a.failed != nil {
		return "metrics", fmt.Sprintf("no metrics, so no figures and no work: %v", a.failed)
	}
	for _, text := range p.units {
		u, _ := unit.ParseWork(text)
		if _, counted := a.after.sum(u); !counted {
			return text, fmt.Sprintf("%s has no counter %s: its work counts as none until there is one", a.at.Path, text)
		}
	}
	return "", ""
}

// reasonOf is a word for why a probe has failed, "" if it has not. docs/reference.md has the comments.
func reasonOf(err error) string {
	_, answered := errors.AsType[noProfile](err)
	_, unauthorized := errors.AsType[noCredentials](err)
	network, failed := errors.AsType[net.Error](err)
	switch {
	case err == nil:
		return ""
	case isBusy(err):
		return "busy" // other code profiles the target
	case unauthorized:
		return "authorization" // the file with it cannot be read
	case answered:
		return "answer" // the target answered with another status than 200, or with a page
	case errors.Is(err, context.DeadlineExceeded) || failed && network.Timeout():
		return "late" // the target has not answered in time
	case failed:
		return "unreachable" // there is no connection to the target
	}
	return "profile" // the profile cannot be read, or is of two processes
}

// ask asks a target and judges its answer. Only the running probe uses what is known of a target.
func (p *prober) ask(ctx context.Context, t *probeTarget) (*answer, error) {
	list := p.inputs(t.root.Host)
	s := p.source // which is a copy
	a, err := s.ask(ctx, t.root, list, p.units, judge.Facts{Module: p.judged.Module, Work: map[string]float64{}, Figures: map[string]float64{}})
	if err == nil && a.failed != nil && a.after != nil { // the metrics are of two processes
		err = a.failed
	}
	if t.known == nil || err == nil && t.known.restarted(of(list, kinds.CPU), a) {
		known, err := p.watch()
		if err != nil {
			return a, err
		}
		t.known = known
	}
	if err != nil {
		t.known.windows[outcomeOf(err)]++
		return a, err
	}
	return a, cmp.Or(t.known.add(ctx, list, a), list[0].err)
}

// isBusy reports whether the profiler was in use.
func isBusy(err error) bool {
	answer, _ := errors.AsType[noProfile](err)
	return answer.busy
}
