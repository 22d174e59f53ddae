package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"

	"github.com/profguard/profguard/internal/waiting"
)

var (
	windows = flag.Int("windows", 3, "windows of a second that each service runs for")
	verbose = flag.Bool("reports", false, "log each service's whole report")
)

// budget finds a budget's status.
func (r report) budget(name string) budgetReport {
	for _, b := range r.Budgets {
		if b.Name == name {
			return b
		}
	}
	return budgetReport{State: "not there"}
}

// busy bounds the busy services that run at once. Four on two cores leave each, with
// its clients, a third of a core: far above what the budgets begin to judge at. Services
// that mostly wait run beside them.
var busy = make(chan struct{}, 4)

// enough samples tell 30%, which is busy-select's limit, from a half. A crowded machine
// takes more windows than it is asked for to give them.
const enough = 150

// folder is where the services are built, until the tests have ended.
var folder string

// TestMain lets all services begin, however few cores there are: those that are busy
// wait their turn.
func TestMain(m *testing.M) {
	code, err := 1, error(nil)
	if folder, err = os.MkdirTemp("", "services"); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = waiting.Together(m, "16")
		os.RemoveAll(folder)
	}
	os.Exit(code)
}

// TestDefaultIsQuiet runs healthy services under full load, or none: no budget
// fires, or comes near it, and what could be judged was.
func TestDefaultIsQuiet(t *testing.T) {
	t.Parallel()
	binary := buildServices(t)
	tests := []struct {
		service string
		load    func(ctx context.Context, addr string)
		idle    bool // nothing runs, so nothing is judged
		small   bool // it uses a twentieth of a core, which is judged all the same
	}{
		{service: "json-api", load: postOrders},
		{service: "grpc-server", load: callGRPC},
		{service: "proxy", load: throughProxy},
		{service: "batch"},
		{service: "decoder"},
		{service: "pipeline"},
		{service: "idle", idle: true},
		{service: "json-api", load: postSlowly, small: true},
	}
	for _, tt := range tests {
		name := tt.service
		if tt.small {
			name = "small-" + name
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"-windows", fmt.Sprint(*windows), tt.service}
			if !tt.idle {
				if !tt.small {
					waitTurn(t)
				}
				args = append([]string{"-samples", fmt.Sprint(enough)}, args...)
			}
			r := runService(t, binary, tt.load, args...)
			for _, b := range r.Budgets {
				// In a second there may be little but one collection, which is why gc-thrash
				// asks for three windows.
				collects := b.Name == "gc-thrash"
				if b.State == "firing" || b.State == "pending" && !collects {
					t.Errorf("%s is %s: %s", b.Name, b.State, b.Reason)
				}
				if b.Samples == 0 && b.Idle && !tt.idle {
					t.Errorf("%s judged nothing: %s", b.Name, b.Reason)
				}
				if n := b.Verdicts["fail"]; n > 0 && !collects {
					t.Errorf("%s failed in %d windows", b.Name, n)
				}
			}
			for _, e := range r.Events {
				if strings.HasPrefix(e, "profguard.budget.") {
					t.Errorf("an event: %s", e)
				}
			}
			// A window may be lost on a machine that is busy with other things.
			if ok := r.Windows["ok"]; ok < *windows*2/3 {
				t.Errorf("windows: %v, want most of %d to be good", r.Windows, *windows)
			}
			if b := r.budget("busy-select"); !tt.idle && b.Samples < enough {
				t.Errorf("%d samples in %d windows: the service was not busy, so its silence says nothing", b.Samples, *windows)
			}
		})
	}
}

// TestDefaultIsLoud runs services that are wrong in one way each: the budget for
// that way fires, and no other. Of the two that make the collector thrash, the one is run
// that is closer to the limit.
func TestDefaultIsLoud(t *testing.T) {
	t.Parallel()
	binary := buildServices(t)
	tests := []struct {
		service, budget string
		waits           bool // most of the time
	}{
		{"spin-default", "busy-select", false},
		{"spin-closed", "busy-select", false},
		{"thrash-limit", "gc-thrash", false},
		{"debug-print", "debug-print", false},
		{"debug-dump", "debug-print", true},
		{"flood", "goroutine-flood", true},
		{"leak", "goroutine-leak", true},
	}
	for _, tt := range tests {
		t.Run(tt.service, func(t *testing.T) {
			t.Parallel()
			if !tt.waits {
				waitTurn(t)
			}
			// On a crowded machine it takes many windows.
			r := runService(t, binary, nil, "-windows", "100", "-until", tt.budget, tt.service)
			for _, b := range r.Budgets {
				if tt.service == "flood" && b.Name == "gc-thrash" {
					continue // the stacks of all these goroutines are the collector's work
				}
				if firing := b.State == "firing"; firing != (b.Name == tt.budget) {
					t.Errorf("%s is %s after %v: %s", b.Name, b.State, r.Windows, b.Reason)
				}
			}
			if n := r.Windows["ok"]; r.budget(tt.budget).State == "firing" {
				t.Logf("fired after %d good windows: %s", n, r.budget(tt.budget).Reason)
			}
		})
	}
}

