package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/unit"
)

// probe serves what a guard in each of many targets would export, as an exporter of Prometheus.
func probe(ctx context.Context, args []string, std streams) (int, error) {
	p := &prober{source: source{streams: std, stays: true}, judging: &judging{every: guardPeriod}, said: lines{to: std.err}}
	var files, sentences []string
	f := newFlags("probe")
	f.Func("b", "read budgets from a `file`, one a line; may be given several times", appending(&files))
	f.Func("budget", "a budget, as a `sentence`; may be given several times", appending(&sentences))
	listen := f.String("listen", ":9201", "the `address` to serve /probe and /metrics at")
	f.Func("allow", "a target that may be probed: a `pattern` such as *.shop:6060, or a network such as 10.1.0.0/16; may be given several times", p.allowed.add)
	p.source.credentials.flag(f)
	f.IntVar(&p.source.seconds, "seconds", 10, "how many `seconds` a profile takes; scrape_timeout must be longer by a few")
	f.DurationVar(&p.judging.every, "every", guardPeriod, "the `period`, which is the scrape_interval; a target that is asked again within half of it has the same answer")
	f.IntVar(&p.judging.functions, "functions", 100, "how many functions of each target are exported at most, for the rules of fleets; 0 for none")
	f.Func("unit", "a counter of the targets' `metrics` that counts work, such as http_requests_total; may be given several times. Those of budgets are counted anyway", p.unit)
	f.StringVar(&p.judging.module, "module", "", "the `path` of your module, for whom to blame and what is a server's own work")
	f.StringVar(&p.source.metrics, "metrics", "/metrics", "the `path` of the targets' own metrics")
	concurrency := f.Int("concurrency", 50, "how many targets are probed at the same time, at most")
	f.IntVar(&p.most, "targets", 1000, "how many targets are remembered, at most; those that are not asked for make room for others")
	args, err := parseFlags(f, args, std.out)
	if err != nil {
		return exitMisuse, err
	}
	if len(args) > 0 {
		return exitMisuse, fmt.Errorf("expected no arguments, found %q: targets are named by Prometheus, as /probe?target=HOST:PORT", args[0])
	}
	set, err := readBudgets(files, sentences)
	if err != nil {
		return exitMisuse, err
	}
	if err := p.prepare(set, *concurrency); err != nil {
		return exitMisuse, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *listen)
	if err != nil {
		return exitMisuse, fmt.Errorf("-listen: %w", err)
	}
	fmt.Fprintf(std.err, "listening on %s: /probe?target=HOST:PORT, /metrics\n", listener.Addr())
	return p.serve(ctx, listener)
}

// A prober answers probes.
type prober struct {
	source  source
	judging *judging
	allowed allowed
	most    int
	slots   chan struct{}
	results *prometheus.CounterVec
	running prometheus.Gauge
	said    lines

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
	answer page // of the last probe
	failed string
	lacks  string
	known  *watched
}

func (p *prober) unit(text string) error {
	if _, ok := unit.ParseWork(text); !ok {
		return fmt.Errorf("expected the name of a counter, found %q", text)
	}
	p.judging.units = append(p.judging.units, text)
	return nil
}

