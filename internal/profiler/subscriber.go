package profiler

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/decode"
)

// streamQueue is how many finished blocks wait for a stream's callback. A stream
// with a full queue takes no part in further slices until the callback returns,
// so a slow callback costs blocks, not memory.
const streamQueue = 4

// A subscriber is one interval, or one stream of blocks, in the making. Its
// fields but out belong to the hub's mutex.
type subscriber struct {
	want   time.Duration
	stream bool
	out    chan parcel // never blocks the hub: see ready

	relieve func() // see CaptureLean; may be nil

	since  time.Time // waiting for a cut since then
	member bool      // takes part in the current slice
	got    parcel
}

// A parcel is what a subscriber is owed: the slices of a window, not yet merged.
type parcel struct {
	slices  [][]byte
	start   time.Time
	elapsed time.Duration
	cpu     time.Duration
	bytes   int
	asleep  time.Duration // the clocks' reading at start

	outcome Outcome
	reason  string
	last    bool // the hub has dropped the subscriber
}

func newSubscriber(want time.Duration, stream bool) *subscriber {
	s := &subscriber{want: want, stream: stream, out: make(chan parcel, 1)}
	if stream {
		s.out = make(chan parcel, streamQueue)
	}
	return s
}

// ready reports whether s can be sent another parcel, and so can take part in
// the next slice. Only the hub sends, so the room stays until it does.
func (s *subscriber) ready() bool { return len(s.out) < cap(s.out) }

// add gives s its share of a slice and sends the parcel if that completes it.
// It reports whether s is done for good.
func (s *subscriber) add(sl slice) (done bool) {
	p := &s.got
	if len(p.slices) == 0 {
		p.start, p.asleep = sl.start, sl.asleepStart
	}
	p.slices = append(p.slices, sl.data)
	p.bytes += len(sl.data)
	p.elapsed += sl.elapsed
	p.cpu += sl.cpu

	switch {
	case sl.over || p.bytes > sl.limit:
		s.fail(TooLarge, reasonTooLarge(sl.limit))
		return true
	case p.elapsed < s.want:
		return false
	}
	p.judgeTime(s.want, s.stream, sl.asleepEnd-p.asleep)
	p.last = !s.stream
	s.out <- *p
	s.got = parcel{}
	s.since = time.Now()
	return !s.stream
}

// fail ends the subscription with a parcel that says why. What was gathered so
// far is dropped, but its numbers stay.
func (s *subscriber) fail(o Outcome, reason string) {
	p := s.got
	p.slices, p.outcome, p.reason, p.last = nil, o, reason, true
	s.got = parcel{}
	s.out <- p
}

// A slice is one runtime profile.
type slice struct {
	data    []byte
	over    bool // data was larger than limit, and is gone
	limit   int
	start   time.Time
	elapsed time.Duration
	cpu     time.Duration

	asleepStart, asleepEnd time.Duration
}

// deliver hands sl to its members and drops those that have all they wanted.
// h.mu must be held.
func (h *Hub) deliver(sl slice) {
	h.subs = slices.DeleteFunc(h.subs, func(s *subscriber) bool {
		if !s.member {
			return false
		}
		s.member = false
		return s.add(sl)
	})
}

// fail ends the subscriptions of everybody who takes part in the current slice,
// or waits for the next.
func (h *Hub) fail(o Outcome, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs = slices.DeleteFunc(h.subs, func(s *subscriber) bool {
		s.member = false
		if !s.ready() {
			return false // busy with what it has; it will find out when it resumes
		}
		s.fail(o, reason)
		return true
	})
	h.release()
}

// release lets those go on who wait for the profiler to be free. h.mu must be
// held.
func (h *Hub) release() {
	if h.inFlight != nil {
		close(h.inFlight)
		h.inFlight = nil
	}
}

// merge makes one profile of several slices, one after the other.
func merge(slices [][]byte) ([]byte, *LostError) {
	var d decode.Decoder
	var sum decode.Merger
	var out bytes.Buffer
	for i, data := range slices {
		t, err := d.Bytes(data)
		if err != nil {
			return nil, &LostError{Outcome: Broken, Reason: fmt.Sprintf("slice %d of %d cannot be read: %v", i+1, len(slices), err)}
		}
		// Merging would hide it: it keeps the longest period of all.
		if t.Period != period {
			return nil, &LostError{Outcome: Rate, Reason: reasonRate(t.Period)}
		}
		if err := sum.Add(t); err != nil {
			return nil, &LostError{Outcome: Broken, Reason: fmt.Sprintf("slice %d of %d: %v", i+1, len(slices), err)}
		}
	}
	if err := sum.Write(&out); err != nil {
		return nil, &LostError{Outcome: Broken, Reason: fmt.Sprintf("%d merged slices cannot be written: %v", len(slices), err)}
	}
	return out.Bytes(), nil
}
