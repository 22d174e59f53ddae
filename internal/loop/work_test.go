package loop

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestCounterEndsItsGoroutine(t *testing.T) {
	w := newCounters(map[string]func() float64{
		"a": func() float64 { return 1 },
		"b": func() float64 { runtime.Goexit(); return 0 },
	}, nil)
	for range 3 {
		if got := w.now(); got["a"].N != 1 || !strings.Contains(got["b"].Why, "goroutine") {
			t.Fatalf("the counters say %v", got)
		}
	}
}

// Counters that hang cost one bound, once, and not the answer of one that does not.
func TestCountersHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		read := map[string]func() float64{"z": func() float64 { return 1 }}
		for i := range 20 {
			read[fmt.Sprint("hangs ", i)] = func() float64 { <-let; return 0 }
		}
		w := newCounters(read, nil)
		for _, want := range []time.Duration{callTimeout, 0} {
			began := time.Now()
			got := w.now()
			if d := time.Since(began); d != want {
				t.Errorf("20 counters that hang took %v, want %v", d, want)
			}
			if got["z"].N != 1 || got["hangs 7"].Why == "" {
				t.Errorf("the counters say %v", got)
			}
		}
		close(let)
	})
}
