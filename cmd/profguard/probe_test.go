package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"
	"go.uber.org/goleak"

	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/waiting"
)

// A prober that runs, and what it has said.
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

// said is what it has written.
func (p *runningProbe) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// startProbe runs the command until the test ends.
func startProbe(t *testing.T, args ...string) *runningProbe {
	t.Helper()
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	said, says := io.Pipe()
	ended.Go(func() {
		defer says.Close()
		status := run(ctx, append([]string{"probe", "-listen", "127.0.0.1:0", "-seconds", "1", "-every", "1s"}, args...), nil, says, says)
		if status != exitKept {
			t.Errorf("the probe ends with %d", status)
		}
	})
	t.Cleanup(func() { cancel(); ended.Wait() })
	p := &runningProbe{}
	go io.Copy(p, said)
	waiting.Until(t, "the probe to listen", func() bool {
		m := regexp.MustCompile(`listening on (\S+): `).FindStringSubmatch(p.said())
		if m != nil {
			p.url = "http://" + m[1]
		}
		return m != nil
	})
	return p
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
	p := startProbe(t, "-budget", "hot: profguard.spin below 1%", "-budget", "rss below 1000GiB", "-budget", "each: no function above 99%",
		"-budget", "work: process below 10s per spins_total", "-budget", "goroutines below 1", "-unit", "spin_seconds", "-allow", "127.0.0.0/8")
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
	p := startProbe(t, "-budget", "each: no function above 99%", "-allow", "127.0.0.1:*", "-functions", "5")
	var body string
	waiting.Until(t, "20 samples", func() bool { // on a crowded machine a window of a second has fewer
		_, body = p.get(t, "/probe?target="+host(server))
		return value(body, "profguard_function_samples_total") > 20
	})
	if !strings.Contains(body, `profguard_function_hits_total{function="github.com/profguard/profguard/cmd/profguard.spin"}`) {
		t.Errorf("functions are not counted in\n%s", body)
	}
	samples := value(body, "profguard_function_samples_total")
	waiting.Until(t, "another window to be added", func() bool {
		_, body = p.get(t, "/probe?target="+host(server))
		return value(body, "profguard_function_samples_total") > samples
	})
}

// Another build at the same address begins at 0, also if the target does not say when it has started.
func TestProbeOfAnotherBuild(t *testing.T) {
	server := working(t, false)
	var next atomic.Bool
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/profile") {
			server.Config.Handler.ServeHTTP(w, r)
			return
		}
		taken := httptest.NewRecorder()
		server.Config.Handler.ServeHTTP(taken, r)
		prof, err := profile.Parse(taken.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		for _, m := range prof.Mapping {
			if m.BuildID = "before"; next.Load() {
				m.BuildID = "next"
			}
		}
		_ = prof.Write(w)
	}))
	defer target.Close()
	p := startProbe(t, "-budget", "each: no function above 99%", "-allow", "127.0.0.0/8")
	probed := func() (windows float64, body string) {
		_, body = p.get(t, "/probe?target="+host(target))
		return value(body, `profguard_windows_total{outcome="ok"}`), body
	}
	waiting.Until(t, "windows of a build", func() bool {
		n, body := probed()
		return n >= 2 && strings.Contains(body, `revision="before"`)
	})
	next.Store(true)
	waiting.Until(t, "the next build", func() bool {
		n, body := probed()
		if !strings.Contains(body, `revision="next"`) {
			return false
		}
		if n != 1 {
			t.Errorf("the first window of a build is number %v", n)
		}
		return true
	})
}

// A target that is profiled by others has the build that is known, or none: not one without a revision.
func TestProbeOfABusyTarget(t *testing.T) {
	server := working(t, true)
	busy := atomic.Bool{}
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if busy.Load() && strings.HasSuffix(r.URL.Path, "/profile") {
			http.Error(w, "Could not enable CPU profiling: cpu profiling already in use", http.StatusInternalServerError)
			return
		}
		server.Config.Handler.ServeHTTP(w, r)
	}))
	defer target.Close()
	busy.Store(true)
	p := startProbe(t, "-budget", "each: no function above 99%", "-budget", "goroutines below 10000", "-allow", "127.0.0.0/8")
	_, body := p.get(t, "/probe?target="+host(target))
	if strings.Contains(body, "profguard_build_info{") || value(body, `profguard_probe_failure_info{reason="busy"}`) != 1 {
		t.Errorf("the first probe, of a busy target:\n%s", body)
	}
	if want := host(target) + ": the probe has failed (busy): "; strings.Count(p.said(), want) != 1 {
		t.Errorf("the log has %q, want one %q", p.said(), want)
	}
	busy.Store(false)
	line := regexp.MustCompile(`profguard_build_info\{.*`)
	var known string
	waiting.Until(t, "the build to be known", func() bool {
		_, body = p.get(t, "/probe?target="+host(target))
		known = line.FindString(body)
		return known != ""
	})
	if strings.Contains(known, `revision=""`) || strings.Contains(body, "profguard_probe_failure_info") {
		t.Errorf("a target that answers:\n%s", body)
	}
	waiting.Until(t, "the log to have it", func() bool { return strings.Contains(p.said(), host(target)+": the probe works again\n") })
	busy.Store(true)
	waiting.Until(t, "a busy target", func() bool {
		_, body = p.get(t, "/probe?target="+host(target))
		return value(body, `profguard_windows_total{outcome="busy"}`) == 2
	})
	if now := line.FindString(body); now != known {
		t.Errorf("the build of a busy target is %q, was %q", now, known)
	}
}

