package profiler

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestFault_08_HeldByTest(t *testing.T) {
	const test, program = "example.com/p.test", "example.com/p"
	for _, tt := range []struct {
		name, file, path string
		args             []string
		want             bool
	}{
		{"asked for", "x", test, []string{"p.test"}, true},
		{"a build tool that tells nothing", "x", "", []string{"p_test"}, true},
		{"a test of package main", "x", program, []string{"/tmp/p.test"}, true},
		{"a test of package main on Windows", "x", program, []string{`C:\p.test.exe`}, true},
		{"not asked for", "", test, []string{"p.test"}, false},
		{"no test binary, but it runs one", "x", program, []string{"stress", "./p.test", "-test.cpuprofile=x"}, false},
		{"nothing at all", "", test, nil, false},
	} {
		if got := heldByTest(tt.file, tt.args, func() string { return tt.path }); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
	if path := builtAs(); path != "github.com/profguard/profguard/internal/profiler.test" {
		t.Errorf("this test binary was built as %q", path)
	}
}

// The race detector sees it if the hub looks at what the program changes: TestMain
// starts a guard, and m.Run parses the flags.
func TestFault_08_HubLooksAtNoFlags(t *testing.T) {
	flags, args := flag.CommandLine, os.Args
	defer func() { flag.CommandLine, os.Args = flags, args }()
	started := make(chan struct{})
	var background sync.WaitGroup
	background.Go(func() {
		for n := range 1000 {
			shared.held()
			if n == 0 {
				close(started)
			}
		}
	})
	<-started
	flag.CommandLine = flag.NewFlagSet("", flag.ContinueOnError)
	for n := range 1000 {
		flag.Bool(fmt.Sprintf("test.%d", n), false, "")
	}
	os.Args = []string{"p.test", "-test.cpuprofile=x"}
	flag.Parse()
	background.Wait()
}

func TestFault_08_HubYields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeProfiler{}
		held := true
		h := newHub(f, &fakeClocks{}, func() bool { return held })
		w, err := h.Capture(t.Context(), time.Second)
		if w.Outcome != Busy || w.Reason != reasonHeld || err == nil || len(f.starts) != 0 {
			t.Errorf("%v: %s, %d starts", w.Outcome, w.Reason, len(f.starts))
		}
		held = false
		if _, err := h.Capture(t.Context(), time.Second); err != nil {
			t.Error(err)
		}
	})
}
