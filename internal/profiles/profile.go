package profiles

import (
	"fmt"
	"time"
)

// A Profile is one profile, or what one has grown by in a window.
type Profile struct {
	// Data is a gzipped profile.proto. A window of allocs has only the two values that
	// are a difference, alloc_objects and alloc_space.
	Data []byte
	// Elapsed is how long the window was; of a state 0.
	Elapsed time.Duration
	// Rate is the sampling of a window: one event in so many for mutex (the values have
	// been scaled up already, so that this many are one observation), the mean bytes
	// between two samples for allocs, 0 for block, whose rate the runtime does not tell.
	Rate int64
}

// A Reason says in a word why a profile was not taken. There are few, and they
// are fit for a metric's label.
type Reason string

const (
	Unavailable       Reason = "unavailable"         // the program has no such profile
	RateZero          Reason = "rate_zero"           // the sampling that it rests on is off
	RateChanged       Reason = "rate_changed"        // the sampling changed during the window
	TooManyGoroutines Reason = "too_many_goroutines" // above Taker.Goroutines
	TooManyBuckets    Reason = "too_many_buckets"    // the runtime keeps too many stacks
	TooLarge          Reason = "too_large"           // the profile cannot be kept, or decoded within limits
	Interval          Reason = "interval"            // the profiles before have used up Taker.Share
	NoBegin           Reason = "no_begin"            // there is nothing to subtract
	NoCollection      Reason = "no_collection"       // no garbage collection published anything
	Hung              Reason = "hung"                // the runtime did not answer in time
)

// A SkipError says why a profile was not taken and what to do about it.
type SkipError struct {
	Kind   string
	Reason Reason
	Detail string // one sentence
}

// Error is the kind, the reason and the detail.
func (e *SkipError) Error() string {
	return fmt.Sprintf("take %s profile: %s: %s", e.Kind, e.Reason, e.Detail)
}

func skip(k string, r Reason, format string, args ...any) error {
	return &SkipError{Kind: k, Reason: r, Detail: fmt.Sprintf(format, args...)}
}
