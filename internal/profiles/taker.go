package profiles

import (
	"context"
	"runtime"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
)

// A Taker takes profiles. Its zero value is ready to use; zero fields mean their
// defaults. It is for one goroutine, and every call may take as long as a profile
// of what its caps admit, some tenths of a second at the worst.
type Taker struct {
	// Goroutines is the number of goroutines above which the goroutine profiles
	// are skipped. Default 10,000.
	Goroutines int
	// Share is how much of one core each kind may cost. Default 0.005.
	Share float64

	src      source
	mutexSet bool // the mutex fraction, by us: if it is 0 again, somebody wants that
	windows  map[string]*window
	parked   chan error // the outcome of a goroutineleak profile that did not come in time
}

// A window is what is known of a kind: for a difference the totals at the start of the
// window that is open, and for all what their profiles cost.
type window struct {
	totals
	open        bool // there is something to subtract
	start       time.Time
	collections uint64
	rate        int64 // of the runtime when the totals were read

	cost time.Duration // that is not charged yet
	paid time.Time     // when all that was charged is below Taker.Share
}

// Begin notes the totals of allocs, mutex or block at the start of a window. What that
// costs is charged with what its End costs, which need not wait for it.
func (t *Taker) Begin(k string) error {
	w := t.window(k)
	rate, err := t.admit(k, w)
	if err != nil {
		return err
	}
	if err := t.measured(k, w, func() error { _, err := t.growth(k, w, rate); return err }); err != nil {
		t.charge(w)
		return err
	}
	return nil
}

// Begun reports whether the next End has totals to subtract: those of a Begin or an End
// that has not failed, or whose window goes on.
func (t *Taker) Begun(k string) bool { return t.window(k).open }

// Start returns when the window began that the next End returns: at the latest Begin or
// End that has read the totals, which an End that fails may have done.
func (t *Taker) Start(k string) time.Time { return t.window(k).start }

// End returns what allocs, mutex or block have grown by since the Begin or the End
// before it, whichever was later.
func (t *Taker) End(k string) (Profile, error) {
	w := t.window(k)
	rate, err := t.admit(k, w)
	if err != nil {
		return Profile{}, err
	}
	if !w.open {
		return Profile{}, skip(k, NoBegin, "none could be taken at the start of the window, which would be subtracted")
	}
	start, before := w.start, w.rate
	if kinds.Of(k).Sampling == kinds.Memory && t.src.collections() == w.collections {
		return Profile{}, skip(k, NoCollection, "allocations are published by garbage collections, and none has ended in the %v of the window; "+
			"the next one will cover this time too if it does not begin anew", t.src.now().Sub(start).Round(time.Millisecond))
	}
	var p Profile
	err = t.measured(k, w, func() error {
		grown, err := t.growth(k, w, rate)
		if err != nil {
			return err
		}
		if w.rate != before {
			return skip(k, RateChanged, "its sampling was one in %d at the start of the window and one in %d at the end; "+
				"set it once, early in main", before, w.rate)
		}
		p = Profile{Elapsed: w.start.Sub(start), Rate: w.rate}
		p.Data, err = encode(k, grown, start, p.Elapsed)
		return err
	})
	t.charge(w)
	return p, err
}

// Take returns the state of heap, goroutine or goroutineleak.
func (t *Taker) Take(k string) (p Profile, err error) {
	w := t.window(k)
	if _, err := t.admit(k, w); err != nil {
		return p, err
	}
	err = t.measured(k, w, func() error { p.Data, err = t.read(k); return err })
	t.charge(w)
	return p, err
}

// Allocations are watched for nowFor, and for longer while there were fewer than
// nowCycles collections, which publish them one or two later; but for no longer than
// nowMost, because somebody waits. A process that does little but collect has many
// collections a second, and at one sample in 512 KiB hundreds of samples.
const (
	nowFor    = time.Second
	nowCycles = 3
	nowMost   = 5 * time.Second
)

// Now takes a profile of the kind as it is now, and of a difference one of the next
// second or so. No window of that difference may be open.
func (t *Taker) Now(ctx context.Context, k string) (Profile, error) {
	if kinds.Of(k).Taken != kinds.Difference {
		return t.Take(k)
	}
	if err := t.Begin(k); err != nil {
		return Profile{}, err
	}
	first, start := t.src.collections(), time.Now()
	tick := time.NewTicker(nowFor / 10)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return Profile{}, context.Cause(ctx)
		}
		watched := time.Since(start)
		if watched >= nowMost || watched >= nowFor && t.src.collections() >= first+nowCycles {
			return t.End(k)
		}
	}
}

// Close takes back the rate that the taker has set, if it is still what it set,
// and forgets the windows that are open. It may be called twice, and a taker may be
// used again after it.
func (t *Taker) Close() {
	t.restoreMutex()
	clear(t.windows)
}

func (t *Taker) window(k string) *window {
	if t.windows == nil {
		t.windows = map[string]*window{}
	}
	if t.src == nil {
		t.src = runtimeSource{}
	}
	w := t.windows[k]
	if w == nil {
		w = new(window)
		t.windows[k] = w
	}
	return w
}

// measured does what costs, and adds that to what the kind is to be charged for.
func (t *Taker) measured(k string, w *window, do func() error) error {
	// The profile is written by the calling goroutine, so its thread's time is
	// the cost, whoever else is busy. That of goroutineleak is the time that passes,
	// because its collection runs on all threads.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := t.src.now()
	cpu, known := t.src.threadCPU()
	err := do()
	cost := t.src.now().Sub(start)
	if used, ok := t.src.threadCPU(); ok && known && k != kinds.GoroutineLeak {
		cost = used - cpu
	}
	w.cost += cost
	return err
}

// charge makes the kind wait until its cost is below its share. A day is longer than any
// profile can be worth, and keeps a share that is nearly 0 from overflowing.
func (t *Taker) charge(w *window) {
	wait := min(float64(w.cost)/or(t.Share, defaultShare), float64(24*time.Hour))
	w.cost, w.paid = 0, t.src.now().Add(time.Duration(wait))
}

// read returns the runtime's profile.
func (t *Taker) read(k string) ([]byte, error) {
	b := new(buffer)
	var err error
	if k == kinds.GoroutineLeak {
		b, err = t.readLeak()
	} else {
		err = t.src.write(k, b)
	}
	if err != nil {
		return nil, err
	}
	return b.whole(k)
}

// growth returns what the kind has grown by since the latest call, with which the next
// window begins.
func (t *Taker) growth(k string, w *window, rate int) (*decode.Table, error) {
	start, collections := t.src.now(), t.src.collections()
	w.open = false
	data, err := t.read(k)
	if err != nil {
		return nil, err
	}
	p, err := parse(data)
	if err != nil {
		return nil, err
	}
	w.subtract(p)
	w.open, w.start, w.collections, w.rate = true, start, collections, int64(rate)
	if kinds.Of(k).Sampling == kinds.Memory {
		w.rate = p.Period // its values have been scaled by it
	}
	return p, nil
}
