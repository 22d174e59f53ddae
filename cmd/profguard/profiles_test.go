package main

import (
	"bytes"
	"fmt"
	"io"
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
	"github.com/profguard/profguard/internal/service"
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
		if busy == 2 && !service.IsBusy(err) || busy == 1 && (err != nil || list[0].Table.Count() != 600 || !(list[0].Facts.Work["jobs_total"] > 0)) {
			t.Errorf("busy %d times: found %v", busy, err)
		}
	}
}
