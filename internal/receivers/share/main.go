//go:build linux

// Command share measures what a guard gets and costs beside Pyroscope's agent:
//
//	cd internal/receivers && go run ./share [-for 2m]
//
// Each line is a process of its own with one thread that computes half of the time. Background is
// the CPU that the process uses beyond that thread in a minute; stored are the CPU profiles that
// Pyroscope has got. The agent has its defaults: profiles of CPU and
// memory every 15 seconds. In the last line it takes none of CPU, and the guard's windows, 15
// seconds without a pause, go to Pyroscope.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	agent "github.com/grafana/pyroscope-go"
	"golang.org/x/sys/unix"

	"github.com/profguard/profguard/export/pyroscope"
	"github.com/profguard/profguard/guard"
)

var modes = []string{"nothing", "agent alone", "agent, guard", "agent, guard with Feed", "guard with Export.All, agent without CPU"}

// A figure is what a process has measured.
type figure struct {
	Good, Lost int           // windows
	Background time.Duration // a minute
	RSS        int64
}

func main() {
	length := flag.Duration("for", 2*time.Minute, "how long each process runs")
	mode := flag.String("mode", "", "of a process")
	addr := flag.String("addr", "", "of the receiver")
	flag.Parse()
	if *mode != "" {
		json.NewEncoder(os.Stdout).Encode(run(*mode, *addr, *length))
		return
	}
	var taken atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if q := r.URL.Query(); q.Get("units") == "samples" || r.URL.Path != "/ingest" {
			taken.Add(1)
		}
	}))
	defer server.Close()
	fmt.Printf("%-40s %10s %6s %12s %8s %9s\n", "", "good", "lost", "background", "RSS", "stored")
	for _, mode := range modes {
		taken.Store(0)
		cmd := exec.Command(os.Args[0], "-mode", mode, "-addr", server.URL, "-for", length.String())
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		var f figure
		if err == nil {
			err = json.Unmarshal(out, &f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "share:", err)
			os.Exit(1)
		}
		fmt.Printf("%-40s %10d %6d %9d ms %4.1f MiB %9d\n", mode, f.Good, f.Lost, f.Background.Milliseconds(), float64(f.RSS)/(1<<20), taken.Load())
	}
}

func run(mode, addr string, length time.Duration) figure {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	var g *guard.Guard
	if strings.Contains(mode, "guard") {
		cfg := guard.Config{Every: 15 * time.Second, Window: 10 * time.Second}
		if strings.Contains(mode, "Export.All") {
			cfg.Window, cfg.Export = cfg.Every, guard.Export{To: &pyroscope.Exporter{Address: addr}, All: true}
		}
		g = must(guard.Start(cfg))
		defer g.Stop()
	}
	if strings.Contains(mode, "agent") {
		cfg := agent.Config{ApplicationName: "share", ServerAddress: addr}
		if strings.Contains(mode, "Feed") {
			cfg.HTTPClient = pyroscope.Client(g, nil)
		}
		if strings.Contains(mode, "without CPU") {
			cfg.ProfileTypes = []agent.ProfileType{agent.ProfileAllocObjects, agent.ProfileAllocSpace, agent.ProfileInuseObjects, agent.ProfileInuseSpace}
		}
		p := must(agent.Start(cfg))
		defer p.Stop()
	}
	worker := make(chan time.Duration)
	before := used(unix.RUSAGE_SELF)
	go func() {
		runtime.LockOSThread()
		begun := used(unix.RUSAGE_THREAD)
		for end := time.Now().Add(length); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			for slice := time.Now().Add(5 * time.Millisecond); time.Now().Before(slice); {
				for n := range 10_000 { // without garbage, whose collection would be background, too
					sink = sink*31 + n
				}
			}
		}
		worker <- used(unix.RUSAGE_THREAD) - begun
	}()
	spent := <-worker
	if why := g.Status().Reason; why != "" {
		fmt.Fprintf(os.Stderr, "%s: %s\n", mode, why)
	}
	f := figure{Background: time.Duration(float64(used(unix.RUSAGE_SELF)-before-spent) / length.Minutes()), RSS: resident()}
	for outcome, n := range g.Status().Windows {
		if outcome == "ok" {
			f.Good += n
		} else {
			f.Lost += n
		}
	}
	return f
}

var sink int

func must[T any](v T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, "share:", err)
		os.Exit(1)
	}
	return v
}

func used(who int) time.Duration {
	var r unix.Rusage
	must(0, unix.Getrusage(who, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// resident is the resident memory, as of proc(5).
func resident() int64 {
	var size, pages int64
	fmt.Sscan(string(must(os.ReadFile("/proc/self/statm"))), &size, &pages)
	return pages * int64(os.Getpagesize())
}
