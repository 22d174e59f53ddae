package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
)

// working is a service that works until the test ends: it computes, allocates, and holds locks and
// channels that others wait for. Without metrics it has only profiles.
func working(t *testing.T, metrics bool) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	spins := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "spins_total", Help: "Spins."}, []string{"code"})
	took := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "spin_seconds", Help: "Spins."})
	if metrics {
		registry := prometheus.NewRegistry()
		registry.MustRegister(spins, took, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
		mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	}
	old := runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	var mu sync.Mutex
	var spinning sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		spinning.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				mu.Lock()
				spin()
				mu.Unlock()
				spins.WithLabelValues("200").Inc()
				took.Observe(1)
			}
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		close(stop)
		spinning.Wait()
		server.Close()
		runtime.SetMutexProfileFraction(old)
		runtime.SetBlockProfileRate(0)
	})
	return server
}

var kept [][]byte

//go:noinline
func spin() {
	kept = nil
	for range 100 {
		kept = append(kept, make([]byte, 10_000))
	}
}

// The budgets of a service: each kind of profile, each figure and unit of work.
const ofService = `process below 1000 cores
profguard.spin below 1000 cores
process below 10s per spins_total
process below 10s per spins_total{code="200"}
process below 10s per spin_seconds
process below 100GiB per spins_total of allocs
no function above 1000GiB of heap
no function above 100000 of goroutine
no function above 100000 cores of mutex
no function above 100000 cores of block
no function above 100000 of goroutine when process above 0.001 cores
goroutines below 100000
heap below 1000GiB
rss below 1000GiB
no function above 1B of allocs
process below 1ns per spins_total
goroutines below 1
`

// A check of a service asks for all that its budgets need.
func TestCheckService(t *testing.T) {
	for _, tt := range []struct {
		name    string
		metrics bool
		args    []string
		said    []string
		status  int
	}{
		{"all", true, []string{"-b", "service.txt"}, []string{"14 kept, 3 broken, 0 undecided", " samples of cpu in ", "a profile of allocs in ", "a profile of mutex in ", "a profile of block in ", "of heap", "of goroutine"}, exitBroken},
		{"without metrics", false, []string{"-b", "service.txt"}, []string{"no metrics: ", "/metrics answered 404 Not Found; -metrics says where they are", "9 kept, 2 broken, 6 undecided", "expected -figure rss=VALUE", "expected -work spins_total=COUNT"}, exitBroken},
		{"what is given counts", true, []string{"-budget", "rss below 1GiB", "-figure", "rss=1e15"}, []string{"1 broken"}, exitBroken},
		{"no such unit", true, []string{"-budget", "process below 1s per requests_total"}, []string{"no counter requests_total in ", "expected -work requests_total=COUNT"}, exitUndecided},
		{"no such label", true, []string{"-budget", `process below 1s per spins_total{code="500"}`}, []string{"was counted"}, exitUndecided},
		{"no such profile", true, []string{"-budget", "goroutines below 100000", "-budget", "no goroutine leaked"}, []string{" 0 broken, "}, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			put(t, "service.txt", ofService)
			server := working(t, tt.metrics)
			var out bytes.Buffer
			status := run(t.Context(), append(append([]string{"check"}, tt.args...), "-seconds", "1", server.URL+"/debug/pprof/"), nil, &out, &out)
			for _, want := range tt.said {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it does not say %q", want)
				}
			}
			if status != tt.status && tt.status >= 0 {
				t.Errorf("status %d, expected %d", status, tt.status)
			}
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}

// A service that is being profiled is asked once more, also for what it has counted.
func TestCheckAsksAgain(t *testing.T) {
	var profile bytes.Buffer
	if err := folded.Must("cpu 10s\nmain.main;main.serve 600\n").Write(&profile); err != nil {
		t.Fatal(err)
	}
	for busy, want := range map[int64]int64{1: 3, 2: 2} { // times that its metrics are read
		var asked, read atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/metrics":
				fmt.Fprintf(w, "# TYPE jobs_total counter\njobs_total %d\n", read.Add(1))
			case asked.Add(1) <= busy:
				http.Error(w, "Could not enable CPU profiling: cpu profiling already in use", http.StatusInternalServerError)
			default:
				_, _ = w.Write(profile.Bytes())
			}
		}))
		defer server.Close()
		s := source{streams: streams{err: io.Discard}, seconds: 1, pause: time.Millisecond}
		facts := judge.Facts{Work: map[string]float64{}, Figures: map[string]float64{}}
		list, err := s.inputs(t.Context(), []string{server.URL}, budget.Must("process below 1s per jobs_total"), facts)
		if asked.Load() != 2 || read.Load() != want {
			t.Errorf("asked %d times for the profile and %d times for metrics", asked.Load(), read.Load())
		}
		if busy == 2 && !isBusy(err) || busy == 1 && (err != nil || list[0].table.Count() != 600 || !(list[0].facts.Work["jobs_total"] > 0)) {
			t.Errorf("busy %d times: found %v", busy, err)
		}
	}
}

