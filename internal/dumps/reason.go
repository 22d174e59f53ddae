package dumps

import (
	"errors"
	"io"
	"io/fs"
	"slices"
)

// Errors that the package makes itself. They arrive wrapped, with what was
// found and what to do; [Reason] sorts these and the system's into a few words.
var (
	// ErrInvalid: the caller passed something that cannot be.
	ErrInvalid = errors.New("invalid value")
	// ErrLimit: the dump alone is larger than Keep.Bytes.
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
	{"invalid", []error{ErrInvalid}},
	{"limit", []error{ErrLimit}},
	{"no_space", append(noSpace, ErrNoSpace)},
	{"refused", []error{ErrRefused}},
	{"permission", append(readOnly, fs.ErrPermission)},
	{"dropped", []error{ErrDropped}},
	{"closed", []error{fs.ErrClosed}},
	{"gone", []error{fs.ErrNotExist}},
	{"short_write", []error{io.ErrShortWrite}},
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