// A target that cannot be reached has failed for that reason, which is logged once.
func TestProbeTellsWhy(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	page := httptest.NewServer(http.NotFoundHandler())
	defer page.Close()
	p := startProbe(t, "-budget", "each: no function above 99%", "-budget", "growth: no function grows above 3 points", "-allow", "127.0.0.0/8")
	for target, reason := range map[string]string{host(gone): "unreachable", host(page): "answer"} {
		for range 2 {
			if _, body := p.get(t, "/probe?target="+target); value(body, fmt.Sprintf("profguard_probe_failure_info{reason=%q}", reason)) != 1 {
				t.Errorf("%s: want %s in\n%s", target, reason, body)
			}
			waiting.Until(t, "its answer to be too old", func() bool {
				_, own := p.get(t, "/metrics")
				_, _ = p.get(t, "/probe?target="+target)
				return value(own, `profguard_probes_total{result="failed"}`) >= 2
			})
		}
		if n := strings.Count(p.said(), target+": the probe has failed ("+reason+"): "); n != 1 || strings.Contains(p.said(), "): "+target) {
			t.Errorf("%d lines on %s in %s", n, target, p.said())
		}
	}
	if _, body := p.get(t, "/probe?target="+host(gone)); strings.Contains(body, `budget="growth"`) {
		t.Errorf("series of a budget on growth:\n%s", body)
	}
	if !strings.Contains(p.said(), "left out, without series: the probe has no baseline") {
		t.Errorf("it says %s", p.said())
	}
}

// What the metrics of a target lack is logged once, as its work is not counted then; of others nothing is said.
func TestProbeTellsWhatIsLacking(t *testing.T) {
	whole := working(t, true)
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			http.NotFound(w, r)
			return
		}
		whole.Config.Handler.ServeHTTP(w, r)
	}))
	defer silent.Close()
	for unit, want := range map[string]map[string]string{
		"spins_total":  {host(whole): "", host(silent): ": no metrics, so no figures and no work: http://" + host(silent) + "/metrics answered 404 Not Found\n"},
		"spins2_total": {host(whole): ": /metrics has no counter spins2_total: its work counts as none until there is one\n"},
	} {
		p := startProbe(t, "-budget", "each: no function above 99%", "-unit", unit, "-allow", "127.0.0.0/8")
		for target, line := range want {
			waiting.Until(t, "two probes", func() bool {
				_, body := p.get(t, "/probe?target="+target)
				return value(body, `profguard_windows_total{outcome="ok"}`) >= 2
			})
			if n, lines := strings.Count(p.said(), target+line), strings.Count(p.said(), target); line != "" && n != 1 || line == "" && lines > 0 {
				t.Errorf("-unit %s: of %s it says %s", unit, target, p.said())
			}
		}
	}
}

// A target that is probed is not forgotten for others, however many are named; one that is not makes room.
func TestProbeRemembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &prober{judged: loop.RemoteConfig{Every: time.Minute}, most: 2, targets: map[string]*probeTarget{}}
		of := func(host string) *probeTarget { return p.target(&url.URL{Scheme: "http", Host: host}) }
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
	p := startProbe(t, "-budget", "each: no function above 99%", "-allow", host(redirects), "-allow", "*.shop:6060", "-allow", "10.0.0.0/8")
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

// A pattern that hosts of strangers match is told from others: they get no token.
func TestAnyHost(t *testing.T) {
	for text, want := range map[string]bool{
		"*": true, "*:6060": true, "*6060": true, "10.1.*:6060": true, "shop-?:6060": true, "*shop.com:6060": true, "shop*": true, "0.0.0.0/0": true, "::/0": true,
		"*.shop:6060": false, "shop-*.svc.local:*": false, "cart:6060": false, "10.1.2.3:*": false, "10.1.0.0/16": false,
	} {
		var a allowed
		if err := a.add(text); err != nil || (a.anyHost() == text) != want {
			t.Errorf("%s: %q, %v", text, a.anyHost(), err)
		}
	}
}

