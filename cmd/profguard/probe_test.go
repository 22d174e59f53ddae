package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// The command serves what its flags ask for, until it is told to end.
func TestProbe(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "token", "letmein")
	var mu sync.Mutex
	asked := map[string]bool{}
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.Header.Get("Authorization")+" "+r.URL.String()] = true
		mu.Unlock()
		http.NotFound(w, r)
	}))
	defer target.Close()
	ctx, end := context.WithCancel(t.Context())
	said, says := io.Pipe()
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, []string{"probe", "-listen", "127.0.0.1:0", "-budget", "goroutines below 10", "-allow", "127.0.0.0/8", "-authorization", "token",
			"-seconds", "7", "-metrics", "/m", "-functions", "5", "-unit", "jobs_total"}, nil, says, says)
		says.Close()
	}()
	var address string
	if _, err := fmt.Fscanf(said, "listening on %s /probe?target=HOST:PORT, /metrics\n", &address); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, said)
	resp, err := http.Get("http://" + strings.TrimSuffix(address, ":") + "/probe?target=" + strings.TrimPrefix(target.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(body), "\nprofguard_probe_success 0\n") || !strings.Contains(string(body), `{reason="answer"}`) {
		t.Errorf("it answers %s, %v", body, err)
	}
	end()
	if got := <-status; got != exitKept {
		t.Errorf("it ends with %d", got)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"/m", "/debug/pprof/goroutine", "/debug/pprof/profile?seconds=7"} {
		if !asked["Bearer letmein "+want] || len(asked) != 3 {
			t.Errorf("expected a request for %s, found %v", want, asked)
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
