//go:build linux

// Command memory measures what a guard adds to the resident memory of a small
// service, beside others.
//
//	cd internal/peerbench && CGO_ENABLED=0 go run ./memory [-for 5m] [-copies 5] [-every 1m] [-gogc 10] [-budgets 1000]
//
// The same JSON service runs in some processes of each sort at the same time, under a
// hundred requests a second each: plain, with Prometheus' client, with the client and a
// guard at its defaults, with pyroscope-go, and with Datadog's profiler. Each has
// nothing linked in that it does not use; what the profilers send is taken by this
// program. Twice a second the kernel is asked what is resident: in the median,
// and of that the anonymous memory (heap, stacks, buffers) and the pages of the
// program's file (code, tables, constants); and the most that ever was (VmHWM).
//
// With -budgets another process has that many budgets.
//
// The kernel maps 16 pages around each one that is touched, so nearly all that is
// linked becomes resident, also what never runs. A guard adds 2.2 MiB to what a program
// maps of its file: half of it code, a third the tables for tracebacks, and the rest types
// and constants. Its profiles need such tables of functions that the service had before,
// too. What it links is a third not its own: see command size.
//
// In three runs at its defaults, on two busy cores, a guard took 3.0 to 3.2 MiB over the client, most of
// it of the file. For ten copies and four minutes on idle cores, pyroscope-go took 1.7 over the plain
// service and Datadog's profiler 29.
// Anonymous memory is the host's garbage for the most part, and two processes of one sort
// differ by 0.5 MiB: so there are five of each, and the medians are over all of them.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	hosts     = "github.com/profguard/profguard/internal/peerbench/memory/hosts/"
	lookEvery = 500 * time.Millisecond
	askEvery  = 10 * time.Millisecond // a hundred requests a second

	scrapeEvery = 1500 // requests, of which one more is for the metrics

	mostGuard = 33 << 20 / 10 // over the client alone: 3.0 to 3.2 in three runs
	mostMany  = 20 << 20      // of 1,000 budgets
)

func main() {
	length := flag.Duration("for", 5*time.Minute, "how long the processes are watched")
	copies := flag.Int("copies", 5, "how many processes of each there are")
	every := flag.Duration("every", time.Minute, "how often the guard takes a window")
	gogc := flag.Int("gogc", 100, "GOGC of the processes")
	budgets := flag.Int("budgets", 0, "how many budgets another process has")
	flag.Parse()
	if err := measure(*length, *every, *copies, *gogc, *budgets); err != nil {
		fmt.Fprintln(os.Stderr, "memory:", err)
		os.Exit(1)
	}
}

// measure runs the hosts and prints what they have resident.
func measure(length, every time.Duration, copies, gogc, budgets int) error {
	dir, err := os.MkdirTemp("", "memory-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	// Somebody must take the profiles, or the profilers would keep them for a later try.
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }))
	defer sink.Close()
	commands := [][]string{{"plain"}, {"client"}, {"guarded", every.String()}, {"pyroscope", sink.URL}, {"datadog", sink.URL}}
	if budgets > 0 {
		commands = append(commands, []string{"many", every.String(), fmt.Sprint(budgets)})
	}
	var running []*host
	for _, command := range commands {
		h, err := start(ctx, dir, command, copies, gogc)
		if err != nil {
			return fmt.Errorf("%s: %w", command[0], err)
		}
		running = append(running, h)
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for begin := time.Now(); time.Since(begin) < length; <-tick.C {
		for _, h := range running {
			if err := h.look(); err != nil {
				return fmt.Errorf("%s: %w", h.name, err)
			}
		}
	}
	fmt.Println("MiB            resident  over plain  anonymous  of the file  most")
	for _, h := range running {
		resident := median(h.resident)
		fmt.Printf("%-14s %8.1f %11.1f %10.1f %12.1f %5.1f\n", h.name, mega(resident), mega(resident-median(running[0].resident)),
			mega(median(h.anonymous)), mega(median(h.file)), mega(h.most))
	}
	missed := 0
	goal := func(what string, value, limit int64) {
		verdict := "ok"
		if value > limit {
			verdict = "MISSED"
			missed++
		}
		fmt.Printf("%s: %.1f MiB, limit %.0f: %s\n", what, mega(value), mega(limit), verdict)
	}
	goal("a guard, over the client", median(running[2].resident)-median(running[1].resident), mostGuard)
	if budgets > 0 {
		goal(fmt.Sprintf("%d budgets, over a guard", budgets), median(running[len(running)-1].resident)-median(running[2].resident), mostMany)
	}
	if missed > 0 {
		return fmt.Errorf("%d goals missed", missed)
	}
	return nil
}

// A host is a program of which some processes are watched.
type host struct {
	name                      string
	pids                      []int
	resident, anonymous, file []int64 // of any of them
	most                      int64
}

// start builds a host, runs it until the context ends, and asks it for something
// again and again.
func start(ctx context.Context, dir string, command []string, copies, gogc int) (*host, error) {
	program := filepath.Join(dir, command[0])
	if out, err := exec.Command("go", "build", "-o", program, hosts+command[0]).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build, in a folder of its module: %w\n%s", err, out)
	}
	h := &host{name: command[0]}
	if len(command) > 2 {
		h.name = command[2] + " budgets"
	}
	for range copies {
		pid, err := run(ctx, program, command[1:], gogc)
		if err != nil {
			return nil, err
		}
		h.pids = append(h.pids, pid)
	}
	return h, nil
}

// run starts a process of a host and its client.
func run(ctx context.Context, program string, args []string, gogc int) (pid int, err error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("GOGC=%d", gogc))
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("its address: %w", err)
	}
	go ask(ctx, "http://"+strings.TrimSpace(addr)+"/")
	return cmd.Process.Pid, nil
}

// ask is a client.
func ask(ctx context.Context, url string) {
	body := `{"items":[` + strings.Repeat(`{"name":"something","price":12.5},`, 30) + `{"name":"last","price":1}]}`
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		if n%scrapeEvery == 0 {
			if resp, err := http.Get(url + "metrics"); err == nil { // of a host that has them
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		resp, err := http.Post(url, "application/json", strings.NewReader(body))
		if err != nil {
			continue
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// look notes what the processes have resident.
func (h *host) look() error {
	for _, pid := range h.pids {
		total, err := kilobytes(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Rss:", "Anonymous:")
		if err != nil {
			return err
		}
		most, err := kilobytes(fmt.Sprintf("/proc/%d/status", pid), "VmHWM:")
		if err != nil {
			return err
		}
		h.resident = append(h.resident, total[0])
		h.anonymous = append(h.anonymous, total[1])
		h.file = append(h.file, total[0]-total[1])
		h.most = max(h.most, most[0])
	}
	return nil
}

// kilobytes reads lines like "Rss:  1676 kB" of a file, in bytes.
func kilobytes(file string, names ...string) ([]int64, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	values := make([]int64, len(names))
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if i := slices.Index(names, fields[0]); i >= 0 {
			if _, err := fmt.Sscan(fields[1], &values[i]); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			values[i] <<= 10
		}
	}
	return values, nil
}

func median(values []int64) int64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func mega(bytes int64) float64 { return float64(bytes) / (1 << 20) }
