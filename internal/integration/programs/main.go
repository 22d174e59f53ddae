// Command programs is the services on which "no function above 20% cumulative" is
// tried: small ones, made with the libraries that real ones are made with. Each serves
// clients in a process of their own, and profiles itself.
//
//	programs [-work tiny|small|search] [-plant regexp|sprintf|fprintf] [-cpu 1s] [-windows 1] [-rate 0] NAME
//
// Its output is one JSON object per window. A window is as long as it takes the
// process to use the CPU time that it was asked for, and at most a minute.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/profguard/profguard/internal/integration/programs/shop"
)

// A program runs until the process ends.
type program struct {
	start func(work) (addr string, err error)
	// client sends requests until ctx ends; nil for a program that makes its own work.
	client func(ctx context.Context, addr string, w work) error
}

var programs = map[string]program{
	"nethttp":  {startNetHTTP, postHTTP},
	"chi":      {startChi, postHTTP},
	"gin":      {startGin, postHTTP},
	"echo":     {startEcho, postHTTP},
	"fasthttp": {startFastHTTP, postHTTP},
	"fiber2":   {startFiber2, postHTTP},
	"fiber3":   {startFiber3, postHTTP},
	"grpc":     {startGRPC, callGRPC},
	"dns":      {startDNS, askDNS},
	"goja":     {startGoja, postHTTP},
	"lua":      {startLua, postHTTP},
	"sqlite":   {startSQLite, postHTTP},
	"broker":   {startBroker, publish},
	"sort":     {startSort, nil},
	"refresh":  {startRefresh, nil},
	"pool":     {startPool, nil},
}

// A work is what the programs are asked to do.
type work struct {
	name string
	rate float64 // requests a second; 0 for as many as can be had
}

// catalogue is what a request searches: most of its time in "search", an eighth of it
// or so in "small".
func (w work) catalogue() shop.Catalogue {
	if w.name == "search" {
		return shop.NewCatalogue(1000)
	}
	return shop.NewCatalogue(50)
}

// lines is the length of the orders.
func (w work) lines() int {
	if w.name == "search" {
		return 20
	}
	return 2
}

// pause is how long each of so many clients waits between two requests.
func (w work) pause(clients int) time.Duration {
	if w.rate == 0 {
		return 0
	}
	return time.Duration(float64(clients) / w.rate * float64(time.Second))
}

// A Window is a profile, with what the process did meanwhile.
type Window struct {
	Profile  []byte
	Requests float64
}

func main() {
	var w work
	flag.StringVar(&w.name, "work", "search", "what a request asks for: tiny, small or search")
	flag.Float64Var(&w.rate, "rate", 0, "requests a second; 0 for as many as can be had")
	flag.StringVar(&shop.Plant, "plant", "", "the mistake in each request: regexp, sprintf or fprintf, and of gRPC message")
	cpu := flag.Duration("cpu", time.Second, "CPU time of a window")
	windows := flag.Int("windows", 1, "how many windows there are")
	load := flag.String("load", "", "be the clients of the program that listens there")
	flag.Parse()
	p, ok := programs[flag.Arg(0)]
	if !ok {
		fmt.Fprintf(os.Stderr, "programs: expected one of %v, found %q\n", slices.Sorted(maps.Keys(programs)), flag.Arg(0))
		os.Exit(2)
	}
	err := error(nil)
	if *load != "" {
		err = runClients(p, *load, w)
	} else {
		err = serveAndProfile(p, w, *cpu, *windows)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "programs: %s: %v\n", flag.Arg(0), err)
		os.Exit(1)
	}
}

const (
	// clients send one request after the other each.
	clients = 4
	// longest is when a window ends on a machine that gives the program no CPU.
	longest = time.Minute
	// rate is how many samples a second of CPU time is to have. Linux, most often built for
	// 250 clock ticks a second, takes 150 or more of them: a second tells as much as two do
	// at the usual rate.
	rate = 250
)

func serveAndProfile(p program, w work, cpu time.Duration, windows int) error {
	// What libraries print is not for the reader of the windows.
	out := json.NewEncoder(os.Stdout)
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	os.Stdout = null
	addr, err := p.start(w)
	if err != nil {
		return err
	}
	if p.client != nil {
		// A client in this process would be in the profile. It ends when its input
		// does, with this process at the latest.
		load := exec.Command(os.Args[0], "-load", addr, "-work", w.name, "-rate", fmt.Sprint(w.rate), flag.Arg(0))
		load.Stderr = os.Stderr
		alive, err := load.StdinPipe()
		if err != nil {
			return err
		}
		if err := load.Start(); err != nil {
			return err
		}
		defer load.Wait()
		defer alive.Close()
	}
	for range windows {
		window, err := profileOf(cpu)
		if err != nil {
			return err
		}
		if err := out.Encode(window); err != nil {
			return err
		}
	}
	return nil
}

// profileOf profiles until the process has used so much CPU.
func profileOf(cpu time.Duration) (Window, error) {
	var b bytes.Buffer
	start, used, served := time.Now(), cpuTime(), shop.Served.Load()
	// StartCPUProfile asks for 100 samples a second, which the runtime refuses once there is
	// a rate, and says so on standard error.
	runtime.SetCPUProfileRate(rate)
	if err := pprof.StartCPUProfile(&b); err != nil {
		return Window{}, err
	}
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for now := range poll.C {
		if cpuTime()-used >= cpu || now.Sub(start) > longest {
			break
		}
	}
	pprof.StopCPUProfile()
	return Window{
		Profile:  b.Bytes(),
		Requests: float64(shop.Served.Load() - served),
	}, nil
}

// cpuTime is what the process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// runClients sends requests until standard input ends.
func runClients(p program, addr string, w work) error {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for range clients {
		running.Go(func() {
			if err := p.client(ctx, addr, w); err != nil && ctx.Err() == nil {
				mu.Lock()
				defer mu.Unlock()
				failed = err
			}
		})
	}
	io.Copy(io.Discard, os.Stdin)
	cancel()
	running.Wait()
	return failed
}
