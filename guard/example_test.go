package guard_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
	"github.com/profguard/profguard/internal/folded"
)

// requests is a counter that the service has anyway.
var requests atomic.Int64

func ExampleStart() {
	g, err := guard.Start(guard.Config{
		Budgets: budget.Must(
			"no function above 20% cumulative when process above 0.1 cores",
			"checkout: process below 2ms per request",
		),
		Work:       map[string]func() float64{"request": func() float64 { return float64(requests.Load()) }},
		Registerer: prometheus.NewRegistry(), // leave it out for the default one
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Stop()
	for _, b := range g.Status().Budgets {
		fmt.Println(b.Name, b.State)
	}
	// Output:
	// no function above 20% cumulative when process above 0.1 cores no data
	// checkout no data
}

func ExampleStart_mistakes() {
	_, err := guard.Start(guard.Config{
		Every:   5 * time.Second,
		Window:  10 * time.Second,
		Budgets: budget.Must("process below 2ms per request"),
	})
	fmt.Println(err)
	// Output:
	// guard.Start: Every: expected at least Window (10s), found 5s: make Every longer, or Window shorter
	// Budgets: nobody counts "request": it does not exist: expected Work["request"], or a counter of that name in the Prometheus registry before Start
}

// A service that keeps the profiles of broken budgets, for a week, and calls somebody.
func ExampleConfig() {
	dir, err := os.MkdirTemp("", "dumps") // a volume that outlives the process
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	g, err := guard.Start(guard.Config{
		DumpDir:    dir,
		DumpLimits: guard.DumpLimits{Dumps: 100, Age: 7 * 24 * time.Hour},
		OnEvent: func(e guard.Event) {
			if e.Name == guard.EventFiring {
				page(e.Message, e.Dump)
			}
		},
		Registerer: prometheus.NewRegistry(), // leave it out for the default one
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Stop()
	fmt.Println(g.Status().State)
	// Output: running
}

// page calls the person on call.
func page(text, dump string) {}

// An event has the result of the window, with the function to look at.
func ExampleEvent() {
	events := make(chan guard.Event, 10)
	g, err := guard.Start(guard.Config{
		Budgets:    budget.Must("fmt.Println absent"),
		OnEvent:    func(e guard.Event) { events <- e },
		Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Stop()
	feed(g)
	e := <-events
	fmt.Println(e.Name, e.Budget)
	fmt.Println(e.Result.Offenders[0])
	// Output:
	// profguard.budget.firing fmt.Println absent
	// fmt.Println at print.go:314, called from main.cache at cache.go:46
}

// An agent that has the process's CPU profiler hands its profiles to the guard.
func ExampleGuard_Feed() {
	g, err := guard.Start(guard.Config{Registerer: prometheus.NewRegistry()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Stop()
	g.ExpectFeed() // before the agent starts
	profile, start, end := fromAgent()
	fmt.Println(g.Feed(profile, start, end))
	// Output: <nil>
}

// feed hands the guard a profile that breaks a budget.
func feed(g *guard.Guard) {
	g.ExpectFeed()
	if err := g.Feed(fromAgent()); err != nil {
		fmt.Println(err)
	}
}

// fromAgent is the profile of the last ten seconds, of a service that forgot a debug print.
func fromAgent() (profile []byte, start, end time.Time) {
	end = time.Now()
	start = end.Add(-10 * time.Second)
	p := folded.Must(`cpu 10s
main.main;main.serve;main.cache@cache.go:46;fmt.Println@print.go:314 710
main.main;main.serve;main.sign 290
`)
	p.TimeNanos = start.UnixNano()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		fmt.Println(err)
	}
	return b.Bytes(), start, end
}

// files is an exporter of your own. It writes each profile to a file.
type files struct{ dir string }

func (f files) Export(ctx context.Context, p guard.Profile) error {
	return os.WriteFile(filepath.Join(f.dir, p.ID+".pb.gz"), p.Data, 0o600)
}

// The profiles of broken budgets leave the process, without the labels of tenants.
func ExampleExporter() {
	dir, err := os.MkdirTemp("", "profiles")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	fired := make(chan bool, 1)
	g, err := guard.Start(guard.Config{
		Budgets: budget.Must("fmt.Println absent"),
		Export: guard.Export{
			To:    files{dir},
			Label: func(key, value string) bool { return key == "endpoint" },
		},
		OnEvent:    func(e guard.Event) { fired <- e.Name == guard.EventFiring },
		Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Stop()
	feed(g)
	fmt.Println(<-fired)

	// At the end of the program, send what is left.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := g.Flush(ctx); err != nil {
		fmt.Println(err)
	}
	profiles, err := filepath.Glob(filepath.Join(dir, "*.cpu.pb.gz"))
	fmt.Println(len(profiles), err)
	// Output:
	// true
	// 1 <nil>
}

// A health page of your own reads the status.
func ExampleGuard_Status() {
	g, err := guard.Start(guard.Config{
		Budgets:    budget.Must("portlist absent", "goroutines below 5000"),
		Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Stop()
	s := g.Status()
	fmt.Println(s.State)
	for _, b := range s.Budgets {
		fmt.Println(b.Name, b.State == guard.StateFiring)
	}
	// Output:
	// running
	// portlist absent false
	// goroutines below 5000 false
}

func ExampleGuard_SetBudgets() {
	g, err := guard.Start(guard.Config{Registerer: prometheus.NewRegistry()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Stop()
	set, err := budget.Parse("portlist absent")
	if err == nil {
		err = g.SetBudgets(set)
	}
	fmt.Println(err, g.Status().Budgets[0].Name)
	// Output: <nil> portlist absent
}

func ExampleGuard_Handler() {
	g, err := guard.Start(guard.Config{Registerer: prometheus.NewRegistry()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Stop()
	mux := http.NewServeMux()
	mux.Handle("/debug/profguard/", http.StripPrefix("/debug/profguard", g.Handler()))

	server := httptest.NewServer(mux)
	defer server.Close()
	resp, err := http.Get(server.URL + "/debug/profguard/")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status, resp.Header.Get("Content-Type"))
	// Output: 200 OK text/html; charset=utf-8
}
