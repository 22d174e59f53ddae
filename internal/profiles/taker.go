package profiles

import (
	"context"
	"errors"
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
	// BucketBytes is the size of the runtime's profiling buckets above which heap
	// and allocs are skipped. Default 32 MiB.
	BucketBytes int64
	// Stacks is the number of stacks above which mutex and block are skipped.
	// Default 100,000.
	Stacks int
	// Share is how much of one core each kind may cost. Default 0.005.
	Share float64

	src      source
	mutexSet bool                 // the mutex fraction, by us: if it is 0 again, somebody wants that
	paid     map[string]time.Time // when all that a kind has cost is below its share
	windows  map[string]*window
	leak     leakTaker

	data buffer // of the latest profile
}

// window is what is known at the start of a window of a difference.
type window struct {
	totals
	open        bool // there is something to subtract
	begun       bool // by Begin, which has looked whether the window is affordable
	start       time.Time
	collections uint64
	rate        int64         // of the runtime when the totals were read
	cost        time.Duration // of Begin
}

// Begin notes the totals of allocs, mutex or block at the start of a window.
func (t *Taker) Begin(k string) error {
	t.setUp()
	if kinds.Of(k).Taken != kinds.Difference {
		return skip(k, Unavailable, "it is no difference over a window; call Take")
	}
	rate, refused := t.admit(k, true)
	if refused != nil {
		return refused
	}
	w := t.window(k)
	start, collections := t.src.now(), t.src.collections()
	cost, err := t.measured(k, func() error {
		_, err := t.growth(k, w)
		return err
	})
	if w.open = err == nil; !w.open {
		return err
	}
	w.begun, w.cost = true, cost
	w.start, w.collections, w.rate = start, collections, w.rateOf(k, rate)
	return nil
}

// Begun reports whether the next End has totals to subtract: those of a Begin or an End
// that has not failed, or whose window goes on.
func (t *Taker) Begun(k string) bool {
	t.setUp()
	return t.window(k).open
}

// Start returns when the window began that the next End returns: at the latest Begin or
// End that has read the totals, which an End that fails may have done.
func (t *Taker) Start(k string) time.Time {
	t.setUp()
	return t.window(k).start
}

// End returns what allocs, mutex or block have grown by since the Begin or the End
// before it, whichever was later.
func (t *Taker) End(k string) (Profile, error) {
	t.setUp()
	if kinds.Of(k).Taken != kinds.Difference {
		return Profile{}, skip(k, Unavailable, "it is no difference over a window; call Take")
	}
	w := t.window(k)
	if !w.open {
		return Profile{}, skip(k, NoBegin, "there are no totals to subtract from this window's; call Begin first")
	}
	rate, refused := t.admit(k, !w.begun)
	if refused != nil {
		return Profile{}, refused
	}
	start, collections := t.src.now(), t.src.collections()
	if kinds.Of(k).Sampling == kinds.Memory && collections == w.collections {
		return Profile{}, skip(k, NoCollection, "allocations are published by garbage collections, and none has ended in the %v of the window; "+
			"the next one will cover this time too if it does not begin anew", start.Sub(w.start).Round(time.Millisecond))
	}
	p := Profile{Kind: k, Start: w.start, Elapsed: start.Sub(w.start)}
	read := false
	cost, err := t.measured(k, func() error {
		grown, err := t.growth(k, w)
		if err != nil {
			return err
		}
		read = true
		if p.Rate = w.rateOf(k, rate); p.Rate != w.rate {
			return skip(k, RateChanged, "its sampling was one in %d at the start of the window and one in %d at the end; "+
				"set it once, early in main", w.rate, p.Rate)
		}
		return write(k, grown, p.Start, p.Elapsed, &t.data)
	})
	p.Cost = w.cost + cost
	w.open, w.begun, w.cost = read, false, 0
	w.start, w.collections, w.rate = start, collections, w.rateOf(k, rate)
	if err != nil {
		return Profile{}, err
	}
	p.Data = t.data.data
	return p, nil
}

