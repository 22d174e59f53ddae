package kinds

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// errTooLarge is wrapped by the error about a profile that does not fit.
var errTooLarge = errors.New("the profile is too large")

// An inflater decompresses the profiles of runtime/pprof. The zero inflater is
// ready to use.
type inflater struct {
	reader gzip.Reader
	input  bytes.Reader
}

// inflate decompresses gz into dst, which it may replace. A gzip file ends with its
// inflated size, so that the size is known before anything is allocated; the
// runtime writes one member.
func (i *inflater) inflate(dst, gz []byte) ([]byte, error) {
	if len(gz) < 18 { // header and trailer
		return dst, fmt.Errorf("inflate profile: %d bytes are no gzip file", len(gz))
	}
	i.input.Reset(gz)
	if err := i.reader.Reset(&i.input); err != nil {
		return dst, fmt.Errorf("inflate profile: %w", err)
	}
	size := int(binary.LittleEndian.Uint32(gz[len(gz)-4:]))
	if size > maxRaw {
		return dst, fmt.Errorf("%w: %d MiB inflated, at most %d are read", errTooLarge, size>>20, maxRaw>>20)
	}
	if cap(dst) < size {
		// A quarter more, because the profiles of a process grow.
		dst = make([]byte, size, size+size/4)
	}
	dst = dst[:size]
	if _, err := io.ReadFull(&i.reader, dst); err != nil {
		return dst, fmt.Errorf("inflate profile: %w", err)
	}
	// The checksum is checked at the end of the stream.
	if n, err := i.reader.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		return dst, fmt.Errorf("inflate profile: the end is missing (%d more, %v)", n, err)
	}
	return dst, nil
}
