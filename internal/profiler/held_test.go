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

// The race detector sees it if the hub looks at what the program changes: TestMain
// starts a guard, and m.Run parses the flags.
func TestFault_08_HubLooksAtNoFlags(t *testing.T) {
	flags, args := flag.CommandLine, os.Args
	defer func() { flag.CommandLine, os.Args = flags, args }()
	started := make(chan struct{})
	var background sync.WaitGroup
	background.Go(func() {
		for n := range 1000 {
			HeldByTest()
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
		h := newHub(fakeSystem{f, &fakeClocks{}}, true)
		w, err := h.Capture(t.Context(), time.Second)
		if w.Outcome != Busy || w.Reason != reasonHeld || err == nil || len(f.starts) != 0 {
			t.Errorf("%v: %s, %d starts", w.Outcome, w.Reason, len(f.starts))
		}
		h.held = false
		if _, err := h.Capture(t.Context(), time.Second); err != nil {
			t.Error(err)
		}
	})
}
