//go:build linux

// Command cost measures what a guard takes from its host. It fails above 0.3% of a core, three
// times what README says, because other programs on the machine disturb it.
//
//	cd internal/peerbench && CGO_ENABLED=0 go run ./cost [-for 2m] [-every 1m] [-only small]
//
// Each figure comes from a process of its own, of command host, which is built for
// it and has nothing linked in that a service would not have; with and without a
// guard at its defaults:
//
//   - spinning: two threads that only spin. What the process uses beyond those
//     threads is the background, and the guard's part of it resolves to a
//     hundredth of a percent.
//   - service: an HTTP service under load. CPU per request does not resolve what a
//     guard costs (two runs without one differ by more), so what is printed is the
//     guard's own account, and the resident memory of both.
//   - small: net/http and a guard with GOGC at 10, under a hundred requests a
//     second, which is to stay below 15 MiB of resident memory. Printed are the
//     most that it ever had (VmHWM), which the goal is about, and what it has
//     between windows (the median).
//
// Most of what the small one has resident, 8.3 of 12.3 MiB without a guard, is the
// program's own text and tables, which the kernel can take back. Both hosts have the
// guard linked in, which makes the program 2 MiB larger, and Prometheus' client,
// which makes it 2 more. While a window lasts there are 1.2 MB besides, in which the
// runtime keeps samples. Without cgo a process is 1.3 MiB smaller, which is libc.
//
// With a guard the small one had 14.5 to 14.9 MiB at most, in runs of 7 to 12 windows
// on a loaded machine: the goal holds by little, and would not if it were in MB.
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
	"path/filepath"
	"time"

	"github.com/profguard/profguard/internal/peerbench/cost/report"
)

const (
	maxShare = 0.003    // of one core
	maxRSS   = 8 << 20  // more than without a guard
	maxSmall = 15 << 20 // in all

	hostPackage = "github.com/profguard/profguard/internal/peerbench/cost/host"

	smallPause = clients * 10 * time.Millisecond // for a hundred requests a second
)

func main() {
	length := flag.Duration("for", 2*time.Minute, "how long each process is watched")
	every := flag.Duration("every", time.Minute, "how often a window starts")
	only := flag.String("only", "", "one of the figures below")
	flag.Parse()
	if err := measure(*length, *every, *only); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

// measure builds the host and watches it in each role.
func measure(length, every time.Duration, only string) error {
	dir, err := os.MkdirTemp("", "cost-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	host := filepath.Join(dir, "host")
	if out, err := exec.Command("go", "build", "-o", host, hostPackage).CombinedOutput(); err != nil {
		return fmt.Errorf("build %s, in a folder of its module: %w\n%s", hostPackage, err, out)
	}
	return compare(host, length, every, only)
}

// compare prints what the hosts report, and whether the goals hold.
func compare(host string, length, every time.Duration, only string) error {
	measured := map[string]report.Report{}
	for _, role := range []string{"spinning", "service", "small"} {
		if only != "" && only != role {
			continue
		}
		for _, guarded := range []bool{false, true} {
			name := role
			if guarded {
				name += " with guard"
			}
			fmt.Printf("%-22s for %v: ", name, length)
			f, err := watch(host, role, guarded, length, every)
			if err != nil {
				return fmt.Errorf("%s: %w", role, err)
			}
			measured[name] = f
			fmt.Printf("cpu %5.2f cores, rss %5.2f MiB at most, %5.2f MiB mostly, guard's account %5.3f%%, windows %v",
				f.CPU.Seconds()/f.Elapsed.Seconds(), mega(f.RSS), mega(f.Steady), percent(f.GuardCPU, f.Elapsed), f.Windows)
			if role == "spinning" {
				fmt.Printf(", background %5.3f%% of a core\n", percent(f.Background, f.Elapsed))
			} else {
				fmt.Printf(", %d requests\n", f.Requests)
			}
		}
	}
	var missed int
	goal := func(role, name, what string, value, limit float64, unit string) {
		if only != "" && only != role {
			return
		}
		verdict := "ok"
		if value >= limit {
			verdict = "MISSED"
			missed++
		}
		fmt.Printf("%s: %.2f %s, limit %g: %s\n", name, value, unit+" "+what, limit, verdict)
	}
	spinning, service, small := measured["spinning with guard"], measured["service with guard"], measured["small with guard"]
	goal("spinning", "spinning with guard", "more in the background", percent(spinning.Background, spinning.Elapsed)-percent(measured["spinning"].Background, measured["spinning"].Elapsed), 100*maxShare, "% of a core")
	goal("service", "service with guard", "by the guard's own account", percent(service.GuardCPU, service.Elapsed), 100*maxShare, "% of a core")
	goal("service", "service with guard", "more at most", mega(service.RSS-measured["service"].RSS), mega(maxRSS), "MiB")
	goal("small", "small with guard", "at most", mega(small.RSS), mega(maxSmall), "MiB")
	if missed > 0 {
		return fmt.Errorf("%d goals missed", missed)
	}
	return nil
}

func percent(part, whole time.Duration) float64 { return 100 * part.Seconds() / whole.Seconds() }
func mega(bytes int64) float64                  { return float64(bytes) / (1 << 20) }

// watch runs a host in a role, puts it under load, and returns its report.
func watch(host, role string, guarded bool, length, every time.Duration) (report.Report, error) {
	cmd := exec.Command(host, "-role", role, fmt.Sprintf("-guard=%v", guarded), "-for", length.String(), "-every", every.String())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return report.Report{}, err
	}
	if err := cmd.Start(); err != nil {
		return report.Report{}, err
	}
	defer cmd.Wait()
	lines := json.NewDecoder(bufio.NewReader(out))
	var addr string
	if err := lines.Decode(&addr); err != nil {
		return report.Report{}, fmt.Errorf("its address: %w", err)
	}
	pause := time.Duration(0)
	if role == "small" {
		pause = smallPause
	}
	stop := load(addr, pause)
	defer stop()
	var f report.Report
	if err := lines.Decode(&f); err != nil {
		return report.Report{}, fmt.Errorf("its report: %w", err)
	}
	return f, nil
}
