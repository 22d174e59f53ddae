package probe

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/goleak"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/waiting"
)

// working is a service that computes until the test ends. Without metrics it has only profiles.
func working(t *testing.T, metrics bool) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	spins := prometheus.NewCounter(prometheus.CounterOpts{Name: "spins_total", Help: "Spins."})
	took := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "spin_seconds", Help: "Spins."})
	if metrics {
		registry := prometheus.NewRegistry()
		registry.MustRegister(spins, took, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
		mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	}
	ctx, stop := context.WithCancel(t.Context())
	var spinning sync.WaitGroup
	for range 2 {
		spinning.Go(func() {
			for ctx.Err() == nil {
				spin()
				spins.Inc()
				took.Observe(1)
			}
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		stop()
		spinning.Wait()
		server.Close()
	})
	return server
}

var spun atomic.Int64

//go:noinline
func spin() {
	n := int64(1)
	for range 1_000_000 {
		n = n*31 + 7
	}
	spun.Store(n)
}

// A runningProbe is a handler that is served, and its log.
type runningProbe struct {
	url string
	mu  sync.Mutex
	log strings.Builder
}

// Write implements [io.Writer].
func (p *runningProbe) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(text)
}

// said is what the log has.
func (p *runningProbe) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// startProbe serves until the test ends. What the configuration leaves out is short, or as the command has it.
func startProbe(t *testing.T, cfg Config, sentences ...string) *runningProbe {
	t.Helper()
	p := &runningProbe{}
	cfg.Budgets, cfg.Log, cfg.Seconds, cfg.Every, cfg.Targets = budget.Must(sentences...), p, 1, time.Second, 1000
	cfg.Concurrency = cmp.Or(cfg.Concurrency, 50)
	cfg.Metrics = "/metrics"
	h, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// allow are targets that may be probed.
func allow(t *testing.T, texts ...string) (a Allowed) {
	t.Helper()
	for _, text := range texts {
		if err := a.Add(text); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// get asks the probe.
func (p *runningProbe) get(t *testing.T, path string, header ...string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func host(server *httptest.Server) string { return strings.TrimPrefix(server.URL, "http://") }

// value is that of the series that begins with a text, -99 if there is none.
func value(body, name string) float64 {
	for line := range strings.Lines(body) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			v := 0.0
			fmt.Sscan(rest, &v)
			return v
		}
	}
	return -99
}

// A service that imports nothing of ours is judged as by a guard in it: a broken budget fires, one
// that is kept is ok, its functions and its work are counted. Windows add up.
func TestProbe(t *testing.T) {
	server := working(t, true)
	p := startProbe(t, Config{Allowed: allow(t, "127.0.0.0/8"), Units: []string{"spin_seconds"}, Functions: 100}, "hot: probe.spin below 1%", "rss below 1000GiB", "each: no function above 99%", "work: process below 10s per spins_total", "goroutines below 1")
	var body string
	waiting.Until(t, "the broken budgets to fire", func() bool {
		_, body = p.get(t, "/probe?target="+host(server))
		return value(body, `profguard_budget_state{budget="hot"}`) == 2 && value(body, `profguard_budget_state{budget="goroutines below 1"}`) == 2
	})
	for series, want := range map[string]float64{
		`profguard_budget_state{budget="hot"}`:                             2,
		`profguard_budget_state{budget="goroutines below 1"}`:              2,
		`profguard_budget_state{budget="rss below 1000GiB"}`:               0,
		`profguard_budget_state{budget="work"}`:                            0,
		`profguard_budget_limit{budget="hot",unit="ratio"}`:                0.01,
		`profguard_verdicts_total{budget="hot",verdict="pass"}`:            0,
		`profguard_probe_success`:                                          1,
		`profguard_windows_total{outcome="failed"}`:                        0,
		`profguard_samples_total{additive="function",budget="goroutines"}`: -99,
	} {
		if got := value(body, series); got != want {
			t.Errorf("%s is %v, want %v", series, got, want)
		}
	}
	for _, series := range []string{
		`profguard_hits_total{additive="true",budget="hot"}`, `profguard_samples_total{additive="function",budget="each"}`,
		`profguard_last_window_timestamp_seconds`, `profguard_probe_duration_seconds`,
	} {
		if !(value(body, series) > 0) {
			t.Errorf("%s is %v, want more than 0", series, value(body, series))
		}
	}
	for _, want := range []string{`profguard_build_info{goversion="go1`, `profguard_budget_offender_info{`} {
		if !strings.Contains(body, "\n"+want) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
	// This process is younger than a minute, or else its functions are counted.
	if n := value(body, "profguard_function_samples_total"); n > 0 {
		if !(value(body, `profguard_window_work_total{unit="spin_seconds"}`) > 0) || !strings.Contains(body, `profguard_function_hits_total{function="`) {
			t.Errorf("functions are not counted in\n%s", body)
		}
	}
	if _, own := p.get(t, "/metrics"); !(value(own, `profguard_probes_total{result="ok"}`) >= 3) || value(own, "profguard_probe_targets") != 1 {
		t.Errorf("its own metrics:\n%s", own)
	}
}

// Functions are counted where the age of the process is not known, as without metrics.
func TestProbeCountsFunctions(t *testing.T) {
	server := working(t, false)
	p := startProbe(t, Config{Allowed: allow(t, "127.0.0.1:*"), Functions: 5}, "each: no function above 99%")
	var body string
	waiting.Until(t, "20 samples", func() bool { // on a crowded machine a window of a second has fewer
		_, body = p.get(t, "/probe?target="+host(server))
		return value(body, "profguard_function_samples_total") > 20
	})
	if !strings.Contains(body, `profguard_function_hits_total{function="github.com/profguard/profguard/internal/probe.spin"}`) {
		t.Errorf("functions are not counted in\n%s", body)
	}
	samples := value(body, "profguard_function_samples_total")
	waiting.Until(t, "another window to be added", func() bool {
		_, body = p.get(t, "/probe?target="+host(server))
		return value(body, "profguard_function_samples_total") > samples
	})
}

// A target that is probed is not forgotten for others, however many are named; one that is not makes room.
func TestProbeRemembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &prober{cfg: Config{Targets: 2}, judged: loop.RemoteConfig{Every: time.Minute}, targets: map[string]*target{}}
		of := func(host string) *target { return p.target(&url.URL{Scheme: "http", Host: host}) }
		steady, other := of("a:1"), of("b:1")
		for range 2 * forgotten {
			if time.Sleep(time.Minute); of("a:1") != steady {
				t.Fatal("a target is forgotten that is probed each minute")
			}
			if now := of("b:2"); (now != nil) != (time.Since(other.used) > forgotten*time.Minute) {
				t.Errorf("there is room: %t, after %v without a probe", now != nil, time.Since(other.used))
			}
		}
	})
}