// Targets that hang hold up nobody else, and answer with what was known: they have failed.
func TestFault_111_TargetHangs(t *testing.T) {
	hanging := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hanging:
		case <-r.Context().Done():
		}
	}))
	defer hangs.Close()
	defer close(hanging)
	server := working(t, false)
	p := startProbe(t, "-budget", "each: no function above 99%", "-allow", "127.0.0.0/8", "-concurrency", "2")
	var asking sync.WaitGroup
	asking.Go(func() {
		p.get(t, "/probe?target="+host(hangs), "X-Prometheus-Scrape-Timeout-Seconds", "2.5")
	})
	if _, body := p.get(t, "/probe?target="+host(server)); value(body, "profguard_probe_success") != 1 {
		t.Errorf("beside a target that hangs:\n%s", body)
	}
	asking.Wait()
	if _, own := p.get(t, "/metrics"); value(own, `profguard_probes_total{result="late"}`)+value(own, `profguard_probes_total{result="failed"}`) < 1 {
		t.Errorf("no probe has failed:\n%s", own)
	}
}

// Two servers of Prometheus that ask at the same time take one profile.
func TestProbeIsShared(t *testing.T) {
	server := working(t, false)
	p := startProbe(t, "-budget", "each: no function above 99%", "-allow", "127.0.0.0/8")
	var asking sync.WaitGroup
	for range 5 {
		asking.Go(func() {
			if _, body := p.get(t, "/probe?target="+host(server)); value(body, "profguard_probe_success") != 1 {
				t.Errorf("%s", body)
			}
		})
	}
	asking.Wait()
	if _, own := p.get(t, "/metrics"); value(own, `profguard_probes_total{result="ok"}`) != 1 {
		t.Errorf("%s", own)
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
			io.Copy(w, io.LimitReader(&manyLines{line: "process_cpu_seconds_total{a=\"b\"} 1e999\n"}, 10<<20))
			return
		}
		w.Write(contents[int(at.Add(1))%len(contents)])
	}))
	defer server.Close()
	p := startProbe(t, "-budget", "each: no function above 99%", "-budget", "process below 1s per spins_total", "-allow", "127.0.0.0/8")
	for range 2 * len(contents) {
		status, body := p.get(t, "/probe?target="+host(server))
		if status != http.StatusOK || value(body, "profguard_probe_success") != 0 || value(body, `profguard_budget_state{budget="each"}`) > -1 {
			t.Errorf("%d %s", status, body)
		}
	}
}

// What is wrong with flags is said before anything is served.
func TestProbeFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-allow 10.0.0.0/8":                                                         "no budgets",
		"-budget each_of":                                                           "budget",
		"-budget goroutines&below&5":                                                "expected -allow",
		"-budget no&function&grows&above&3&points -allow *":                         "expected budgets that a probe can judge",
		"-budget goroutines&below&5 -allow http://x/":                               "expected a pattern of HOST:PORT",
		"-budget goroutines&below&5 -allow * -seconds 20 -every 10s":                "-every: expected the scrape_interval",
		"-budget goroutines&below&5 -allow * -unit a{":                              "expected the name of a counter",
		"-budget goroutines&below&5 -allow * -functions 5000":                       "-functions: expected 0 to 1000",
		"-budget goroutines&below&5 -allow 10.1.*:1 -authorization x":               "-allow '10.1.*:1' and -authorization: expected patterns that end in a dot and a name",
		"-budget goroutines&below&5 -allow 0.0.0.0/0 -authorization x":              "-allow '0.0.0.0/0' and -authorization",
		"-budget goroutines&below&5 -allow *.shop:1 -allow a:1 -authorization none": "-authorization: expected a file with a token or user:password: no such file",
		"-budget goroutines&below&5 -allow * -metrics http://other/metrics":         "-metrics: expected a path",
		"-budget goroutines&below&5 -allow * target:1":                              "expected no arguments",
		"-budget goroutines&below&5 -allow * -listen 1.2.3.4.5":                     "-listen: ",
	} {
		list := strings.Fields("probe " + args)
		for i := range list {
			list[i] = strings.ReplaceAll(list[i], "&", " ")
		}
		var out bytes.Buffer
		if status := run(t.Context(), list, nil, &out, &out); status != exitMisuse || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %d %s, want %s", args, status, out.String(), want)
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
		p := startProbe(t, "-budget", "each: no function above 99%", "-allow", "127.0.0.0/8")
		p.get(t, "/probe?target="+l.Addr().String(), "X-Prometheus-Scrape-Timeout-Seconds", "2.1")
	})
}
