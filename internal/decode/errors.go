package decode

import (
	"bytes"
	"errors"
	"fmt"
	"unicode"
)

// ErrMalformed is wrapped by the errors about input that is no valid profile.
var ErrMalformed = errors.New("malformed profile")

// A LimitError says which limit a profile exceeds.
type LimitError struct {
	What string // the quantity: "samples"
	// Got is the amount that was found, at least until decoding stopped.
	Got   int64
	Limit int64
}

// Error also says what a user of the library can do.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%d %s, the limit is %d: take a profile of a shorter time", e.Got, e.What, e.Limit)
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// shown is the most that is cited of a text: enough for messages that servers send in the
// place of a profile, such as "could not enable CPU profiling: cpu profiling already in use".
const shown = 80

// foreign returns an error that says what the input is, if it is not protobuf at all, or nil.
// It is called only for input that did not decode, because protobuf may look like anything.
func foreign(b []byte) error {
	const remedy = "expected what runtime/pprof writes, or /debug/pprof/profile serves without debug=1"
	switch {
	case len(b) == 0: // cut, most likely
	case bytes.HasPrefix(b, []byte("go 1.")) && bytes.HasPrefix(b[min(len(b), 7):], []byte(" trace\x00")):
		return malformed("this is an execution trace and not a pprof profile: %s", remedy)
	case !bytes.ContainsFunc(b[:min(len(b), 512)], isBinary):
		line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
		return malformed("this is text and not a pprof profile, %q: %s", bytes.ToValidUTF8(line[:min(len(line), shown)], nil), remedy)
	}
	return nil
}

// isBinary reports whether r is a control character other than white space. A profile has
// some in its first bytes, which are wire types and small numbers.
func isBinary(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }
