// Package decode turns a pprof profile (profile.proto, gzipped or not) into a
// [Table]: dense arrays of integers that can be counted without a map lookup
// or an allocation.
//
// It exists because github.com/google/pprof/profile is built for tools that
// look at one trusted profile. A guard decodes a profile every minute inside its
// host, and other profiles may be hostile. A [Decoder] keeps its buffers and
// names from profile to profile, so that decoding the bytes of the next profile of the same
// program allocates nothing. It refuses hostile input before it allocates memory
// for it.
//
// # How it works
//
//	reader -> input -> inflate -> scan -> walk -> Table
//
// The whole input is read, then inflated into one buffer of the right size. A
// counting scan over the wire format finds the number of objects and checks it
// against the limits of limits.go; it allocates nothing. The walk then fills
// tables of exactly the counted sizes. The order of the objects in a profile does not matter
// (runtime/pprof writes locations before samples and strings last, google/pprof writes
// samples first): the walk notes where they are, and reads strings, functions, locations and
// samples in this order.
//
// # What is accepted
//
// Exactly what google/pprof's ParseUncompressed and CheckValid accept, within
// the limits; a fuzz test compares the two. In particular ids need not be
// dense, unknown fields are skipped, a location may name a mapping that does
// not exist, and a string label without a value is no label. Formats from before
// profile.proto are refused, and so are gzip files of several members. Drop and keep expressions are not applied.
package decode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// A Decoder decodes one profile after the other, reusing its memory.
// The zero Decoder is ready to use. It is not safe for concurrent use.
type Decoder struct {
	raw    []byte       // the input after gunzip
	source bytes.Reader // the input, for gunzip
	gunzip gzip.Reader
	build  builder
}

// Decode reads r to its end and decodes the profile in it. The Table is valid
// until the decoder's next call.
func (d *Decoder) Decode(r io.Reader) (*Table, error) {
	b, err := io.ReadAll(io.LimitReader(&progress{Reader: r}, maxInput+1)) // one byte more, to see too much of it
	if err != nil {
		return nil, fmt.Errorf("decode profile: read: %w", err)
	}
	return d.Bytes(b)
}

// Bytes decodes the profile in b. The Table is valid until the decoder's next
// call or until b is changed.
func (d *Decoder) Bytes(b []byte) (*Table, error) {
	if len(b) > maxInput {
		return nil, fmt.Errorf("decode profile: %w", &LimitError{"bytes of input, or more", int64(len(b)), maxInput})
	}
	left := int64(maxMemory - len(b))
	raw := b
	if isGzip(b) {
		var err error
		if raw, err = d.inflate(b); err != nil {
			return nil, fmt.Errorf("decode profile: %w", err)
		}
		left -= int64(len(raw))
	}
	t, err := d.build.table(raw, left)
	if err != nil {
		if other := foreign(raw); other != nil {
			err = other
		}
		return nil, fmt.Errorf("decode profile: %w", err)
	}
	return t, nil
}

// progress is a reader that returns an error when it has read nothing again and again.
type progress struct {
	io.Reader
	idle int
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if p.idle++; n > 0 {
		p.idle = 0
	}
	if p.idle == 100 && err == nil { // as in bufio
		err = io.ErrNoProgress
	}
	return n, err
}

func isGzip(b []byte) bool { return len(b) >= 2 && b[0] == 0x1f && b[1] == 0x8b }

// maxRatio is how many bytes one byte of deflate can stand for.
const maxRatio = 1032

// inflate gunzips b into d.raw. The file ends with the size of its content, so the buffer is
// made at once. Files of several members, which no profiler writes, are refused.
func (d *Decoder) inflate(b []byte) ([]byte, error) {
	size := 0
	if len(b) > 4 {
		size = int(binary.LittleEndian.Uint32(b[len(b)-4:]))
	}
	switch {
	case size > maxRatio*len(b):
		return nil, malformed("gunzip: the file is cut off or damaged")
	case size > maxRaw:
		return nil, &LimitError{"bytes after decompression", int64(size), maxRaw}
	}
	d.raw = sized(d.raw, size+1) // one byte more, to see too much of it
	d.source.Reset(b)
	err := d.gunzip.Reset(&d.source)
	d.gunzip.Multistream(false)
	n := 0
	for err == nil && n < len(d.raw) {
		var k int
		k, err = d.gunzip.Read(d.raw[n:])
		n += k
	}
	switch {
	case err == io.EOF && n == size && d.source.Len() == 0:
		return d.raw[:n], nil
	case err == nil || err == io.EOF:
		return nil, malformed("gunzip: expected one member with a content of %d bytes, as the end of the file says", size)
	}
	return nil, fmt.Errorf("gunzip: %w", err)
}

// table decodes raw, which must take no more memory than is left.
func (b *builder) table(raw []byte, left int64) (*Table, error) {
	if len(raw) == 0 {
		return nil, malformed("it is empty")
	}
	if len(raw) > maxRaw {
		return nil, &LimitError{"bytes uncompressed", int64(len(raw)), maxRaw}
	}
	b.memory = memory(left)
	c, err := scan(raw)
	if err != nil {
		return nil, err
	}
	if c.samples > maxSamples {
		return nil, &LimitError{"samples", int64(c.samples), maxSamples}
	}
	if c.samples > 0 && c.types == 0 {
		return nil, malformed("it has samples but no sample types")
	}
	if c.strings == 0 {
		return nil, malformed("it has no string table")
	}
	names := min(c.strings, 2*(c.functions+c.types+1)+c.mappings) // a name and a file, a type and a unit
	if err := b.memory.reserve(c.bytes() + int64(names)*nameBytes); err != nil {
		return nil, err
	}
	b.reset(c)
	b.t.text, b.t.Symbols = raw, b.t.Symbols.next(names, len(raw))
	if err := b.walk(raw); err != nil {
		return nil, err
	}
	return &b.t, nil
}
