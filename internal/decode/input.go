package decode

import (
	"encoding/binary"
	"fmt"
	"io"
)

func isGzip(b []byte) bool { return len(b) >= 2 && b[0] == 0x1f && b[1] == 0x8b }

// firstRead is the size of the first buffer for a reader that does not tell its length: a
// profile of ten seconds is about 20 KiB compressed, and one of a minute 100.
const firstRead = 64 << 10

// read fills d.input from r.
func (d *Decoder) read(r io.Reader) error {
	first := firstRead
	if r, ok := r.(interface{ Len() int }); ok { // a hint, so that the buffer of the last profile can be used
		first = max(r.Len(), 0)
	}
	// One byte more than fits, to see the end of the file or too much of it.
	d.input = sized(d.input, min(first, maxInput)+1)
	d.input = d.input[:cap(d.input)]
	for n, idle := 0, 0; ; {
		if n == len(d.input) {
			more := make([]byte, min(2*len(d.input), maxInput+1))
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

// trustedSize is the most memory that is allocated by the size in a gzip trailer, before
// anything was inflated. Only the largest programs have larger profiles.
const trustedSize = 2 << 20

// inflate gunzips b into d.raw, which it reuses if it is large enough. Otherwise it makes a
// buffer of the size in the gzip trailer, at most trustedSize. Files that the inflater does not
// accept are left to compress/gzip. If the buffer is too small for these, they are inflated
// once to measure the size, and then again: a buffer that grows by doubling would let hostile
// input take twice the limit of memory, this only takes time.
func (d *Decoder) inflate(b []byte) ([]byte, error) {
	// One byte more than fits, to see the end of the data or too much of it;
	// and enough to measure quickly.
	want := max(min(trailerSize(b), maxRaw)+1, 32<<10)
	if !fits(cap(d.raw), want) {
		d.raw = sized(d.raw, min(want, trustedSize))
	}
	buf := d.raw[:cap(d.raw)]
	if n, ok := d.inflater.gunzip(buf, b); ok && n <= maxRaw {
		return buf[:n], nil
	}
	size, err := d.gunzipTo(buf, b)
	if err != nil {
		return nil, err
	}
	if size > maxRaw {
		return nil, &LimitError{"bytes after decompression, or more", int64(size), maxRaw}
	}
	if size > len(buf) {
		d.raw = sized(d.raw, size+1)
		buf = d.raw
		if size, err = d.gunzipTo(buf, b); err != nil {
			return nil, err
		}
	}
	return buf[:size], nil
}

// trailerSize is the decompressed size as written at the end of b, modulo 2^32.
// It is right for a file of one member, unless somebody has changed it.
func trailerSize(b []byte) int {
	if len(b) < 4 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(b[len(b)-4:]))
}

// gunzipTo inflates b, all its members, into buf and returns the size of the
// result, or a number above maxRaw. If the size is larger than buf, the content of buf is
// meaningless.
func (d *Decoder) gunzipTo(buf, b []byte) (int, error) {
	d.source.Reset(b)
	if err := d.gunzip.Reset(&d.source); err != nil {
		return 0, fmt.Errorf("gunzip: %w", err)
	}
	size, n := 0, 0
	for size <= maxRaw {
		if n == len(buf) {
			n = 0 // too small: go on measuring
		}
		k, err := d.gunzip.Read(buf[n:])
		n += k
		size += k
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, fmt.Errorf("gunzip: %w", err)
		}
	}
	return size, nil
}
