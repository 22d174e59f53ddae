package integration

import (
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/guard"
)

// start starts a guard that watches without a pause and tells nobody but those
// that the test names, and stops it with the test.
func start(t *testing.T, cfg guard.Config) *guard.Guard {
	t.Helper()
	cfg.Every, cfg.Window = time.Second, time.Second
	if cfg.Registerer == nil {
		cfg.Registerer = prometheus.NewRegistry()
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	g, err := guard.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	return g
}

// state is a budget's state.
func state(g *guard.Guard, budget string) string {
	for _, b := range g.Status().Budgets {
		if b.Name == budget {
			return b.State.String()
		}
	}
	return "not there"
}

// during runs work again and again until the function that it returns is called, or the
// test ends. It takes about a third of a core, which is enough for a window to be judged, and
// leaves the rest to Prometheus and its like.
func during(t *testing.T, work func()) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			for range 10 {
				work()
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(stop)
	return stop
}

// burn is what must not happen.
//
//go:noinline
func burn() {
	data := make([]byte, 64<<10)
	for range 20 {
		sha256.Sum256(data)
	}
}

// serveOrders is what a service does that is mended.
//
//go:noinline
func serveOrders() {
	for i := range 1 << 20 {
		orders += i * i
	}
}

var orders int // a loop that leads to nothing is left out

// need returns the path of a program, by the first of its names that there is, and
// installs it if there is none. Where that is not possible the test is skipped, or
// fails in CI.
func need(t *testing.T, debianPackage string, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	script := "apt-get -o Acquire::Retries=3 update && apt-get -o Acquire::Retries=3 install -y --no-install-recommends " + debianPackage
	out, err := exec.CommandContext(t.Context(), "sh", "-c", script).CombinedOutput()
	if err == nil {
		var path string
		if path, err = exec.LookPath(names[0]); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is missing and could not be installed: %v\n%s", names[0], err, out)
	}
	t.Skipf("SKIPPED, NOTHING WAS TESTED: %s is missing and could not be installed: %v", names[0], err)
	return ""
}
