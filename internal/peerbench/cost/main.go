//go:build linux

// Command cost measures what a guard takes from its host, and says whether it is
// within what the README promises.
//
//	CGO_ENABLED=0 go run ./cost [-for 2m] [-every 1m] [-only small]
//
// Without cgo a process is 1.3 MB smaller, which is libc; most of what a small one
// has resident (9.5 of 14 MB) is the program's own text and tables, which the
// kernel can take back.
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
//   - small: net/http and a guard with GOGC at 10, under a hundred requests a
//     second, which is to stay below 15 MB of resident memory. Printed are the
//     most that it ever had (VmHWM) and what it has between windows (the median).
//     Of what a guard adds, 0.7 MB are the program's own pages that it makes the
//     process touch, and up to 2.3 MB, while a window lasts, what runtime/pprof
//     allocates. The goal holds for the most.
//
// For twenty windows in less than twenty minutes: -every 20s -for 7m.
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

	smallPause = clients * 10 * time.Millisecond // for a hundred requests a second
)

func main() {
	length := flag.Duration("for", 2*time.Minute, "how long each process is watched")
	every := flag.Duration("every", time.Minute, "how often a window starts")
	only := flag.String("only", "", "one of the figures below")
	role := flag.String("role", "", "for the processes that this program starts")
	guarded := flag.Bool("guard", false, "for the processes that this program starts")
	flag.Parse()
	var err error
	if *role != "" {
		err = runRole(*role, *guarded, *length, *every)
	} else {
		err = compare(*length, *every, *only)
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
	RSS        int64         // the largest that the kernel has seen
	Steady     int64         // the median
	Requests   int64
	GuardCPU   time.Duration // by the guard's own account
	Windows    map[string]int
}

func compare(length, every time.Duration, only string) error {
	measured := map[string]figures{}
	for _, role := range []string{"spinning", "service", "small"} {
		if only != "" && only != role {
			continue
		}
		for _, guarded := range []bool{false, true} {
			f, err := watch(role, guarded, length, every)
			if err != nil {
				return fmt.Errorf("%s: %w", role, err)
			}
			name := role
			if guarded {
				name += " with guard"
			}
			measured[name] = f
			fmt.Printf("%-22s cpu %5.2f cores, rss %5.2f MB at most, %5.2f MB mostly, guard's account %5.3f%%, windows %v", name,
				f.CPU.Seconds()/f.Elapsed.Seconds(), mega(f.RSS), mega(f.Steady), percent(f.GuardCPU, f.Elapsed), f.Windows)
			if role == "spinning" {
				fmt.Printf(", background %5.3f%% of a core\n", percent(f.Background, f.Elapsed))
			} else {
				fmt.Printf(", %d requests\n", f.Requests)
			}
		}
	}
	var missed int
	goal := func(role, what string, value, limit float64, unit string) {
		if only != "" && only != role {
			return
		}
		verdict := "ok"
		if value >= limit {
			verdict = "MISSED"
			missed++
		}
		fmt.Printf("%-6s %s: %.3f %s, the goal is below %g\n", verdict, what, value, unit, limit)
	}
	spinning, service, small := measured["spinning with guard"], measured["service with guard"], measured["small with guard"]
	goal("spinning", "background CPU that the guard adds", percent(spinning.Background, spinning.Elapsed)-percent(measured["spinning"].Background, measured["spinning"].Elapsed), 100*maxShare, "% of a core")
	goal("service", "the guard's own account, busy service", percent(service.GuardCPU, service.Elapsed), 100*maxShare, "% of a core")
	goal("service", "resident memory that the guard adds, busy service", mega(service.RSS-measured["service"].RSS), mega(maxRSS), "MB")
	goal("small", "resident memory, small process", mega(small.RSS), mega(maxSmall), "MB")
	if missed > 0 {
		return fmt.Errorf("%d goals missed", missed)
	}
	return nil
}

func percent(part, whole time.Duration) float64 { return 100 * part.Seconds() / whole.Seconds() }
func mega(bytes int64) float64                  { return float64(bytes) / (1 << 20) }

// watch runs a process of a role, puts it under load, and returns its report.
func watch(role string, guarded bool, length, every time.Duration) (figures, error) {
	self, err := os.Executable()
	if err != nil {
		return figures{}, err
	}
	cmd := exec.Command(self, "-role", role, fmt.Sprintf("-guard=%v", guarded), "-for", length.String(), "-every", every.String())
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
	pause := time.Duration(0)
	if role == "small" {
		pause = smallPause
	}
	stop := load(addr, pause)
	defer stop()
	var f figures
	if err := lines.Decode(&f); err != nil {
		return figures{}, fmt.Errorf("its report: %w", err)
	}
	return f, nil
}