// Only what the budgets need is asked for: a profile of goroutines takes no ten seconds.
func TestCheckAsksForWhatIsNeeded(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.String())
		mu.Unlock()
		http.NotFound(w, r)
	}))
	defer server.Close()
	for sentence, want := range map[string]string{
		"goroutines below 10":                        "/debug/pprof/goroutine",
		"no function above 1MiB of heap":             "/debug/pprof/heap",
		"no function above 1MiB of allocs":           "/debug/pprof/allocs?seconds=10",
		"no function above 1 core of mutex":          "/debug/pprof/mutex?seconds=10",
		"no function above 20%":                      "/debug/pprof/profile?seconds=10",
		"rss below 10MiB":                            "/debug/pprof/profile?seconds=10",
		"no goroutine leaked":                        "/debug/pprof/goroutineleak",
		"rss below 1GiB when goroutines above 1":     "/debug/pprof/goroutine",
		"heap below 1MiB when process above 1 cores": "/debug/pprof/profile?seconds=10 /debug/pprof/heap",
	} {
		asked = nil
		var out bytes.Buffer
		run(t.Context(), []string{"check", "-budget", sentence, server.URL}, nil, &out, &out)
		for _, path := range strings.Fields(want + " /metrics") {
			if n := strings.Count(fmt.Sprint(asked, " "), path); n != 1 && !(n == 2 && path == "/metrics") {
				t.Errorf("%s: %d requests for %s: %v", sentence, n, path, asked)
			}
		}
		if len(asked) > len(strings.Fields(want))+2 {
			t.Errorf("%s: asked for %v, want %s", sentence, asked, want)
		}
	}
}

func TestMetrics(t *testing.T) {
	parse := func(text string) *metrics {
		m, err := parseMetrics(strings.NewReader(text), namesOf([]string{"a", "s", "s_count", "g", "back", "none", "x"}))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	before := parse("# HELP a Help.\n# TYPE a counter\na{code=\"200\"} 5\n\n# TYPE s summary\ns{quantile=\"0.5\"} 9\ns_count 3\n# TYPE g gauge\ng 7 1600000000000\nback 5\n}\n{\nx NaN\n")
	after := parse("# TYPE a counter\na{code=\"200\",path=\"/}\\\" x\"} 8\na{code=\"500\"} 2.5e1\n# TYPE s summary\ns{quantile=\"0.5\"} 1\ns_count 5\n# TYPE g gauge\ng 8\nback 4\nx NaN\n")
	a := &answer{before: before, after: after}
	for text, want := range map[string]float64{"a": 28, `a{code="200"}`: 3, `a{code="500"}`: 25, `a{path="/}\" x"}`: 8, "s": 2, "s_count": 2, "g": -1, "back": -1, "none": -1, "x": -1} {
		if n, ok := a.grown(text); ok != (want >= 0) || ok && n != want {
			t.Errorf("%s has grown by %v (%t), want %v", text, n, ok, want)
		}
	}
	for text, want := range map[string]map[string]float64{"a by code": {"200": 3}, `a{code="500"} by code`: {}, "a by path": {}, "s by code": {}, "a": nil, "none by code": nil} {
		if got := a.grownBy(text); !maps.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%s has grown by %v, want %v", text, got, want)
		}
	}
	if v, ok := before.value("g"); v != 7 || !ok {
		t.Errorf("g is %v (%t)", v, ok)
	}
}

// Behind a load balancer the metrics before and after may be of two processes. The difference of
// their counts is not what was done.
func TestFault_93_MetricsOfTwoProcesses(t *testing.T) {
	for _, tt := range []struct{ name, started, want string }{
		{"two", "process_start_time_seconds 2\n", "no metrics: they are of two processes"},
		{"one", "process_start_time_seconds 1\n", "1 kept, 0 broken"},
		{"not told", "", "1 kept, 0 broken"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			service := working(t, false)
			answers := []string{"spins_total 1\nprocess_start_time_seconds 1\n", "spins_total 1000000\n" + tt.started}
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/metrics" {
					service.Config.Handler.ServeHTTP(w, r)
					return
				}
				fmt.Fprint(w, answers[min(asked, 1)])
				asked++
			}))
			defer server.Close()
			var out bytes.Buffer
			status := run(t.Context(), []string{"check", "-budget", "process below 10s per spins_total", "-seconds", "1", server.URL}, nil, &out, &out)
			if two := tt.name == "two"; !strings.Contains(out.String(), tt.want) || (status == exitUndecided) != two {
				t.Errorf("status %d, want %q:\n%s", status, tt.want, &out)
			}
		})
	}
}

// manyLines repeats a line without end.
type manyLines struct {
	line string
	at   int
}

func (m *manyLines) Read(p []byte) (n int, err error) {
	for n < len(p) {
		k := copy(p[n:], m.line[m.at:])
		n, m.at = n+k, (m.at+k)%len(m.line)
	}
	return n, nil
}

// Hostile metrics take little memory: series that nobody asks for are not kept, and of others only
// some.
func TestFault_117_HostileMetrics(t *testing.T) {
	for name, line := range map[string]string{
		"other series":  "other{a=\"" + strings.Repeat("x", 1000) + "\"} 1\n",
		"many series":   "spins_total{a=\"" + strings.Repeat("x", 1000) + "\"} 1\n",
		"types":         "# TYPE " + strings.Repeat("x", 1000) + " counter\n",
		"one long line": "spins_total{a=\"",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := parseMetrics(&manyLines{line: line}, namesOf([]string{"spins_total"}))
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 32 {
			t.Errorf("%s: %d MiB allocated, want at most 32: %v", name, used, err)
		}
	}
	twin, err := parseMetrics(strings.NewReader(strings.Repeat("other 1\n", 100)+"spins_total{code=\"200\"} 7\n"), namesOf([]string{"spins_total"}))
	if err != nil || len(twin.series) != 1 {
		t.Errorf("%v, %v", twin, err)
	}
}
