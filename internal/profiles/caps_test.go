package profiles

import (
	"context"
	"fmt"
	"runtime/pprof"
	"sync"
	"testing"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
)

// TestFault_46_Goroutines: above the cap no goroutine profile is asked for.
func TestFault_46_Goroutines(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{kinds.Goroutine, kinds.GoroutineLeak} {
		f := newFake()
		taker := newTaker(t, f)
		f.stacks[kinds.Goroutine] = 100_000
		_, err := taker.Take(kind)
		wantRefused(t, err, tooManyGoroutines)
		if f.writes != 0 {
			t.Errorf("%s: the profile was written all the same", kind)
		}
		wantRefused(t, err, "goroutines below 10000") // a way out
		f.stacks[kinds.Goroutine] = 10_000
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
	wantRefused(t, err, tooManyGoroutines)
}

// TestFault_49_Buckets: the profile of very many allocation sites is skipped. Short of that
// package pace makes windows rarer by what they cost.
func TestFault_49_Buckets(t *testing.T) {
	t.Parallel()
	f := newFake()
	taker := newTaker(t, f)
	f.buckets = 96 << 20 // 300,000 stacks
	for _, kind := range []string{kinds.Heap, kinds.Allocs} {
		_, err := taker.Take(kind)
		wantRefused(t, err, tooManyStacks)
	}
	if f.writes != 0 {
		t.Fatal("the profile was written all the same")
	}
	f.buckets = 32 << 20
	take(t, taker, kinds.Heap)
}

// TestFault_50_Labels: goroutines with labels of their own make a large profile,
// and the cap bounds them.
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
	table, err := d.Bytes(p.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Samples) < n {
		t.Errorf("%d stacks, want one for each label", len(table.Samples))
	}
	if len(p.Bytes()) > 1<<20 {
		t.Errorf("%d bytes are held", len(p.Bytes()))
	}
	taker.Goroutines = n
	_, err = taker.Take(kinds.Goroutine)
	wantRefused(t, err, tooManyGoroutines)
}
