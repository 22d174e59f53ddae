package receivers

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/DataDog/dd-trace-go/v2/profiler"
	agent "github.com/grafana/pyroscope-go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/export/datadog"
	"github.com/profguard/profguard/export/pyroscope"
	"github.com/profguard/profguard/guard"
	"github.com/profguard/profguard/internal/waiting"
)

// A wire is what an agent gives to its client, and what arrives.
type wire struct {
	client *http.Client
	mu     sync.Mutex
	sent   []string
	got    []string
}

// RoundTrip notes what the agent sends, before it reaches the client under test.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.sent = append(w.sent, describe(r, body))
	w.mu.Unlock()
	r = r.Clone(r.Context())
	r.Body, r.GetBody = io.NopCloser(bytes.NewReader(body)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return w.client.Transport.RoundTrip(r)
}

// ServeHTTP is the receiver.
func (w *wire) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got = append(w.got, describe(r, body))
}

// describe has all of a request that is the agent's.
func describe(r *http.Request, body []byte) string {
	return strings.Join([]string{r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), r.Header.Get("Authorization"), r.Header.Get("DD-EVP-ORIGIN"), string(body)}, "\n")
}

func (w *wire) traffic() (sent, got []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sent), slices.Clone(w.got)
}

// mostWindows is how many windows an alert may take: one in which the fault begins, the three of an
// alert, and one that a busy machine cuts short.
const mostWindows = 5

// planted is the fault.
//
//go:noinline
func planted(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		_ = strings.Repeat("x", n%100)
	}
}

// With a real agent in the process a planted fault is found within as many windows as without one,
// and all that the agent sends arrives as it was sent. All have windows of two seconds.
func TestAgents(t *testing.T) {
	t.Setenv("DD_INSTRUMENTATION_TELEMETRY_ENABLED", "false")
	agents := map[string]struct {
		client func(g *guard.Guard) *http.Client
		start  func(t *testing.T, addr string, client *http.Client) (stop func())
	}{
		"pyroscope": {
			func(g *guard.Guard) *http.Client { return pyroscope.Client(g, nil) },
			func(t *testing.T, addr string, client *http.Client) func() {
				p, err := agent.Start(agent.Config{
					// Its windows of CPU are twice as long.
					ApplicationName: "shop", ServerAddress: addr, HTTPClient: client, UploadRate: time.Second, BasicAuthUser: "u", BasicAuthPassword: "p",
				})
				if err != nil {
					t.Fatal(err)
				}
				return func() { p.Stop() }
			},
		},
		"datadog": {
			func(g *guard.Guard) *http.Client { return datadog.Client(g, nil) },
			func(t *testing.T, addr string, client *http.Client) func() {
				err := profiler.Start(profiler.WithAgentAddr(strings.TrimPrefix(addr, "http://")), profiler.WithHTTPClient(client), profiler.WithService("shop"),
					profiler.WithPeriod(2*time.Second), profiler.CPUDuration(2*time.Second), profiler.WithProfileTypes(profiler.CPUProfile, profiler.HeapProfile))
				if err != nil {
					t.Fatal(err)
				}
				return profiler.Stop
			},
		},
		"none": {
			func(*guard.Guard) *http.Client { return http.DefaultClient },
			func(*testing.T, string, *http.Client) func() { return func() {} },
		},
	}
	for name, a := range agents {
		t.Run(name, func(t *testing.T) {
			w := new(wire)
			server := httptest.NewServer(w)
			defer server.Close()
			g, err := guard.Start(guard.Config{
				Budgets: budget.Must("hot: receivers.planted below 20%", "calm: receivers.planted below 20% where nobody=here"),
				Every:   2 * time.Second, Window: 2 * time.Second, Registerer: prometheus.NewRegistry(),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Stop()
			w.client = a.client(g)
			if w.client.Transport == nil {
				w.client = &http.Client{Transport: http.DefaultTransport}
			}
			client := *w.client
			client.Transport = w
			stop := a.start(t, server.URL, &client)
			waiting.Until(t, "windows", func() bool { return g.Status().Windows["ok"] > 1 })
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			began, before := time.Now(), g.Status().Windows["ok"]
			go planted(ctx)
			waiting.Until(t, "the alert", func() bool { return g.Status().Budgets[0].State == guard.StateFiring })
			fired := time.Since(began)
			s := g.Status()
			if n := s.Windows["ok"] - before; n > mostWindows {
				t.Errorf("it fires after %d windows", n)
			}
			stop()
			cancel()
			sent, got := w.traffic()
			waiting.Until(t, "what was sent", func() bool { sent, got = w.traffic(); return len(got) == len(sent) })
			slices.Sort(sent)
			slices.Sort(got)
			if !slices.Equal(sent, got) || len(sent) == 0 && name != "none" {
				t.Errorf("of %d requests %d arrived, or they were changed", len(sent), len(got))
			}
			if s.Budgets[1].State == guard.StateFiring {
				t.Error("the clean twin fires")
			}
			if strings.Contains(s.Reason, "fed") {
				t.Error(s.Reason)
			}
			t.Logf("fires after %v and %d windows; windows %v; %d requests", fired.Round(time.Second/10), s.Windows["ok"]-before, s.Windows, len(sent))
		})
	}
}