// buildServices returns the path of this program, which is built once.
func buildServices(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs services for some seconds each")
	}
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// build builds this program without what only debuggers read. The runtime's profile of
// leaked goroutines, an experiment in Go 1.26 that later releases do not know, is built in:
// without it that budget says nothing, ever.
var build = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(folder, "services")
	cmd := exec.Command("go", "build", "-ldflags=-w", "-o", binary, ".")
	if strings.HasPrefix(runtime.Version(), "go1.26") {
		cmd.Env = append(os.Environ(), "GOEXPERIMENT=goroutineleakprofile")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
})

// waitTurn waits until few enough services are busy, and lets the next one run when
// the test ends.
func waitTurn(t *testing.T) {
	t.Helper()
	busy <- struct{}{}
	t.Cleanup(func() { <-busy })
}

// runService runs a service with these arguments, the last of which is its name, under
// load once it says where, until it reports.
func runService(t *testing.T, binary string, load func(context.Context, string), args ...string) report {
	t.Helper()
	name := args[len(args)-1]
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel()

	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Stderr = t.Output()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	out := json.NewDecoder(stdout)
	var addr string
	if err := out.Decode(&addr); err != nil {
		t.Fatalf("%s: address: %v", name, err)
	}
	if load != nil {
		for range 4 {
			clients.Go(func() { load(ctx, addr) })
		}
	}
	var r report
	if err := out.Decode(&r); err != nil {
		t.Fatalf("%s: report: %v", name, err)
	}
	if *verbose || t.Failed() {
		text, _ := json.MarshalIndent(r, "", "  ")
		t.Logf("%s", text)
	}
	t.Logf("%s: windows %v, last at %.2f cores, gc %.0f%%; guard at %.2f%% of a core, %s", name, r.Windows, r.Window.Cores, 100*r.Window.GC, 100*r.CostShare, r.State)
	for _, b := range r.Budgets {
		t.Logf("  %-16s %-8s %v %d of %d; %s", b.Name, b.State, b.Verdicts, b.Hits, b.Samples, b.Reason)
	}
	return r
}

// The clients go on until ctx ends; errors end them, as they do when the service
// ends first. That too few calls were made shows in the service's report.

func postOrders(ctx context.Context, addr string) { post(ctx, addr, 0) }

// postSlowly leaves the service at a twentieth of a core.
func postSlowly(ctx context.Context, addr string) { post(ctx, addr, 15*time.Millisecond) }

// post writes the same bytes again and again, which takes less CPU than net/http's client
// does.
func post(ctx context.Context, addr string, pause time.Duration) {
	var lines []string
	for i := range 50 {
		lines = append(lines, fmt.Sprintf(`{"sku":"sku-%d","quantity":%d,"price":1.25}`, i, i))
	}
	body := `{"id":"o-1","lines":[` + strings.Join(lines, ",") + `],"tags":{"region":"eu"}}`
	request := fmt.Appendf(nil, "POST /orders HTTP/1.1\r\nHost: shop\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { c.Close() })()
	defer c.Close()
	in := bufio.NewReader(c)
	for ctx.Err() == nil {
		if _, err := c.Write(request); err != nil {
			return
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			return
		}
		time.Sleep(pause)
	}
}

func callGRPC(ctx context.Context, addr string) {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return
	}
	defer conn.Close()
	client := testgrpc.NewTestServiceClient(conn)
	for ctx.Err() == nil {
		_, err := client.UnaryCall(ctx, &testgrpc.SimpleRequest{
			ResponseSize: 1 << 10,
			Payload:      &testgrpc.Payload{Body: bytes.Repeat([]byte("x"), 1<<10)},
		})
		if err != nil {
			return
		}
	}
}

// throughProxy bounces small messages off an echo server, by way of the proxy.
func throughProxy(ctx context.Context, addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		io.Copy(c, c)
	}()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	defer c.Close()
	fmt.Fprintln(c, l.Addr())
	in := bufio.NewReader(c)
	message := append(bytes.Repeat([]byte("x"), 200), '\n')
	for {
		if _, err := c.Write(message); err != nil {
			return
		}
		if _, err := in.ReadSlice('\n'); err != nil {
			return
		}
	}
}
