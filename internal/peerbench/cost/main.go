//go:build linux

// Command cost measures what a guard takes from its host, and says whether it is
// within what the README promises.
//
//	go run ./cost [-for 2m]
//
// Each figure comes from a process of its own, with and without a guard at its
// defaults:
//
//   - spinning: two threads that only spin. What the process uses beyond those
//     threads is the background, and the guard's part of it resolves to a
//     hundredth of a percent.
//   - service: an HTTP service under load. CPU per request does not resolve what a
//     guard costs (two runs without one differ by more), so what is printed is the
//     guard's own account, and the resident memory of both.
//   - small: net/http and a guard, with the collector tuned, which is to stay
//     below 15 MB of resident memory.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"time"
)

const (
	maxShare = 0.003    // of one core
	maxRSS   = 8 << 20  // more than without a guard
	maxSmall = 15 << 20 // in all
)

func main() {
	length := flag.Duration("for", 2*time.Minute, "how long each process is watched; a window starts every minute")
	role := flag.String("role", "", "for the processes that this program starts")
	guarded := flag.Bool("guard", false, "for the processes that this program starts")
	flag.Parse()
	var err error
	if *role != "" {
		err = runRole(*role, *guarded, *length)
	} else {
		err = compare(*length)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

// figures are what a process reports about itself.
type figures struct {
	Elapsed    time.Duration
	CPU        time.Duration // of the process
	Background time.Duration // of that, beyond the spinning threads
	RSS        int64         // the largest seen
	Requests   int64
	GuardCPU   time.Duration // by the guard's own account
	Windows    map[string]int
}

func compare(length time.Duration) error {
	measured := map[string]figures{}
	for _, role := range []string{"spinning", "service", "small"} {
		for _, guarded := range []bool{false, true} {
			f, err := watch(role, guarded, length)
			if err != nil {
				return fmt.Errorf("%s: %w", role, err)
			}
			name := role
			if guarded {
				name += " with guard"
			}
			measured[name] = f
			fmt.Printf("%-22s cpu %6.2f cores, background %5.3f%% of a core, rss %5.1f MB, %d requests, guard's account %5.3f%%, windows %v\n", name,
				f.CPU.Seconds()/f.Elapsed.Seconds(), percent(f.Background, f.Elapsed), mega(f.RSS), f.Requests, percent(f.GuardCPU, f.Elapsed), f.Windows)
		}
	}
	var missed int
	goal := func(what string, value, limit float64, unit string) {
		verdict := "ok"
		if value >= limit {
			verdict = "MISSED"
			missed++
		}
		fmt.Printf("%-6s %s: %.3f %s, the goal is below %g\n", verdict, what, value, unit, limit)
	}
	spinning, service, small := measured["spinning with guard"], measured["service with guard"], measured["small with guard"]
	goal("background CPU that the guard adds", percent(spinning.Background, spinning.Elapsed)-percent(measured["spinning"].Background, measured["spinning"].Elapsed), 100*maxShare, "% of a core")
	goal("the guard's own account, busy service", percent(service.GuardCPU, service.Elapsed), 100*maxShare, "% of a core")
	goal("resident memory that the guard adds, busy service", mega(service.RSS-measured["service"].RSS), mega(maxRSS), "MB")
	goal("resident memory, small process", mega(small.RSS), mega(maxSmall), "MB")
	if missed > 0 {
		return fmt.Errorf("%d goals missed", missed)
	}
	return nil
}

func percent(part, whole time.Duration) float64 { return 100 * part.Seconds() / whole.Seconds() }
func mega(bytes int64) float64                  { return float64(bytes) / (1 << 20) }

// watch runs a process of a role, puts it under load, and returns its report.
func watch(role string, guarded bool, length time.Duration) (figures, error) {
	self, err := os.Executable()
	if err != nil {
		return figures{}, err
	}
	cmd := exec.Command(self, "-role", role, fmt.Sprintf("-guard=%v", guarded), "-for", length.String())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return figures{}, err
	}
	if err := cmd.Start(); err != nil {
		return figures{}, err
	}
	defer cmd.Wait()
	lines := json.NewDecoder(bufio.NewReader(out))
	var addr string
	if err := lines.Decode(&addr); err != nil {
		return figures{}, fmt.Errorf("its address: %w", err)
	}
	stop := load(addr)
	defer stop()
	var f figures
	if err := lines.Decode(&f); err != nil {
		return figures{}, fmt.Errorf("its report: %w", err)
	}
	return f, nil
}
