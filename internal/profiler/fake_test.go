package profiler

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/google/pprof/profile"
)

// fakeProfiler is a profiler in virtual time. Its profiles hold one function
// with a sample for each period of its running time, so that what a subscriber
// was given can be added up.
type fakeProfiler struct {
	stopCost time.Duration     // how long a stop takes
	startErr func(i int) error // the i-th start, from 0, fails
	hang     chan struct{}     // if not nil, starts block until it is closed
	period   time.Duration     // 0: 10 ms
	padding  int               // bytes written before the profile
	blind    bool              // nobody knows whether it samples
	thief    bool              // somebody begins a profile right after it was looked at
	robber   bool              // somebody ends a profile when it is looked at, and begins another

	mu      sync.Mutex
	w       io.Writer
	began   time.Time
	starts  []time.Time
	stops   int
	foreign bool // another profile is running
	jammed  bool // a profile is booked, and dead
	errs    []error
}

var errInUse = errors.New("cpu profiling already in use")

func (f *fakeProfiler) start(w io.Writer) error {
	if f.hang != nil {
		<-f.hang
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	i := len(f.starts)
	f.starts = append(f.starts, time.Now())
	if f.startErr != nil {
		if err := f.startErr(i); err != nil {
			return err
		}
	}
	if f.foreign || f.jammed {
		return errInUse
	}
	if f.w != nil {
		f.errs = append(f.errs, fmt.Errorf("start %d while a profile is running", i))
		return errInUse
	}
	f.w, f.began = w, time.Now()
	return nil
}

func (f *fakeProfiler) stop() {
	time.Sleep(f.stopCost)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stops++
	f.jammed = false
	if f.foreign {
		f.errs = append(f.errs, errors.New("stopped somebody else's profile"))
	}
	f.end()
}

// end writes the running profile. f.mu must be held.
func (f *fakeProfiler) end() {
	if f.w == nil {
		return
	}
	period := f.period
	if period == 0 {
		period = 10 * time.Millisecond
	}
	// The cost of the stop is not sampled.
	elapsed := time.Since(f.began) - f.stopCost
	n := int64(elapsed / period)
	fn := &profile.Function{ID: 1, Name: "main.work"}
	loc := &profile.Location{ID: 1, Line: []profile.Line{{Function: fn}}}
	p := &profile.Profile{
		SampleType:    []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:        int64(period),
		TimeNanos:     f.began.UnixNano(),
		DurationNanos: int64(elapsed),
		Sample:        []*profile.Sample{{Location: []*profile.Location{loc}, Value: []int64{n, n * int64(period)}}},
		Location:      []*profile.Location{loc},
		Function:      []*profile.Function{fn},
	}
	f.w.Write(make([]byte, f.padding))
	if err := p.Write(f.w); err != nil {
		f.errs = append(f.errs, err)
	}
	f.w = nil
}

func (f *fakeProfiler) sampling() (yes, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	yes = f.foreign || f.w != nil
	if f.robber {
		f.end()
		f.foreign = true
	}
	f.foreign = f.foreign || f.thief && f.w == nil
	return yes, !f.blind
}

// steal ends the running profile as a foreign pprof.StopCPUProfile does, and
// with restart begins another at once.
func (f *fakeProfiler) steal(restart bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end()
	f.foreign = restart
}

// fakeClocks is a process that uses one core, on a machine that may sleep.
type fakeClocks struct {
	mu    sync.Mutex
	epoch time.Time
	slept time.Duration
	stall time.Duration // reading the CPU time takes that long, from the second reading on
	reads int
}

func (c *fakeClocks) cpu() time.Duration {
	c.mu.Lock()
	stall := c.stall
	if c.reads == 0 {
		stall = 0
	}
	c.reads++
	c.mu.Unlock()
	time.Sleep(stall)
	return time.Since(c.epoch)
}

func (c *fakeClocks) asleep() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slept
}

func (c *fakeClocks) suspend(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slept += d
}

type fakeSystem struct {
	*fakeProfiler
	*fakeClocks
}

// fakeHub must be called in the bubble.
func fakeHub(f *fakeProfiler) (*Hub, *fakeClocks) {
	c := &fakeClocks{epoch: time.Now()}
	return newHub(fakeSystem{f, c}, false), c
}
