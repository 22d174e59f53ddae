package profiler

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// The hub's goroutines carry none of the labels of whoever asked first: profiles by
// label would charge the hub's work to that.
func TestHubShedsLabels(t *testing.T) {
	h, _ := realHub(t)
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go pprof.Do(ctx, pprof.Labels("planted", "x"), func(ctx context.Context) {
		defer close(done)
		h.Capture(ctx, time.Minute)
	})
	// By function: whether a goroutine with it in its stack has the label.
	labelled := map[string]bool{}
	for {
		var b bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&b, 0); err != nil {
			t.Fatal(err)
		}
		for _, s := range parse(t, b.Bytes()).Sample {
			for _, loc := range s.Location {
				for _, line := range loc.Line {
					labelled[line.Function.Name] = s.Label["planted"] != nil
				}
			}
		}
		if _, runs := labelled["runtime/pprof.profileWriter"]; runs {
			break
		}
		time.Sleep(ms)
	}
	cancel()
	<-done
	for name, has := range labelled {
		hub := strings.HasSuffix(name, ".(*Hub).run") || name == "runtime/pprof.profileWriter"
		if asks := strings.HasSuffix(name, ".(*Hub).capture"); hub && has || asks && !has {
			t.Errorf("a goroutine in %s has the label: %t", name, has)
		}
	}
	wantFree(t)
}
