//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/profguard/profguard/guard"
	"github.com/profguard/profguard/internal/peerbench/cost/report"
)

// tickEvery is how often a process looks at its memory. Each look leaves garbage.
const tickEvery = 500 * time.Millisecond

// runRole is what the processes do: be a role for a while, then report.
func runRole(role string, guarded bool, length, every time.Duration) error {
	out := json.NewEncoder(os.Stdout)
	var requests atomic.Int64
	var addr string
	stopSpinning := func() time.Duration { return 0 }
	switch role {
	case "spinning":
		stopSpinning = spin(2)
	case "small":
		// The collector runs three times a second here, for 1% of a core. A memory
		// limit does not help: what the profiler maps counts towards it, so that one
		// that is low enough to matter keeps the collector running all the time.
		debug.SetGCPercent(10)
		fallthrough
	case "service":
		var err error
		if addr, err = serve(&requests); err != nil {
			return err
		}
	default:
		return fmt.Errorf("expected spinning, service or small, found %q", role)
	}
	var g *guard.Guard
	if guarded {
		var err error
		g, err = guard.Start(guard.Config{Every: every, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		if err != nil {
			return err
		}
		defer g.Stop()
	}
	if err := out.Encode(addr); err != nil {
		return err
	}

	f := report.Report{}
	start, before := time.Now(), processCPU()
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	seen := make([]int64, 0, length/tickEvery+1)
	for now := range tick.C {
		seen = append(seen, resident())
		if f.Elapsed = now.Sub(start); f.Elapsed >= length {
			break
		}
	}
	f.CPU = processCPU() - before
	f.RSS = highWater()
	slices.Sort(seen)
	f.Steady = seen[len(seen)/2]
	f.Background = f.CPU - stopSpinning()
	f.Requests = requests.Load()
	status := g.Status()
	f.GuardCPU, f.Windows = status.CPU, status.Windows
	return out.Encode(f)
}

// spin starts threads that do nothing but spin, and returns the function that
// ends them and says how much CPU they have used.
func spin(threads int) (stop func() time.Duration) {
	var quit atomic.Bool
	var used atomic.Int64
	var running sync.WaitGroup
	for range threads {
		running.Go(func() {
			runtime.LockOSThread()
			for !quit.Load() {
			}
			used.Add(int64(threadCPU()))
		})
	}
	return func() time.Duration {
		quit.Store(true)
		running.Wait()
		return time.Duration(used.Load())
	}
}

// serve has one handler, which decodes and encodes JSON.
func serve(requests *atomic.Int64) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var order struct {
			Items []struct {
				Name  string
				Price float64
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		requests.Add(1)
		json.NewEncoder(w).Encode(order)
	}))
	return l.Addr().String(), nil
}

func processCPU() time.Duration { return cpuOf(syscall.RUSAGE_SELF) }

// threadCPU is that of the thread that it is called on.
func threadCPU() time.Duration {
	const rusageThread = 1 // RUSAGE_THREAD, which package syscall leaves out
	return cpuOf(rusageThread)
}

func cpuOf(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0 // not possible with these arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident is the process's resident memory.
func resident() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, pages int64
	fmt.Sscan(string(data), &size, &pages)
	return pages * int64(os.Getpagesize())
}

// highWater is the most resident memory that the process has ever had.
func highWater() int64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(data), "VmHWM:")
	var kilobytes int64
	fmt.Sscan(after, &kilobytes)
	return kilobytes << 10
}
