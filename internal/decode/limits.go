package decode

import "cmp"

// Limits bound what one profile may cost to decode. A zero field means its
// default. The defaults admit 50,000 stacks of a large Go program several times
// over and keep everything that a decoder allocates for one profile within 64 MiB.
type Limits struct {
	// Input is the number of bytes read, compressed or not. Default 8 MiB:
	// at the two to four times by which profiles deflate it goes with Raw.
	Input int
	// Raw is the number of bytes after decompression. Default 32 MiB. It is
	// never taken to be above 1 GiB, so that offsets fit 32 bits.
	Raw int
	// Memory is the number of bytes of the input, its decompressed form and the
	// tables made of it together, which bounds all that has no limit of its own.
	// Default 48 MiB; what reading a stream of unknown length and rounding up cost
	// stays below the other 16 MiB.
	Memory int

	// Samples is the number of distinct stacks. Default 200,000; a window of
	// ten seconds on sixty-four busy cores cannot have more than 64,000.
	Samples int
	// Depth is the number of frames of one stack, inlined ones included. Default
	// 4,096: the runtime records at most 128 calls, into each of which a few
	// functions may have been inlined.
	Depth int
	// Frames is the number of frames of all stacks together, inlined ones
	// included. Default 3,000,000, sixty for each of 50,000 stacks.
	Frames int
	// NameBytes is the length of a function or file name. Default 16 KiB: names
	// of generic instances run to a few KiB, and names are kept.
	NameBytes int
}

// maxRaw keeps every count and offset in the tables within an int32: each
// counted object takes at least a byte, each location yields at most two.
const maxRaw = 1 << 30

// complete fills in the defaults.
func (l Limits) complete() Limits {
	return Limits{
		Input:     min(cmp.Or(l.Input, 8<<20), maxRaw),
		Raw:       min(cmp.Or(l.Raw, 32<<20), maxRaw),
		Memory:    cmp.Or(l.Memory, 48<<20),
		Samples:   cmp.Or(l.Samples, 200_000),
		Depth:     cmp.Or(l.Depth, 4096),
		Frames:    cmp.Or(l.Frames, 3_000_000),
		NameBytes: cmp.Or(l.NameBytes, 16<<10),
	}
}

// A room is what is left of Limits.Memory. It goes by what a profile needs and
// not by what the decoder's buffers happen to hold already, so that the same
// profile always gets the same answer.
type room struct{ left, limit int64 }

// take reserves n bytes.
func (r *room) take(n int64) error {
	r.left -= n
	if r.left < 0 {
		return &LimitError{"bytes of memory needed", r.limit - r.left, r.limit}
	}
	return nil
}
