package probe

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/waiting"
)

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
	p := startProbe(t, Config{Allowed: allow(t, "127.0.0.0/8")}, "each: no function above 99%")
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
	p := startProbe(t, Config{Allowed: allow(t, "127.0.0.0/8")}, "each: no function above 99%", "goroutines below 10000")
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
	p := startProbe(t, Config{Allowed: allow(t, "127.0.0.0/8")}, "each: no function above 99%", "growth: no function grows above 3 points")
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
		p := startProbe(t, Config{Allowed: allow(t, "127.0.0.0/8"), Units: []string{unit}}, "each: no function above 99%")
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
	p := startProbe(t, Config{Allowed: allow(t, "127.0.0.0/8"), Concurrency: 2}, "each: no function above 99%")
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
	p := startProbe(t, Config{Allowed: allow(t, "127.0.0.0/8")}, "each: no function above 99%")
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

// The probe reads the file for each probe, as tokens are renewed, and does not show it.
func TestProbeWithCredentials(t *testing.T) {
	var want atomic.Value
	want.Store("Bearer first")
	inner := working(t, true).Config.Handler
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // it repeats what it refuses
		if got := r.Header.Get("Authorization"); got != want.Load() {
			http.Error(w, "refused: "+got, http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	defer target.Close()
	file := filepath.Join(t.TempDir(), "secret")
	put := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("first")
	p := startProbe(t, Config{Allowed: allow(t, "127.0.0.0/8"), Authorization: file}, "goroutines below 100000")
	until := func(series string) {
		t.Helper()
		waiting.Until(t, series, func() bool {
			_, body := p.get(t, "/probe?target="+host(target))
			return value(body, series) == 1
		})
	}
	until("profguard_probe_success")
	want.Store("Bearer second")
	until(`profguard_probe_failure_info{reason="answer"}`)
	put("second")
	until("profguard_probe_success")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	until(`profguard_probe_failure_info{reason="authorization"}`)
	waiting.Until(t, "the log to have both", func() bool { return strings.Count(p.said(), "the probe has failed") == 2 })
	if text := p.said(); strings.Contains(text, "first") || !strings.Contains(text, `"refused: Bearer xxxxx"`) {
		t.Errorf("it says %s", text)
	}
}
