package dump

import (
	"errors"
	"fmt"
	"time"
)

// Keep says what is kept. The zero Keep means the defaults that each field
// names; negative values are errors. All caps hold for the directory as a
// whole, however many processes share it.
type Keep struct {
	// Files is how many profiles are kept, 64 by default. A profile's sidecar
	// and companions go with it and count as bytes only.
	Files int
	// Bytes is how much all files of all dumps may take, 256 MiB by default.
	Bytes int64
	// Age is how long a dump is kept, 7 days by default.
	Age time.Duration
	// Interval is the least time between two dumps of one budget, 10 minutes by
	// default. It outlives a restart: a program that crashes in a loop does not
	// dump at every start.
	Interval time.Duration
	// Free is the fraction of the disk that a save must leave free, 0.10 by
	// default. It is not checked where the platform does not say.
	Free float64
}

// The defaults hold an ordinary incident whole: six hours at one dump per ten
// minutes are 36 dumps, a busy service's profile with companions is under 4 MiB,
// and a week covers the holiday of whoever has to look.
const (
	defaultFiles    = 64
	defaultBytes    = 256 << 20
	defaultAge      = 7 * 24 * time.Hour
	defaultInterval = 10 * time.Minute
	defaultFree     = 0.10
)

// withDefaults checks k, all fields at once, and fills in the defaults.
func (k Keep) withDefaults() (Keep, error) {
	var errs []error
	negative := func(field string, isNegative bool, got any) {
		if isNegative {
			errs = append(errs, fmt.Errorf("%w: Keep.%s is %v; use 0 for the default", ErrInvalid, field, got))
		}
	}
	negative("Files", k.Files < 0, k.Files)
	negative("Bytes", k.Bytes < 0, k.Bytes)
	negative("Age", k.Age < 0, k.Age)
	negative("Interval", k.Interval < 0, k.Interval)
	if !(k.Free >= 0 && k.Free < 1) {
		errs = append(errs, fmt.Errorf("%w: Keep.Free is %v; want a fraction from 0 (the default) to below 1", ErrInvalid, k.Free))
	}
	if k.Files == 0 {
		k.Files = defaultFiles
	}
	if k.Bytes == 0 {
		k.Bytes = defaultBytes
	}
	if k.Age == 0 {
		k.Age = defaultAge
	}
	if k.Interval == 0 {
		k.Interval = defaultInterval
	}
	if k.Free == 0 {
		k.Free = defaultFree
	}
	return k, errors.Join(errs...)
}
