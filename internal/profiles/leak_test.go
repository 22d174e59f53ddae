package profiles

import (
	"sync"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/kinds"
)

// A goroutineleak profile that does not come leaves one goroutine, never a second,
// and the taker works again when it has come.
func TestLeakHangs(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.hang = make(chan struct{})
	taker := newTaker(t, f)
	taker.leak.timeout = time.Millisecond
	_, err := taker.Take(kinds.GoroutineLeak)
	wantSkip(t, err, Hung)
	parked := taker.leak.parked
	_, err = taker.Take(kinds.GoroutineLeak)
	wantSkip(t, err, Hung)
	if taker.leak.parked != parked {
		t.Error("a second profile was started behind the first")
	}
	if f.writes != 0 {
		t.Errorf("%d profiles were written, want none yet", f.writes)
	}
	close(f.hang)
	taker.leak.timeout = time.Minute
	var got Profile
	for range 10_000 { // until the parked one has come; the first that is not refused is ours
		if got, err = taker.Take(kinds.GoroutineLeak); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	parsed(t, got.Data)
}

// What is parked has a buffer of its own: a profile that comes late does not write
// into one that is in use.
func TestLateLeakHurtsNobody(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.hang = make(chan struct{})
	taker := newTaker(t, f)
	taker.leak.timeout = time.Millisecond
	_, err := taker.Take(kinds.GoroutineLeak)
	wantSkip(t, err, Hung)
	done := taker.leak.parked
	var wg sync.WaitGroup
	wg.Go(func() { close(f.hang) })
	for range 100 {
		parsed(t, take(t, taker, kinds.Heap).Data)
	}
	wg.Wait()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
