package decode

import (
	"encoding/binary"
	"fmt"
	"io"
)

func isGzip(b []byte) bool { return len(b) >= 2 && b[0] == 0x1f && b[1] == 0x8b }

// firstRead is the size of the first buffer: a profile of ten seconds is about 20 KiB
// compressed, and one of a minute 100.
const firstRead = 64 << 10

// read fills d.input from r.
func (d *Decoder) read(r io.Reader) error {
	d.input = sized(d.input, firstRead)
	d.input = d.input[:cap(d.input)]
	for n, idle := 0, 0; ; {
		if n == len(d.input) {
			more := make([]byte, min(2*len(d.input), maxInput+1)) // one byte more, to see too much of it
			copy(more, d.input)
			d.input = more
		}
		k, err := r.Read(d.input[n:])
		n += k
		if n > maxInput {
			return &LimitError{"bytes of input, or more", int64(n), maxInput}
		}
		if err == io.EOF {
			d.input = d.input[:n]
			return nil
		}
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if idle++; k > 0 {
			idle = 0
		} else if idle == 100 { // as in bufio
			return fmt.Errorf("read: %w", io.ErrNoProgress)
		}
	}
}

// maxRatio is how many bytes one byte of deflate can stand for.
const maxRatio = 1032

// inflate gunzips b into d.raw. The file ends with the size of its content, so the buffer is
// made at once. Files that the inflater does not accept are left to compress/gzip. Files of
// several members, which no profiler writes, are refused.
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
	if n, ok := d.inflater.gunzip(d.raw, b); ok {
		return d.raw[:n], nil
	}
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
