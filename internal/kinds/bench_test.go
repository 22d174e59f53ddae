package kinds

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
	"time"
)

// BenchmarkSource compares ways to take a window of allocations: the runtime's
// records, which cut stacks at 32 frames, two profiles of runtime/pprof, and the
// taker, which subtracts them.
//
//	go test -run '^$' -bench Source ./internal/kinds
func BenchmarkSource(b *testing.B) {
	for _, n := range []int{100, 11_000} {
		sites(n) // they stay for the larger ones
		publish()
		b.Run(fmt.Sprintf("records/sites=%d", n), func(b *testing.B) {
			records := make([]runtime.MemProfileRecord, 200_000)
			b.ReportAllocs()
			for b.Loop() {
				runtime.MemProfile(records, true)
				runtime.MemProfile(records, true)
			}
		})
		b.Run(fmt.Sprintf("pprof/sites=%d", n), func(b *testing.B) {
			src := newRuntimeSource()
			b.ReportAllocs()
			for b.Loop() {
				for range 2 {
					var buf bytes.Buffer
					if err := src.write(Allocs, &buf); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		b.Run(fmt.Sprintf("taker/sites=%d", n), func(b *testing.B) {
			taker := newTaker(b, newRuntimeSource())
			b.ReportAllocs()
			var cost time.Duration
			for b.Loop() {
				begin(b, taker, Allocs)
				// A collection in between, which is not the taker's to pay for.
				taker.window(Allocs).collections--
				cost += end(b, taker, Allocs).Cost
			}
			b.ReportMetric(float64(cost)/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkGoroutines calibrates the cap.
func BenchmarkGoroutines(b *testing.B) {
	for _, n := range []int{1000, 10_000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			park(b, n, wait)
			taker := newTaker(b, newRuntimeSource())
			taker.Goroutines = 1_000_000
			b.ReportAllocs()
			var cost time.Duration
			for b.Loop() {
				cost += take(b, taker, Goroutine).Cost
			}
			b.ReportMetric(float64(cost)/float64(b.N), "cpu-ns/op")
		})
	}
}
