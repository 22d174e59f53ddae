package linked

import (
	"bytes"
	"encoding/binary"
	"io"
)

// A pcHeader starts the pc-line table (runtime/symtab.go, cmd/link/internal/ld/pcln.go):
//
//	magic      [4]byte
//	zero       [2]byte
//	minLC      byte      smallest size of an instruction
//	ptrSize    byte
//	nfunc      uintptr
//	nfiles     uintptr
//	unused     uintptr
//	names      uintptr   offsets from the header, ascending
//	units      uintptr
//	files      uintptr
//	lines      uintptr
//	functions  uintptr
const (
	// magicNumber is that of Go 1.20 and later (internal/abi.Go120PCLnTabMagic).
	magicNumber = 0xfffffff1
	// maxHeaderSize is that of the header above with 8-byte pointers.
	maxHeaderSize = 8 + 8*8
)

// magic is how a header begins, on this machine: the program that is read is
// the one that runs.
func magic() []byte {
	return append(binary.NativeEndian.AppendUint32(nil, magicNumber), 0, 0)
}

// parseHeader returns where the name table begins and ends, counted from the
// header. It is strict, because the search tries it on whatever bytes happen to
// look like the magic; limit is how many bytes there are from the header on.
func parseHeader(b []byte, limit int64) (start, end int64, ok bool) {
	if len(b) < 8 || !bytes.HasPrefix(b, magic()) {
		return 0, 0, false
	}
	minLC, ptrSize := b[6], int(b[7])
	if minLC != 1 && minLC != 2 && minLC != 4 || ptrSize != 4 && ptrSize != 8 || len(b) < 8+8*ptrSize {
		return 0, 0, false
	}
	field := func(i int) int64 {
		if p := b[8+i*ptrSize:]; ptrSize == 8 {
			return int64(binary.NativeEndian.Uint64(p))
		} else {
			return int64(binary.NativeEndian.Uint32(p))
		}
	}
	nfunc := field(0)
	if nfunc <= 0 || nfunc > limit {
		return 0, 0, false
	}
	last := int64(8 + 8*ptrSize)
	for i := 3; i < 8; i++ {
		offset := field(i)
		if offset < last || offset >= limit {
			return 0, 0, false
		}
		last = offset
	}
	start, end = field(3), field(4)
	return start, end, end > start
}

// readHeader is parseHeader at an offset of a file of the given size.
func readHeader(file io.ReaderAt, offset, size int64) (names *io.SectionReader, ok bool) {
	var buf [maxHeaderSize]byte
	n, err := file.ReadAt(buf[:], offset)
	if err != nil && err != io.EOF {
		return nil, false
	}
	start, end, ok := parseHeader(buf[:n], size-offset)
	if !ok {
		return nil, false
	}
	return io.NewSectionReader(file, offset+start, end-start), true
}
