// Command services is the programs that the default budgets are tried on. Each
// is small, but made of the parts that real ones are made of, and runs under a
// guard as it would in production, only with shorter windows.
//
//	services [-windows 30] [-window 1s] [-samples N] [-until BUDGET] NAME
//
// The first line of its output is a JSON string: the address that it serves, or
// "". The second is a report, after that many windows, and as many more as it takes
// to have the samples, or when the budget fires.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/guard"
)

// services start something that runs until the process ends, and return where it
// listens.
var services = map[string]func() (addr string, err error){
	"json-api":     jsonAPI,
	"grpc-server":  grpcServer,
	"proxy":        proxy,
	"batch":        batch,
	"decoder":      decoder,
	"pipeline":     pipeline,
	"idle":         idle,
	"spin-default": spinDefault,
	"spin-closed":  spinClosed,
	"thrash-limit": thrashLimit,
	"thrash-gogc":  thrashGOGC,
	"leak":         leak,
	"flood":        flood,
	"debug-print":  debugPrint,
	"debug-dump":   debugDump,
}

// report is what a run of a service ends with: a part of the guard's status.
type report struct {
	State     guard.Activity
	CostShare float64
	Window    guard.WindowStatus
	Windows   map[string]int
	Budgets   []budgetReport
	Events    []string // names and budgets
}

type budgetReport struct {
	Name, State   string
	Verdicts      map[string]int64
	Samples, Hits int64
	Reason        string
	Idle          bool // nothing was judged in the last window
}

func newReport(s guard.Status, events []string) report {
	r := report{State: s.State, CostShare: s.CostShare, Window: s.Window, Windows: s.Windows, Events: events}
	for _, b := range s.Budgets {
		r.Budgets = append(r.Budgets, budgetReport{b.Name, b.State.String(), b.Verdicts, b.Samples, b.Hits, b.Result.Reason, b.Result.Idle})
	}
	return r
}

func main() {
	windows := flag.Int("windows", 30, "windows to run for")
	window := flag.Duration("window", time.Second, "length of a window; they follow each other without a pause")
	samples := flag.Int64("samples", 0, "run on until there are as many samples")
	until := flag.String("until", "", "end when this budget fires")
	flag.Parse()
	start := services[flag.Arg(0)]
	if start == nil {
		fmt.Fprintf(os.Stderr, "services: expected one of %v, found %q\n", slices.Sorted(maps.Keys(services)), flag.Arg(0))
		os.Exit(2)
	}
	if err := run(start, *windows, *window, *samples, *until); err != nil {
		fmt.Fprintf(os.Stderr, "services: %s: %v\n", flag.Arg(0), err)
		os.Exit(1)
	}
}

func run(start func() (string, error), windows int, window time.Duration, samples int64, until string) error {
	// What a service prints goes where a service's output goes when nobody reads.
	out := json.NewEncoder(os.Stdout)
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	os.Stdout = null
	var mu sync.Mutex
	var events []string
	g, err := guard.Start(guard.Config{
		Every: window, Window: window,
		Registerer: prometheus.NewRegistry(),
		Logger:     slog.New(slog.NewTextHandler(io.Discard, nil)),
		OnEvent: func(e guard.Event) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, string(e.Name)+" "+e.Budget+": "+e.Message)
		},
	})
	if err != nil {
		return err
	}
	defer g.Stop()
	addr, err := start()
	if err != nil {
		return err
	}
	if err := out.Encode(addr); err != nil {
		return err
	}
	// A guard that takes no windows is something to report too. One that loses a
	// window to an overloaded machine backs off for a minute, then two.
	deadline := time.Now().Add(time.Duration(windows)*window + 4*time.Minute)
	poll := time.NewTicker(window / 10)
	defer poll.Stop()
	for now := range poll.C {
		if s := g.Status(); ended(s, windows, samples, until) || now.After(deadline) {
			mu.Lock()
			defer mu.Unlock()
			return out.Encode(newReport(s, events))
		}
	}
	return nil
}

func ended(s guard.Status, windows int, samples int64, until string) bool {
	n, seen := 0, int64(0)
	for _, count := range s.Windows {
		n += count
	}
	for _, b := range s.Budgets {
		if b.Name == until && b.State == guard.StateFiring {
			return true
		}
		seen = max(seen, b.Samples)
	}
	return n >= windows && seen >= samples
}
