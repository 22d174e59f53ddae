package dumps

import (
	"errors"
	"io/fs"
	"slices"
)

// Errors that the package makes itself. They arrive wrapped, with what was
// found and what to do; [Reason] sorts these and the system's into a few words.
var (
	// ErrLimit: the dump alone is larger than Keep.Bytes, or its sidecar than may be.
	ErrLimit = errors.New("retention limit reached")
	// ErrNoSpace: less than Keep.Free of the disk would be left.
	ErrNoSpace = errors.New("not enough free disk space")
	// ErrDropped: the queue is full.
	ErrDropped = errors.New("dropped")
	// ErrRefused: the directory, or something found in it, is not safe to use.
	ErrRefused = errors.New("refused as unsafe")
)

// reasons are words for errors; of two that fit, the first.
var reasons = []struct {
	word string
	errs []error
}{
	{"limit", []error{ErrLimit}},
	{"no_space", append(noSpace, ErrNoSpace)},
	{"refused", []error{ErrRefused}},
	{"permission", append(readOnly, fs.ErrPermission)},
	{"dropped", []error{ErrDropped}},
	{"other", nil},
}

// Reasons are the words of [Reason].
func Reasons() (words []string) {
	for _, r := range reasons {
		words = append(words, r.word)
	}
	return words
}

// Reason sorts an error of this package into one of a few words, fit for a
// metric's label; "" for nil.
func Reason(err error) string {
	if err == nil {
		return ""
	}
	for _, r := range reasons {
		if slices.ContainsFunc(r.errs, func(e error) bool { return errors.Is(err, e) }) {
			return r.word
		}
	}
	return "other"
}