// Take returns the state of heap, goroutine or goroutineleak.
func (t *Taker) Take(k string) (Profile, error) {
	t.setUp()
	if kinds.Of(k).Taken == kinds.Difference {
		return Profile{}, skip(k, Unavailable, "it is a difference over a window; call Begin and End")
	}
	rate, refused := t.admit(k, true)
	if refused != nil {
		return Profile{}, refused
	}
	p := Profile{Kind: k, Start: t.src.now(), Rate: int64(rate)}
	var err error
	p.Cost, err = t.measured(k, func() error { return t.read(k) })
	if err != nil {
		return Profile{}, err
	}
	p.Data = t.data.data
	return p, nil
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

// Close takes back the rates that the taker has set, if they are still what it set,
// and forgets the windows that are open. It may be called twice, and a taker may be
// used again after it.
func (t *Taker) Close() {
	t.setUp()
	t.restoreMutex()
	clear(t.windows)
	t.data = buffer{}
}

func (t *Taker) setUp() {
	if t.src == nil {
		t.src = newRuntimeSource()
	}
	if t.windows == nil {
		t.windows, t.paid = map[string]*window{}, map[string]time.Time{}
	}
}

func (t *Taker) window(k string) *window {
	w := t.windows[k]
	if w == nil {
		w = new(window)
		t.windows[k] = w
	}
	return w
}

// admit reports whether a profile can be had and afforded, and the rate that it is
// sampled with. What has begun is not asked to wait: it is paid for afterwards.
func (t *Taker) admit(k string, wait bool) (rate int, refused *SkipError) {
	if !t.src.has(k) {
		if k == kinds.GoroutineLeak {
			return 0, skip(k, Unavailable, "the runtime was built without it; build with GOEXPERIMENT=goroutineleakprofile, or leave the budget out")
		}
		return 0, skip(k, Unavailable, "the runtime has no profile of that name")
	}
	switch {
	case k == kinds.Mutex:
		rate, refused = t.mutexFraction()
	case k == kinds.Block:
		if t.src.count(k) == 0 {
			refused = skip(k, RateZero, "no goroutine has been recorded as blocked, so block profiling is off; "+
				"call runtime.SetBlockProfileRate(n) with n nanoseconds, knowing that it costs every channel operation that blocks")
		}
	case kinds.Of(k).Sampling == kinds.Memory:
		if rate = t.src.memProfileRate(); rate <= 0 {
			refused = skip(k, RateZero, "runtime.MemProfileRate is 0, so allocations are not sampled; leave it at its default of 512 KiB")
		}
	default:
		rate = 1
	}
	if refused != nil {
		t.window(k).open = false // what was noted goes with another rate
		return 0, refused
	}
	if refused = t.affordable(k); refused != nil {
		return 0, refused
	}
	if d := t.paid[k].Sub(t.src.now()); wait && d > 0 {
		return 0, skip(k, Interval, "the profiles before have cost so much that the next is due in %v, to stay below %.2g%% of a core",
			d.Round(time.Millisecond), 100*or(t.Share, defaultShare))
	}
	return rate, nil
}

// rateOf is the rate that the latest profile was sampled with: of memory it is
// the one that the values have been scaled by.
func (w *window) rateOf(k string, rate int) int64 {
	if kinds.Of(k).Sampling == kinds.Memory {
		return w.period
	}
	return int64(rate)
}

// measured does what costs, and charges the kind for it.
func (t *Taker) measured(k string, do func() error) (time.Duration, error) {
	// The profile is written by the calling goroutine, so its thread's time is
	// the cost, whoever else is busy.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := t.src.now()
	cpu, known := t.src.threadCPU()
	err := do()
	end := t.src.now()
	cost := end.Sub(start)
	if used, ok := t.src.threadCPU(); ok && known && k != kinds.GoroutineLeak {
		cost = used - cpu
	}
	// Costs add up: one that comes while an earlier one is being waited for (an End
	// after its Begin) prolongs the wait. A day is longer than any profile can be worth,
	// and keeps a share that is nearly 0 from overflowing.
	if t.paid[k].Before(end) {
		t.paid[k] = end
	}
	t.paid[k] = t.paid[k].Add(time.Duration(min(float64(cost)/or(t.Share, defaultShare), float64(24*time.Hour))))
	return cost, explained(k, err)
}

// read puts the runtime's profile into t.data.
func (t *Taker) read(k string) error {
	t.data.reset(maxGzip)
	var err error
	if k == kinds.GoroutineLeak {
		err = t.leak.write(t.src, &t.data)
	} else {
		err = t.src.write(k, &t.data)
	}
	if err == nil && t.data.over {
		return skip(k, TooLarge, "the profile is larger than %d MiB compressed, and nothing could judge it", maxGzip>>20)
	}
	return err
}

// growth reads what the kind has grown by since the latest call.
func (t *Taker) growth(k string, w *window) (*decode.Table, error) {
	if err := t.read(k); err != nil {
		return nil, err
	}
	p, err := parse(k, t.data.data)
	if err != nil {
		return nil, err
	}
	w.subtract(p)
	return p, nil
}

// explained makes a SkipError of any other.
func explained(k string, err error) error {
	var refused *SkipError
	if err == nil || errors.As(err, &refused) {
		return err
	}
	refused = skip(k, Broken, "%v; please report this with the version of Go", err)
	refused.cause = err
	return refused
}
