package profiles

import (
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
)

// TestFault_46_Goroutines: above the cap no goroutine profile is asked for.
func TestFault_46_Goroutines(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{kinds.Goroutine, kinds.GoroutineLeak} {
		f := newFake()
		taker := newTaker(t, f)
		f.gs = 100_000
		_, err := taker.Take(kind)
		refused := wantSkip(t, err, TooManyGoroutines)
		if f.writes != 0 {
			t.Errorf("%s: the profile was written all the same", kind)
		}
		if !strings.Contains(refused.Detail, "goroutines below 10000") {
			t.Errorf("%s: the message names no way out: %v", kind, err)
		}
		f.gs = 10_000
		take(t, taker, kind)
	}
}

// The same with goroutines that are there.
func TestRealGoroutines(t *testing.T) {
	taker := newTaker(t, runtimeSource{})
	taker.Goroutines = 1000
	park(t, 500, wait)
	take(t, taker, kinds.Goroutine)
	park(t, 501, wait)
	_, err := taker.Take(kinds.Goroutine)
	wantSkip(t, err, TooManyGoroutines)
}

// TestFault_49_Buckets: the profile of very many allocation sites is skipped, and
// short of that what it cost widens the interval.
func TestFault_49_Buckets(t *testing.T) {
	t.Parallel()
	f := newFake()
	taker := &Taker{src: f}
	f.buckets = 96 << 20 // 300,000 stacks
	_, err := taker.Take(kinds.Heap)
	wantSkip(t, err, TooManyBuckets)
	wantSkip(t, taker.Begin(kinds.Allocs), TooManyBuckets)
	if f.writes != 0 {
		t.Fatal("the profile was written all the same")
	}

	tests := []struct {
		cost time.Duration
		want int // profiles in an hour of windows, one a minute
	}{
		{10 * time.Millisecond, 60},
		{250 * time.Millisecond, 60},
		{746 * time.Millisecond, 20}, // waits for 149 s
		{10 * time.Second, 2},        // waits for 2000 s
	}
	for _, tt := range tests {
		f := newFake()
		f.cost = tt.cost
		taker := &Taker{src: f}
		start := f.clock
		for minute := range 60 {
			f.clock = start.Add(time.Duration(minute) * time.Minute)
			if _, err := taker.Take(kinds.Heap); err != nil {
				wantSkip(t, err, Interval)
			}
		}
		if f.writes != tt.want {
			t.Errorf("cost %v: %d profiles in an hour, want %d", tt.cost, f.writes, tt.want)
		}
		// The last one is paid for by the time after it.
		if share := float64(f.writes-1) * tt.cost.Seconds() / 3600; share > defaultShare {
			t.Errorf("cost %v: %.3f%% of a core", tt.cost, 100*share)
		}
	}
}

// What a Begin and its End cost adds up, and an End that goes on from another
// waits like a Begin, without losing what it would have seen.
func TestIntervalOfWindows(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.cost = 300 * time.Millisecond
	taker := &Taker{src: f}
	begin(t, taker, kinds.Mutex)
	f.pass(10 * time.Second)
	end(t, taker, kinds.Mutex)
	f.pass(100 * time.Second) // 120 s are needed
	wantSkip(t, taker.Begin(kinds.Mutex), Interval)
	_, err := taker.End(kinds.Mutex)
	wantSkip(t, err, Interval)
	f.pass(20 * time.Second)
	if p := end(t, taker, kinds.Mutex); p.Elapsed < 2*time.Minute {
		t.Errorf("the window is %v, want what was skipped in it", p.Elapsed)
	}
	// Other kinds are not made to wait.
	take(t, taker, kinds.Heap)
}

// Where the system does not tell a thread's CPU time, elapsed time is charged.
func TestCostWithoutThreadCPU(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.noCPU = true
	taker := &Taker{src: f}
	take(t, taker, kinds.Heap)
	f.pass(f.cost * 199)
	_, err := taker.Take(kinds.Heap)
	wantSkip(t, err, Interval)
	f.pass(f.cost)
	take(t, taker, kinds.Heap)
}

// TestFault_50_Labels: goroutines with labels of their own make a large profile,
// of which the taker holds no more than its buffer, and the cap bounds them.
func TestFault_50_Labels(t *testing.T) {
	const n = 3000
	taker := newTaker(t, runtimeSource{})
	id := make(chan int, n)
	for i := range n {
		id <- i
	}
	var labelled sync.WaitGroup
	labelled.Add(n)
	park(t, n, func(done <-chan struct{}) {
		pprof.Do(context.Background(), pprof.Labels("request", fmt.Sprint("id-", <-id)), func(context.Context) {
			labelled.Done()
			wait(done)
		})
	})
	labelled.Wait()
	p := take(t, taker, kinds.Goroutine)
	var d decode.Decoder
	table, err := d.Bytes(p.Data)
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Samples) < n {
		t.Errorf("%d stacks, want one for each label", len(table.Samples))
	}
	if len(p.Data) > maxGzip {
		t.Errorf("%d bytes are held", len(p.Data))
	}
	taker.Goroutines = n
	_, err = taker.Take(kinds.Goroutine)
	wantSkip(t, err, TooManyGoroutines)
}

func TestBuffer(t *testing.T) {
	t.Parallel()
	var b buffer
	b.Write(make([]byte, maxGzip-4))
	b.Write([]byte("1234"))
	if data, err := b.whole(kinds.Heap); err != nil || len(data) != maxGzip {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if n, err := b.Write([]byte("5")); n != 1 || err != nil || !b.over || len(b.data) != 0 {
		t.Errorf("write beyond the limit: %d, %v, over %v, %d bytes held", n, err, b.over, len(b.data))
	}
	b.Write([]byte("6"))
	_, err := b.whole(kinds.Heap)
	wantSkip(t, err, TooLarge)
	if len(b.data) != 0 {
		t.Error("the rest of a profile that is too large is held")
	}
}
