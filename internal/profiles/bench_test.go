package profiles

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
)

// BenchmarkSource compares ways to take a window of allocations: the runtime's
// records, which cut stacks at 32 frames, two profiles of runtime/pprof, and the
// taker, which subtracts them.
//
//	go test -run '^$' -bench Source ./internal/profiles
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
			src := runtimeSource{}
			b.ReportAllocs()
			for b.Loop() {
				for range 2 {
					var buf bytes.Buffer
					if err := src.write(kinds.Allocs, &buf); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		b.Run(fmt.Sprintf("taker/sites=%d", n), func(b *testing.B) {
			taker := newTaker(b, runtimeSource{})
			b.ReportAllocs()
			reportCPU(b, func() {
				begin(b, taker, kinds.Allocs)
				// A collection in between, which is not the taker's to pay for.
				w := taker.last[kinds.Allocs]
				w.collections--
				taker.last[kinds.Allocs] = w
			})
		})
	}
}

// reportCPU is the benchmark's loop, with the CPU time that its thread takes.
func reportCPU(b *testing.B, do func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := process.ThreadCPU()
	for b.Loop() {
		do()
	}
	after := process.ThreadCPU()
	b.ReportMetric(float64(after-before)/float64(b.N), "cpu-ns/op")
}

// BenchmarkGoroutines calibrates the cap.
func BenchmarkGoroutines(b *testing.B) {
	for _, n := range []int{1000, 10_000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			park(b, n, wait)
			taker := newTaker(b, runtimeSource{})
			taker.Goroutines = 1_000_000
			b.ReportAllocs()
			reportCPU(b, func() { take(b, taker, kinds.Goroutine) })
		})
	}
}

// BenchmarkContention is a window of mutex or block: 1,000 stacks, a tenth of which
// have grown.
func BenchmarkContention(b *testing.B) {
	var before, after []record
	for i := range 1000 {
		n := int64(i + 1)
		r := record{fmt.Sprintf("example.com/p.f%d", i), 0, []int64{n, 1000 * n}}
		before = append(before, r)
		if i%10 == 0 {
			r.values = []int64{2 * n, 2000 * n}
		}
		after = append(after, r)
	}
	var data [2][]byte
	for i, records := range [][]record{before, after} {
		var buf bytes.Buffer
		if err := contentionProfile(records...).Write(&buf); err != nil {
			b.Fatal(err)
		}
		data[i] = buf.Bytes()
	}
	f := newFake()
	taker := newTaker(b, f)
	f.bytes = data[0]
	begin(b, taker, kinds.Mutex)
	b.ReportAllocs()
	for b.Loop() {
		for _, f.bytes = range data {
			take(b, taker, kinds.Mutex)
		}
	}
}
