package loop

import (
	"bytes"
	"flag"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/process"
)

// What a counter of work waits for is not the guard's cost, also while the host computes on other
// cores. A process that uses all cores may have lacked one meanwhile.
func TestReadingCost(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		elapsed, used time.Duration
		elsewhere     float64
		want          time.Duration
	}{
		{10 * ms, 4 * ms, 0, 4 * ms},
		{10 * ms, 25 * ms, 2, 5 * ms},
		{900 * ms, 1800 * ms, 2, 0},
		{900 * ms, 1800 * ms, 1, 900 * ms}, // of two cores, one may have been needed
		{900 * ms, 1700 * ms, 2, 0},
		{10 * ms, 40 * ms, 2, 10 * ms}, // one goroutine reads
	} {
		if got := readingCost(tt.elapsed, tt.used, tt.elsewhere); got != tt.want {
			t.Errorf("%v of CPU in %v beside %v cores: %v, want %v", tt.used, tt.elapsed, tt.elsewhere, got, tt.want)
		}
	}
}

// TestProfileAllocations measures what a CPU profile allocates, which cannot be told from what the
// host allocates meanwhile.
func TestProfileAllocations(t *testing.T) {
	if f := flag.Lookup("test.cpuprofile"); f != nil && f.Value.String() != "" {
		t.Skip("needs the profiler, which go test -cpuprofile holds")
	}
	var data bytes.Buffer
	before := process.Read()
	if err := pprof.StartCPUProfile(&data); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	pprof.StopCPUProfile()
	after := process.Read()
	used := allocationsOf(&before, &after)
	t.Logf("%.0f bytes in %.0f objects", used.bytes, used.objects)
	if used.bytes < sliceBytes/2 || used.bytes > 2*sliceBytes {
		t.Errorf("a profile allocates %.0f bytes, want some %.0f", used.bytes, sliceBytes)
	}
}

// What a host allocates beside the guard's own work stays the host's.
func TestHeapMeter(t *testing.T) {
	at := func(seconds time.Duration, bytes, objects int64) *process.Snapshot {
		return &process.Snapshot{At: time.Unix(0, 0).Add(seconds * time.Second), Allocated: bytes, Allocations: objects}
	}
	m := heapMeter{rested: *at(0, 0, 0)}
	m.begin(at(10, 1000, 100))                  // 100 bytes a second
	m.add(at(10, 1000, 100), at(12, 5000, 110)) // of which 200 are the host's, and fewer objects than it usually has
	if want := (allocations{3800, 0}); m.own != want {
		t.Errorf("%v, want %v", m.own, want)
	}
	m.addProfile(2)
	if want := (allocations{3800 + 2*sliceBytes, 2 * sliceObjects}); m.own != want {
		t.Errorf("%v, want %v", m.own, want)
	}
}
