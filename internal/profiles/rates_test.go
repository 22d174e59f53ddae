package profiles

import (
	"runtime"
	"testing"

	"github.com/profguard/profguard/internal/kinds"
)

// TestFault_54_MutexRate: the mutex fraction is set if nobody has done so, and
// restored only if it is still ours.
func TestFault_54_MutexRate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		first int // before the first Take
		want  int // in force in the window
		host  int // set by the host in the window; -1: nothing
		after int // after Close
	}{
		{name: "nobody", first: 0, want: ourMutexFraction, host: -1, after: 0},
		{name: "the host's", first: 5, want: 5, host: -1, after: 5},
		{name: "the host's after ours", first: 0, want: ourMutexFraction, host: 5, after: 5},
		{name: "the host's off after ours", first: 0, want: ourMutexFraction, host: 0, after: 0},
		{name: "the host's same as ours, before", first: ourMutexFraction, want: ourMutexFraction, host: -1, after: ourMutexFraction},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.mutexRate = tt.first
			taker := newTaker(t, f)
			begin(t, taker, kinds.Mutex)
			if f.mutexRate != tt.want {
				t.Errorf("fraction is %d in the window, want %d", f.mutexRate, tt.want)
			}
			if tt.host >= 0 {
				f.mutexRate = tt.host
			}
			taker.Close()
			taker.Close()
			if f.mutexRate != tt.after {
				t.Errorf("fraction is %d after Close, want %d", f.mutexRate, tt.after)
			}
		})
	}
}

// Who sets the fraction to 0 after us means it.
func TestMutexSwitchedOff(t *testing.T) {
	t.Parallel()
	f := newFake()
	taker := newTaker(t, f)
	begin(t, taker, kinds.Mutex)
	f.mutexRate = 0
	_, err := taker.Take(kinds.Mutex)
	wantRefused(t, err, rateZero)
	taker.Close() // other budgets do not change that
	_, err = taker.Take(kinds.Mutex)
	wantRefused(t, err, rateZero)
	if f.mutexRate != 0 {
		t.Errorf("fraction is %d, want it left at 0", f.mutexRate)
	}
}

// Nobody tells the rate of block profiling. Where nothing was recorded it is off.
func TestBlockRate(t *testing.T) {
	t.Parallel()
	f := newFake()
	taker := newTaker(t, f)
	_, err := taker.Take(kinds.Block)
	wantRefused(t, err, neverBlocked)
	f.stacks[kinds.Block] = 3
	begin(t, taker, kinds.Block)
}

// The same against the runtime.
func TestRuntimeMutexRate(t *testing.T) {
	read := func() int { return runtime.SetMutexProfileFraction(-1) }
	if was := read(); was != 0 {
		t.Skipf("the fraction is %d", was)
	}
	t.Cleanup(func() { runtime.SetMutexProfileFraction(0) })
	taker := newTaker(t, runtimeSource{})
	begin(t, taker, kinds.Mutex)
	if read() != ourMutexFraction {
		t.Errorf("fraction is %d in the window, want %d", read(), ourMutexFraction)
	}
	taker.Close()
	if read() != 0 {
		t.Errorf("fraction is %d after Close, want 0", read())
	}
	runtime.SetMutexProfileFraction(13)
	begin(t, taker, kinds.Mutex)
	taker.Close()
	if read() != 13 {
		t.Errorf("the host's fraction is %d after Close, want 13", read())
	}
}
