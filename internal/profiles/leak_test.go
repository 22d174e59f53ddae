package profiles

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/profguard/profguard/internal/kinds"
)

// A goroutineleak profile that does not come leaves one goroutine, never a second,
// and the taker works again when it has come.
func TestLeakHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.hang = make(chan struct{})
		taker := &Taker{src: f}
		start := time.Now()
		_, err := taker.Take(kinds.GoroutineLeak)
		wantSkip(t, err, Hung)
		f.pass(time.Hour) // what it has cost is no reason to wait
		_, err = taker.Take(kinds.GoroutineLeak)
		wantSkip(t, err, Hung)
		if d := time.Since(start); d != leakTimeout {
			t.Errorf("two profiles that did not come took %v, want %v for the first", d, leakTimeout)
		}
		close(f.hang)
		synctest.Wait()
		f.pass(time.Hour)
		parsed(t, take(t, taker, kinds.GoroutineLeak).Data)
		if f.writes != 2 {
			t.Errorf("%d profiles were written, want the late one and the last", f.writes)
		}
	})
}
