package decode

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

// A room is the rest of maxMemory. It counts the memory that a profile needs, and not what has
// to be allocated beyond the decoder's present buffers, so that the result for a profile is
// always the same.
type room int64

// take reserves n bytes.
func (r *room) take(n int64) error {
	*r -= room(n)
	if *r < 0 {
		return &LimitError{"bytes of memory needed", maxMemory - int64(*r), maxMemory}
	}
	return nil
}
