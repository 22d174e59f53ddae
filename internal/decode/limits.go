package decode

import (
	"errors"
	"fmt"
)

// Limits bound what one profile may cost to decode. A zero field means its
// default, a negative one is an error. The defaults admit 50,000 stacks of a
// large Go program several times over and keep everything that a decoder
// allocates for one profile within 64 MiB.
type Limits struct {
	// Input is the number of bytes read, compressed or not. Default 8 MiB:
	// at the two to four times by which profiles deflate it goes with Raw.
	Input int
	// Raw is the number of bytes after decompression. Default 32 MiB. It is
	// never taken to be above 1 GiB, so that offsets fit 32 bits.
	Raw int
	// Memory is the number of bytes of the input, its decompressed form and the
	// tables made of it together. Default 48 MiB; what reading a stream of
	// unknown length and rounding up cost stays below the other 16 MiB.
	Memory int

	// Samples is the number of distinct stacks. Default 200,000; a window of
	// ten seconds on sixty-four busy cores cannot have more than 64,000.
	Samples int
	// Locations is the number of distinct program counters. Default 500,000.
	Locations int
	// Functions is the number of functions. Default 200,000, more than
	// Kubernetes' largest binary has.
	Functions int
	// Mappings is the number of memory mappings. Default 65,536: Linux allows a
	// process 65,530.
	Mappings int
	// Strings is the number of entries in the string table. Default 1,000,000,
	// because label values are among them.
	Strings int
	// Types is the number of values that each sample has. Default 64; Go's own
	// profiles have at most 4.
	Types int
	// Labels is the number of labels of one sample. Default 32.
	Labels int
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
func (l Limits) complete() (Limits, error) {
	var err error
	l.Input = limit("Input", l.Input, 8<<20, &err)
	l.Raw = limit("Raw", l.Raw, 32<<20, &err)
	l.Memory = limit("Memory", l.Memory, 48<<20, &err)
	l.Samples = limit("Samples", l.Samples, 200_000, &err)
	l.Locations = limit("Locations", l.Locations, 500_000, &err)
	l.Functions = limit("Functions", l.Functions, 200_000, &err)
	l.Mappings = limit("Mappings", l.Mappings, 65_536, &err)
	l.Strings = limit("Strings", l.Strings, 1_000_000, &err)
	l.Types = limit("Types", l.Types, 64, &err)
	l.Labels = limit("Labels", l.Labels, 32, &err)
	l.Depth = limit("Depth", l.Depth, 4096, &err)
	l.Frames = limit("Frames", l.Frames, 3_000_000, &err)
	l.NameBytes = limit("NameBytes", l.NameBytes, 16<<10, &err)
	l.Raw = min(l.Raw, maxRaw)
	l.Input = min(l.Input, maxRaw)
	return l, err
}

// limit is a limit that was set, or its default.
func limit(field string, set, byDefault int, err *error) int {
	switch {
	case set < 0:
		*err = errors.Join(*err, fmt.Errorf("field %s of Limits is %d, want a positive number, or 0 for the default", field, set))
	case set == 0:
		return byDefault
	}
	return set
}

// check compares what the scan counted with the limits.
func (l Limits) check(c counts) error {
	for _, x := range [...]struct {
		got, limit  int
		what, field string
	}{
		{c.types, l.Types, "sample types", "Types"},
		{c.samples, l.Samples, "samples", "Samples"},
		{c.locations, l.Locations, "locations", "Locations"},
		{c.functions, l.Functions, "functions", "Functions"},
		{c.mappings, l.Mappings, "mappings", "Mappings"},
		{c.strings, l.Strings, "strings", "Strings"},
	} {
		if x.got > x.limit {
			return &LimitError{x.what, x.field, int64(x.got), int64(x.limit)}
		}
	}
	return nil
}

// A room is what is left of Limits.Memory. It goes by what a profile needs and
// not by what the decoder's buffers happen to hold already, so that the same
// profile always gets the same answer.
type room struct{ left, limit int64 }

// take reserves n bytes.
func (r *room) take(n int64) error {
	r.left -= n
	if r.left < 0 {
		return &LimitError{"bytes of memory needed", "Memory", r.limit - r.left, r.limit}
	}
	return nil
}
