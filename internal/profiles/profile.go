package profiles

import (
	"errors"
	"fmt"
	"time"
)

// A Profile is one profile, or what one has grown by in a window.
type Profile struct {
	Kind string
	// Data is a gzipped profile.proto. It is the taker's buffer and valid until
	// its next call. A window of allocs has only the two values that are a
	// difference, alloc_objects and alloc_space.
	Data []byte
	// Start and Elapsed are when the window began and how long it was; of a state,
	// when it was read, and 0.
	Start   time.Time
	Elapsed time.Duration
	// Cost is the CPU time that taking it took, the one at Begin included; where
	// the system does not tell a thread's CPU time, and for goroutineleak, whose
	// collection runs on all threads, it is elapsed time.
	Cost time.Duration
	// Rate is the sampling: one event in so many for mutex (the values have been
	// scaled up already, so that this many are one observation), the mean bytes
	// between two samples for heap and allocs, 1 for goroutines, 0 for block,
	// whose rate the runtime does not tell.
	Rate int64
}

// ErrUnavailable is wrapped by the error about a kind of profile that this program
// does not have.
var ErrUnavailable = errors.New("this program has no such profile")

// A Reason says in a word why a profile was not taken. There are few, and they
// are fit for a metric's label.
type Reason string

const (
	Unavailable       Reason = "unavailable"         // the program has no such profile
	RateZero          Reason = "rate_zero"           // the sampling that it rests on is off
	RateChanged       Reason = "rate_changed"        // the sampling changed during the window
	TooManyGoroutines Reason = "too_many_goroutines" // above Taker.Goroutines
	TooManyBuckets    Reason = "too_many_buckets"    // above Taker.BucketBytes or Taker.Stacks
	TooLarge          Reason = "too_large"           // the profile does not fit the buffers
	Interval          Reason = "interval"            // the profiles before have used up Taker.Share
	NoBegin           Reason = "no_begin"            // there is nothing to subtract
	NoCollection      Reason = "no_collection"       // no garbage collection published anything
	Hung              Reason = "hung"                // the runtime did not answer in time
	Broken            Reason = "broken"              // the runtime's profile could not be read
)

// A SkipError says why a profile was not taken and what to do about it.
type SkipError struct {
	Kind   string
	Reason Reason
	Detail string // one sentence

	cause error
}

// Error is the kind, the reason and the detail.
func (e *SkipError) Error() string {
	return fmt.Sprintf("take %s profile: %s: %s", e.Kind, e.Reason, e.Detail)
}

// Unwrap is [ErrUnavailable], the error of runtime/pprof, or nil.
func (e *SkipError) Unwrap() error { return e.cause }

func skip(k string, r Reason, format string, args ...any) *SkipError {
	e := &SkipError{Kind: k, Reason: r, Detail: fmt.Sprintf(format, args...)}
	if r == Unavailable {
		e.cause = ErrUnavailable
	}
	return e
}
