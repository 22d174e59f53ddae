package loop

import (
	"fmt"
	"math"
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

// What nobody can have counted is no work, of a unit and of each value of a label: sums of its squares would be infinite.
func TestImpossibleWork(t *testing.T) {
	for grown, counts := range map[float64]bool{0: true, 0.25: true, 1e13: true, 1e200: false, 1e-310: false, -1: false, math.NaN(): false, math.Inf(1): false} {
		before := Answers{"row": {}, "row by kind": {By: map[string]float64{"a": 0}}}
		after := Answers{"row": {N: grown}, "row by kind": {By: map[string]float64{"a": grown}}}
		done, why := between(before, after)
		by := apart(before, after)["row by kind"]
		_, counted := done["row"]
		if _, also := by["a"]; counted != counts || also != counts || (why["row"] == "") != counts {
			t.Errorf("growth by %v: expected it to be counted: %t, found %v, %v, %v", grown, counts, done, why, by)
		}
	}
}
