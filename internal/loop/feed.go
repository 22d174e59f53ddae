package loop

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/profiler"
)

const (
	// fedLeast and fedMost are the shortest and the longest window that may be fed: as of the
	// guard's own windows.
	fedLeast = time.Second
	fedMost  = 5 * time.Minute
	// fedAge is the age of the oldest profile that is judged. What it shows has to be true now.
	fedAge = 5 * time.Minute
	// fedSlack is how far the times of who took a profile may be from its own: agents read the
	// clock before and after calls that may take a second.
	fedSlack = 2 * time.Second
	// fedWaiting is the number of profiles that wait to be judged, which takes milliseconds.
	fedWaiting = 2
	// fedFirst is how long the first profile of an agent may take: it has windows of up to a minute,
	// and starts and sends in its own time.
	fedFirst = 2 * time.Minute
)

// ErrKind is wrapped by the error about a profile that is none of CPU.
var ErrKind = errors.New("expected a CPU profile")

// A Feed has the windows of CPU that other code has taken. While there are some, the loop takes none
// itself.
type Feed struct {
	reading sync.Mutex // one profile at a time
	decoder decode.Decoder
	fed     chan struct{} // holds a token when a window waits

	mu      sync.Mutex
	waiting []profiler.Window
	ends    time.Time     // the end of the last one
	until   time.Time     // when the next one should have come
	open    int           // profiles that are read, wait, or are judged
	judged  chan struct{} // closed when there are none; made by Judged
}

func newFeed() *Feed { return &Feed{fed: make(chan struct{}, 1)} }

// Announce says that profiles will be fed.
func (f *Feed) Announce() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if until := time.Now().Add(fedFirst); until.After(f.until) {
		f.until = until
	}
}

// Add takes the CPU profile of a time. It reads it, within the limits of package decode, and keeps a
// copy. It waits for nothing.
func (f *Feed) Add(data []byte, start, end time.Time) error {
	now := time.Now()
	if !f.reading.TryLock() {
		return errors.New("another profile is being read: feed one at a time")
	}
	defer f.reading.Unlock()
	waits := false
	f.count(1)
	defer func() {
		if !waits {
			f.count(-1)
		}
	}()
	t, err := f.decoder.Bytes(data)
	if err != nil {
		return err
	}
	if len(t.Types) != 2 || t.Types[0] != (decode.ValueType{Type: "samples", Unit: "count"}) || t.Types[1] != (decode.ValueType{Type: "cpu", Unit: "nanoseconds"}) {
		return fmt.Errorf("%w, with samples/count and cpu/nanoseconds, found %v: the guard takes profiles of other kinds itself", ErrKind, t.Types)
	}
	if err := cmp.Or(f.times(start, end, now), fits(t, start, end)); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	took := end.Sub(start)
	// An agent that waits for its server, or is restarted, is late by a window or two.
	f.ends, f.until = end, now.Add(3*took+time.Minute)
	if len(f.waiting) == fedWaiting {
		return fmt.Errorf("%d profiles wait to be judged already: this one is left out", fedWaiting)
	}
	f.waiting = append(f.waiting, profiler.Window{
		Source: decode.Source{Data: zipped(data)}, Start: start, Asked: took, Elapsed: took, Fed: true,
	})
	waits = true
	select {
	case f.fed <- struct{}{}:
	default: // there is a token already
	}
	return nil
}

// count notes that a profile has come, or with -1 that one is judged or refused.
func (f *Feed) count(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open += n; f.open == 0 && f.judged != nil {
		close(f.judged)
		f.judged = nil
	}
}

// Judged waits until what was fed is judged, or ctx ends.
func (f *Feed) Judged(ctx context.Context) {
	f.mu.Lock()
	if f.open > 0 && f.judged == nil {
		f.judged = make(chan struct{})
	}
	judged := f.judged
	f.mu.Unlock()
	if judged != nil {
		select {
		case <-judged:
		case <-ctx.Done():
		}
	}
}

// zipped is a copy of a profile, gzipped as dumps are.
func zipped(data []byte) []byte {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return slices.Clone(data)
	}
	return decode.Gzip(data)
}

// times checks the time of a window.
func (f *Feed) times(start, end, now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	took := end.Sub(start)
	if f.ends.After(now.Add(fedSlack)) { // somebody has set the clock back
		f.ends = time.Time{}
	}
	switch {
	case took < fedLeast || took > fedMost:
		return fmt.Errorf("expected a profile of %v to %v, found one from %s to %s: say when it was started and stopped",
			fedLeast, fedMost, start.Format(time.TimeOnly), end.Format(time.TimeOnly))
	case end.After(now.Add(fedSlack)):
		return fmt.Errorf("it ends in %v, which is in the future: say when it was stopped, by this machine's clock", end.Sub(now).Round(time.Second))
	case now.Sub(end) > fedAge:
		return fmt.Errorf("it ended %v ago, and would be judged as current: feed profiles when they are taken", now.Sub(end).Round(time.Second))
	case start.Before(f.ends.Add(-min(took/10, fedSlack))):
		return fmt.Errorf("it starts at %s, and the one before ended at %s: feed each profile once, in order, and none that overlap",
			start.Format(time.TimeOnly), f.ends.Format(time.TimeOnly))
	}
	return nil
}

// fits checks that a profile is of that time, and of one process.
func fits(t *decode.Table, start, end time.Time) error {
	took := end.Sub(start)
	if slices.ContainsFunc(t.Values, func(v int64) bool { return v < 0 }) {
		return errors.New("it has negative values, as the difference of two profiles has: feed what runtime/pprof has written")
	}
	if d := time.Duration(t.DurationNanos); d < took-took/10-fedSlack || d > took+took/10+fedSlack {
		return fmt.Errorf("it says that it covers %v, but was fed as one of %v: say when it was started and stopped", d.Round(time.Millisecond), took.Round(time.Millisecond))
	}
	if at := time.Unix(0, t.TimeNanos); t.TimeNanos != 0 && (at.Before(start.Add(-fedSlack-took/10)) || at.After(end)) {
		return fmt.Errorf("it says that it starts at %s, but was fed as from %s: say when it was started", at.Format(time.DateTime), start.Format(time.DateTime))
	}
	used := time.Duration(0)
	for i := range t.Samples {
		used = time.Duration(decode.AddSaturating(int64(used), t.Values[2*i+1]))
	}
	if most := time.Duration(runtime.NumCPU()) * (took + took/3 + fedSlack); used > most {
		return fmt.Errorf("it has %v of CPU in %v, more than this machine's %d cores can use: feed the profiles of this process only", used.Round(time.Second), took.Round(time.Second), runtime.NumCPU())
	}
	return nil
}

// next takes the next window. It reports whether windows are fed at all, and whether there is one.
func (f *Feed) next(now time.Time) (w profiler.Window, there, feeding bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.waiting) == 0 {
		return w, false, now.Before(f.until)
	}
	w, f.waiting = f.waiting[0], f.waiting[1:]
	if len(f.waiting) > 0 {
		select {
		case f.fed <- struct{}{}:
		default: // there is a token already
		}
	}
	return w, true, true
}

// feeds reports whether windows are fed.
func (f *Feed) feeds() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Now().Before(f.until)
}