// Who can reach the probe can make it ask only what is allowed.
func TestProbeRefuses(t *testing.T) {
	var asked atomic.Int32
	secret := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer secret.Close()
	redirects := httptest.NewServer(http.RedirectHandler(secret.URL+"/debug/pprof/profile", http.StatusFound))
	defer redirects.Close()
	p := startProbe(t, Config{Allowed: allow(t, host(redirects), "*.shop:6060", "10.0.0.0/8")}, "each: no function above 99%")
	for target, want := range map[string]int{
		host(secret): http.StatusForbidden, "": http.StatusBadRequest, "a.shop:6060@" + host(secret): http.StatusBadRequest,
		"file:///etc/passwd": http.StatusBadRequest, "http://user:word@a.shop:6060": http.StatusBadRequest, "a.shop:6060%2f..%2f": http.StatusBadRequest,
		"11.0.0.1:6060": http.StatusForbidden, "[::ffff:11.0.0.1]:6060": http.StatusForbidden, strings.Repeat("a", 400) + ".shop:6060": http.StatusBadRequest,
		"localhost:6060": http.StatusForbidden,
		host(redirects):  http.StatusOK,
	} {
		if status, body := p.get(t, "/probe?target="+strings.NewReplacer("%", "%25", "#", "%23", "&", "%26").Replace(target)); status != want {
			t.Errorf("%q: %d %s, want %d", target, status, body, want)
		}
	}
	if _, body := p.get(t, "/probe?target="+host(redirects)); value(body, "profguard_probe_success") != 0 {
		t.Errorf("a redirection is an answer:\n%s", body)
	}
	if _, body := p.get(t, "/probe?target=localhost:6060"); !strings.Contains(body, "a network, such as 10.0.0.0/8, is compared with addresses, and names are not looked up: say -allow 'localhost:*'") {
		t.Errorf("a name beside a network: %s", body)
	}
	if _, body := p.get(t, "/probe?target=11.0.0.1:6060"); strings.Contains(body, "network") {
		t.Errorf("an address: %s", body)
	}
	if status, body := p.get(t, "/"); status != http.StatusOK || !strings.Contains(body, "/probe?target=HOST:PORT") {
		t.Errorf("its first page: %d %s", status, body)
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests to what is not allowed", n)
	}
	if status, body := p.get(t, "/probe?target="+host(redirects), "X-Prometheus-Scrape-Timeout-Seconds", "1"); status != http.StatusBadRequest || !strings.Contains(body, "scrape_timeout") {
		t.Errorf("a scrape that is too short: %d %s", status, body)
	}
}

// Hostile profiles: bombs, other bytes, other kinds.
func TestFault_118_HostileTarget(t *testing.T) {
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	for range 100 {
		zip.Write(make([]byte, 1<<20))
	}
	zip.Close()
	contents := [][]byte{bomb.Bytes(), []byte("no profile"), nil, []byte("<html>")}
	var at atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/metrics") {
			io.WriteString(w, strings.Repeat("process_cpu_seconds_total{a=\"b\"} 1e999\n", 250_000))
			return
		}
		w.Write(contents[int(at.Add(1))%len(contents)])
	}))
	defer server.Close()
	p := startProbe(t, Config{Allowed: allow(t, "127.0.0.0/8")}, "each: no function above 99%", "process below 1s per spins_total")
	for range 2 * len(contents) {
		status, body := p.get(t, "/probe?target="+host(server))
		if status != http.StatusOK || value(body, "profguard_probe_success") != 0 || value(body, `profguard_budget_state{budget="each"}`) > -1 {
			t.Errorf("%d %s", status, body)
		}
	}
}

// After the last probe nothing is left of them.
func TestProbeLeavesNothing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
	t.Run("", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0") // nobody answers
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		p := startProbe(t, Config{Allowed: allow(t, "127.0.0.0/8")}, "each: no function above 99%")
		p.get(t, "/probe?target="+l.Addr().String(), "X-Prometheus-Scrape-Timeout-Seconds", "2.1")
	})
}
