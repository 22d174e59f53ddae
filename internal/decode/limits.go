package decode

import (
	"bytes"
	"errors"
	"fmt"
	"unicode"
)

// Limits on one profile. They allow several times the 50,000 stacks of a large Go program, and
// keep the memory that a decoder allocates for one profile within 64 MiB.
const (
	// maxInput is the number of bytes read, compressed or not: at the two to four times
	// by which profiles deflate it goes with maxRaw.
	maxInput = 8 << 20
	// maxRaw is the number of bytes after decompression. It keeps every count and offset
	// in the tables within an int32: each counted object takes at least a byte, each
	// location yields at most two.
	maxRaw = 32 << 20
	// maxMemory is the number of bytes of the input, its decompressed form and its tables
	// together. It limits everything that has no limit of its own. The other 16 MiB are for
	// reading a stream of unknown length and for rounding up.
	maxMemory = 48 << 20

	// maxSamples is the number of distinct stacks. A window of ten seconds on sixty-four
	// busy cores cannot have more than 64,000.
	maxSamples = 200_000
	// maxTypes is the number of values of a sample, of which the runtime has at most four.
	maxTypes = 64
	// maxDepth is the number of frames of one stack, inlined ones included: the runtime
	// records at most 128 calls, into each of which a few functions may have been inlined.
	maxDepth = 4096
	// maxFrames is the number of frames of all stacks together, inlined ones included,
	// sixty for each of 50,000 stacks.
	maxFrames = 3_000_000
	// maxNameBytes is the length of a function or file name: names of generic instances
	// run to a few KiB, and names are kept.
	maxNameBytes = 16 << 10
)

// memory is the number of bytes of maxMemory that a profile may still use. Buffers that are used
// again count as new ones, so that the result for a profile is always the same.
type memory int64

// reserve subtracts n bytes. It returns an error if fewer were left.
func (m *memory) reserve(n int64) error {
	*m -= memory(n)
	if *m < 0 {
		return &LimitError{"bytes of memory needed", maxMemory - int64(*m), maxMemory}
	}
	return nil
}

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