// prepare checks the flags and compiles the budgets.
func (p *prober) prepare(set budget.Set, concurrency int) error {
	j := p.judging
	set, err := p.withoutGrowth(set)
	if err != nil {
		return err
	}
	rules, err := set.Rules()
	switch {
	case err != nil:
		return err
	case len(set) > maxProbed:
		return fmt.Errorf("expected at most %d budgets, found %d: each has a dozen series for each target", maxProbed, len(set))
	case len(p.allowed.hosts)+len(p.allowed.nets) == 0:
		return errors.New("expected -allow with the targets that may be probed, such as -allow '*.shop:6060' or -allow 10.1.0.0/16: who can reach the probe makes it send requests")
	case p.source.credentials.file != "" && p.allowed.anyHost() != "":
		return fmt.Errorf("-allow '%s' and -authorization: expected patterns that end in a dot and a name, such as *.shop:6060, and networks, such as 10.1.0.0/16: who can reach the probe could have the token sent to a host of their own", p.allowed.anyHost())
	case strings.Contains(p.source.metrics, "//"):
		return fmt.Errorf("-metrics: expected a path such as /metrics, found %q: -allow says which hosts are asked", p.source.metrics)
	case j.functions < 0 || j.functions > 1000:
		return fmt.Errorf("-functions: expected 0 to 1000, found %d", j.functions)
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
	if j.window = time.Duration(p.source.seconds) * time.Second; j.every < j.window {
		return fmt.Errorf("-every: expected the scrape_interval, at least -seconds (%v), found %v", j.window, j.every)
	}
	j.set, j.rules, j.byKind = set, rules, map[string][]judge.Rule{}
	for i := range rules {
		kind := kindOfRule(&rules[i])
		j.byKind[kind] = append(j.byKind[kind], rules[i])
	}
	for _, text := range unitsOf(rules) {
		if err := p.unit(text); err != nil {
			return err
		}
	}
	p.source.streams.err = io.Discard // requests are silent
	p.slots, p.targets = make(chan struct{}, concurrency), map[string]*probeTarget{}
	p.results = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "profguard_probes_total", Help: "Probes by result."}, []string{"result"})
	for _, result := range []string{"ok", "failed", "refused", "crowded", "late", "panic"} {
		p.results.WithLabelValues(result)
	}
	p.running = prometheus.NewGauge(prometheus.GaugeOpts{Name: "profguard_probes_running", Help: "Probes that are under way."})
	return nil
}

// withoutGrowth are the budgets that a probe can judge. A file of budgets may be that of a guard, which
// has baselines.
func (p *prober) withoutGrowth(set budget.Set) (kept budget.Set, err error) {
	rules, err := set.Rules()
	if err != nil {
		return nil, err
	}
	for i := range rules {
		if rules[i].Test == judge.Grows {
			fmt.Fprintf(p.source.err, "%s: left out, without series: the probe has no baseline; ProfguardReleaseCostsMore in docs/alerts.yml compares releases\n", set[i])
			continue
		}
		kept = append(kept, set[i])
	}
	if len(kept) == 0 {
		return nil, errors.New("expected budgets that a probe can judge, found only such that grow: drop them, and say for instance -budget 'no function above 30%'")
	}
	return kept, nil
}

// maxProbed is the most budgets, for as many series as a guard has.
const maxProbed = 100

const welcome = `profguard probe, an exporter for Prometheus

/probe?target=HOST:PORT   the series of a target, which is profiled for it
/metrics                  those of the probe itself
/-/healthy                200 while it serves

docs/fleet.md has the configuration of Prometheus.
`

// serve answers until the context ends.
func (p *prober) serve(ctx context.Context, l net.Listener) (int, error) {
	own := prometheus.NewRegistry()
	own.MustRegister(p.results, p.running, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "profguard_probe_targets", Help: "Targets that are remembered."}, func() float64 {
			p.mu.Lock()
			defer p.mu.Unlock()
			return float64(len(p.targets))
		}))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /probe", func(w http.ResponseWriter, r *http.Request) { p.probe(ctx, w, r) })
	mux.Handle("GET /metrics", promhttp.HandlerFor(own, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, welcome) })
	mux.HandleFunc("GET /-/healthy", func(http.ResponseWriter, *http.Request) {})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	context.AfterFunc(ctx, func() {
		ending, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(ending) != nil {
			server.Close()
		}
	})
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return exitMisuse, err
	}
	return exitKept, nil
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
	most := p.judging.window + patience
	text := r.Header.Get("X-Prometheus-Scrape-Timeout-Seconds")
	if text == "" {
		return most, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	left := time.Duration(seconds*float64(time.Second)) - 500*time.Millisecond
	if err != nil || !(seconds > 0) || left < p.judging.window+500*time.Millisecond {
		return 0, fmt.Errorf("expected a scrape_timeout of some seconds more than the %v that a profile takes, found %ss: make it longer, or -seconds shorter", p.judging.window, text)
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
			maps.DeleteFunc(p.targets, func(_ string, t *probeTarget) bool { return time.Since(t.used) > forgotten*p.judging.every })
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
	if t.answer != nil && time.Since(t.ended) < p.judging.every/2 {
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
	var err error
	defer func() {
		if r := recover(); r != nil { // of a profile that a decoder or a judge cannot bear
			p.results.WithLabelValues("panic").Inc()
			err = panicked(fmt.Sprint(r))
			answer = page{}.probed(reasonOf(err), time.Since(began))
		}
		if answer != nil && server.Err() == nil {
			p.tell(t, err)
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
	err = p.ask(ctx, t)
	result := "ok"
	if err != nil {
		result = "failed"
	}
	p.results.WithLabelValues(result).Inc()
	answer = t.known.page().probed(reasonOf(err), time.Since(began))
}

// tell says in the log that a target has begun to fail, for another reason than before, or works again. Only
// the running probe uses what is noted of it.
func (p *prober) tell(t *probeTarget, err error) {
	before, now := t.failed, reasonOf(err)
	if t.failed = now; now == before {
		return
	}
	if err != nil {
		p.said.write(fmt.Sprintf("%s: the probe has failed (%s): %s", t.root.Host, now, strings.TrimPrefix(err.Error(), t.root.Host+": ")))
	} else {
		p.said.write(t.root.Host + ": the probe works again")
	}
}

// tellLack says in the log that the metrics of a target, which is profiled, begin to lack what the probe
// reads of them. That is no failure: budgets on functions are judged without it.
func (p *prober) tellLack(t *probeTarget, a *answer) {
	before := t.lacks
	if t.lacks = a.lack(p.judging.units); t.lacks == before {
		return
	}
	switch t.lacks {
	case "":
	case a.at.Path:
		p.said.write(fmt.Sprintf("%s: no metrics, so no figures and no work: %v", t.root.Host, a.failed))
	default:
		p.said.write(fmt.Sprintf("%s: %s has no counter %s: its work counts as none until there is one", t.root.Host, a.at.Path, t.lacks))
	}
}

// reasonOf is a word for why a probe has failed, "" if it has not.
func reasonOf(err error) string {
	_, answered := errors.AsType[noProfile](err)
	_, unauthorized := errors.AsType[noCredentials](err)
	_, panicking := errors.AsType[panicked](err)
	network, failed := errors.AsType[net.Error](err)
	switch {
	case err == nil:
		return ""
	case isBusy(err):
		return "busy"
	case unauthorized:
		return "authorization"
	case answered:
		return "answer"
	case errors.Is(err, context.DeadlineExceeded) || failed && network.Timeout():
		return "late"
	case failed:
		return "unreachable"
	case panicking:
		return "panic"
	}
	return "profile"
}

// panicked is what a probe has panicked with.
type panicked string

func (e panicked) Error() string { return "panic: " + string(e) }

// lines is a log with at most so many lines in a minute.
type lines struct {
	mu    sync.Mutex
	to    io.Writer
	since time.Time
	n     int
}

const linesPerMinute = 60

func (l *lines) write(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.since) >= time.Minute {
		if left := l.n - linesPerMinute; left > 0 {
			fmt.Fprintf(l.to, "%d lines of targets that fail or work again were left out\n", left)
		}
		l.since, l.n = now, 0
	}
	if l.n++; l.n <= linesPerMinute {
		fmt.Fprintln(l.to, pattern.Clipped(text, 600))
	}
}

// ask asks a target and judges its answer. Only the running probe uses what is known of a target.
func (p *prober) ask(ctx context.Context, t *probeTarget) error {
	if t.known == nil {
		t.known = p.judging.watch()
	}
	list := p.judging.inputs(t.root.Host)
	s := p.source // which is a copy
	a, err := s.ask(ctx, t.root, list, p.judging.units, judge.Facts{Module: p.judging.module, Work: map[string]float64{}, Figures: map[string]float64{}})
	if err == nil && a.failed != nil && a.after != nil { // the metrics are of two processes
		err = a.failed
	}
	if err != nil {
		t.known.windows[outcomeOf(err)]++
		return err
	}
	if t.known.restarted(of(list, kinds.CPU), a) {
		t.known = p.judging.watch()
	}
	p.tellLack(t, a)
	return cmp.Or(t.known.add(ctx, list, a), list[0].err)
}

// isBusy reports whether the profiler was in use.
func isBusy(err error) bool {
	answer, _ := errors.AsType[noProfile](err)
	return answer.busy
}
