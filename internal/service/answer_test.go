package service

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
)

// ask asks a server for what a budget needs.
func ask(t *testing.T, server *httptest.Server, sentence string) (*Answer, error) {
	t.Helper()
	rules, err := bridge.Rules(budget.Must(sentence))
	if err != nil {
		t.Fatal(err)
	}
	root, err := url.Parse(server.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	q := QuestionOf(rules)
	q.Seconds, q.Facts = 10, judge.Facts{Work: map[string]float64{}, Figures: map[string]float64{}}
	return new(Client).Ask(t.Context(), root, &q)
}

// Only what the budgets need is asked for: a profile of goroutines takes no ten seconds.
func TestAskForWhatIsNeeded(t *testing.T) {
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
		if _, err := ask(t, server, sentence); err == nil {
			t.Errorf("%s: no error, although there is no profile", sentence)
		}
		for _, path := range strings.Fields(want + " /metrics") {
			if n := strings.Count(fmt.Sprint(asked, " "), path); n != 1 {
				t.Errorf("%s: %d requests for %s: %v", sentence, n, path, asked)
			}
		}
		if len(asked) > len(strings.Fields(want))+1 {
			t.Errorf("%s: asked for %v, want %s", sentence, asked, want)
		}
	}
}

// Behind a load balancer the metrics before and after may be of two processes. The difference of
// their counts is not what was done.
func TestFault_93_MetricsOfTwoProcesses(t *testing.T) {
	var profile bytes.Buffer
	if err := folded.Must("cpu 10s\nmain.main;main.serve 600\n").Write(&profile); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, started, failed string }{
		{"two", "process_start_time_seconds 2\n", "they are of two processes"},
		{"one", "process_start_time_seconds 1\n", ""},
		{"not told", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answers := []string{"jobs_total 1\nprocess_start_time_seconds 1\n", "jobs_total 1000000\n" + tt.started}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/metrics" {
					_, _ = w.Write(profile.Bytes())
					return
				}
				fmt.Fprint(w, answers[0])
				answers = answers[1:]
			}))
			defer server.Close()
			a, err := ask(t, server, "process below 10s per jobs_total")
			if err != nil {
				t.Fatal(err)
			}
			_, known := a.Profiles[0].Facts.Work["jobs_total"]
			if one := tt.failed == ""; (a.Failed == nil) != one || !one && !strings.HasPrefix(a.Failed.Error(), tt.failed) || known != one || a.Counts("jobs_total") != one {
				t.Errorf("the work is known: %t, and failed: %v", known, a.Failed)
			}
		})
	}
}
