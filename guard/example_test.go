package guard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
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
