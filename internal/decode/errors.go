package decode

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// ErrMalformed is wrapped by the errors about input that is no valid profile.
var ErrMalformed = errors.New("malformed profile")

// ErrLegacy is wrapped by the error about a profile in one of the formats from
// before profile.proto.
var ErrLegacy = errors.New("this is a legacy profile (text, or gperftools binary), not profile.proto: " +
	"fetch it without debug=1, or convert it with `go tool pprof -proto`")

// A LimitError says which of a decoder's [Limits] a profile exceeds.
type LimitError struct {
	What string // what there is too much of, "samples"
	// Got is the amount that was found, or as much as was seen before giving up.
	Got   int64
	Limit int64
}

// Error advises what a user of the library can do, who has no [Limits] to set.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s %s, the limit is %s: take a profile of a shorter time, or, if you trust where this one comes from, "+
		"read it with profile.Parse and use Set.Judge, which has no limits", grouped(e.Got), e.What, grouped(e.Limit))
}

// grouped writes n with thousands separators: the limits are read by people.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// foreign says what input is that did not decode because it is in an older format or
// no profile at all, or nil. It is asked only then, because protobuf bytes may look
// like anything.
func foreign(b []byte) error {
	const remedy = "expected what runtime/pprof writes, or /debug/pprof/profile serves"
	line, _, _ := bytes.Cut(b[:min(len(b), 256)], []byte("\n"))
	begins := func(text string) bool { return bytes.HasPrefix(b, []byte(text)) }
	switch {
	case len(b) == 0:
		return nil // cut, most likely
	case begins("--- "), // heapz, contentionz, threadz, Java
		begins("\x00\x00\x00\x00\x03\x00\x00"),         // gperftools CPU, 32 bits
		begins("\x00\x00\x00\x00\x00\x00\x00\x00\x03"), // gperftools CPU, 64 bits
		bytes.Contains(line, []byte(" profile: ")),     // "heap profile: 1: 2 [...", "goroutine profile: total 7"
		begins("goroutine "):                           // "goroutine 1 [running]:", with debug=2
		return ErrLegacy
	case begins("go 1.") && bytes.HasPrefix(b[min(len(b), 7):], []byte(" trace\x00")):
		return malformed("this is an execution trace and not a pprof profile: %s", remedy)
	case isText(b):
		line, _, _ := bytes.Cut(bytes.TrimSpace(b[:min(len(b), shownText+utf8.UTFMax)]), []byte("\n"))
		return malformed("this is text and not a pprof profile, %q: %s", bytes.ToValidUTF8(line[:min(len(line), shownText)], nil), remedy)
	}
	return nil
}

const (
	// shownText is how much of a text is cited: enough for "could not enable CPU
	// profiling: cpu profiling already in use" and the like, which servers send in
	// place of a profile.
	shownText = 80
	// seenText is how much of the input decides whether it is text. A profile has
	// wire types and small numbers in its first bytes, which are control
	// characters.
	seenText = 512
)

// isText reports whether the input begins like something to be read.
func isText(b []byte) bool {
	cut := len(b) > seenText
	b = bytes.TrimPrefix(b[:min(len(b), seenText)], []byte("\ufeff"))
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && size == 1:
			return cut && !utf8.FullRune(b) // a character that the cut goes through
		case !unicode.IsPrint(r) && !unicode.IsSpace(r):
			return false
		}
		b = b[size:]
	}
	return true
}
