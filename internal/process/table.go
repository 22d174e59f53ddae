package process

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
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

// searchBuffer is how much of the executable the search holds at a time; larger
// buffers did not make it faster.
const searchBuffer = 64 << 10

// errNoTable is what a reader can do something about.
var errNoTable = errors.New("found no pc-line table that names this package and the runtime: " +
	"the executable may be packed or obfuscated, built by a Go release with another format, " +
	"linked with -linkshared, or the host of a Go shared library")

// search finds the name table that has the landmarks in it. It tries everything in the
// file that could be a header: that takes 0.2 ms for each MB, works with all formats
// of executables, and links no reader of them into the program.
func search(file io.ReaderAt, size int64, landmarks []string) (*io.SectionReader, error) {
	magic := magic()
	buf := make([]byte, searchBuffer)
	for offset := int64(0); offset < size; {
		n, err := file.ReadAt(buf[:min(int64(len(buf)), size-offset)], offset)
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("search the executable for its pc-line table: %w", err)
		}
		if n < len(magic) {
			break
		}
		for at := 0; ; at++ {
			i := bytes.Index(buf[at:n], magic)
			if i < 0 {
				break
			}
			at += i
			names, ok := readHeader(file, offset+int64(at), size)
			if !ok {
				continue
			}
			if ok, err := hasAll(names, landmarks); ok || err != nil {
				return names, err
			}
		}
		// The last bytes may be the beginning of the magic.
		offset += int64(n - len(magic) + 1)
	}
	return nil, errNoTable
}

const (
	// nameBuffer holds a few hundred names.
	nameBuffer = 16 << 10
	// maxName bounds memory. The longest names are those of generic functions
	// over large structs, some tens of kilobytes.
	maxName = 1 << 20
)

// eachName calls yield with each name in the table until it returns false. The
// bytes are only lent.
func eachName(table *io.SectionReader, yield func(name []byte) bool) error {
	s := bufio.NewScanner(io.NewSectionReader(table, 0, table.Size()))
	s.Buffer(make([]byte, nameBuffer), maxName)
	s.Split(splitNames)
	for s.Scan() {
		// Padding after the last name reads as empty ones.
		if name := s.Bytes(); len(name) > 0 && !yield(name) {
			return nil
		}
	}
	return s.Err()
}

func splitNames(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		// The linker ends each name: this is not a name table, or not all of it.
		return 0, nil, io.ErrUnexpectedEOF
	}
	return 0, nil, nil
}

// hasAll reports whether all the wanted names are in the table. What cannot be
// a name table has none; an error is one of reading the file.
func hasAll(table *io.SectionReader, wanted []string) (bool, error) {
	missing := make(map[string]bool, len(wanted))
	for _, name := range wanted {
		missing[name] = true
	}
	err := eachName(table, func(name []byte) bool {
		if missing[string(name)] {
			delete(missing, string(name))
		}
		return len(missing) > 0
	})
	if errors.Is(err, bufio.ErrTooLong) || errors.Is(err, io.ErrUnexpectedEOF) {
		return false, nil
	}
	return len(missing) == 0 && err == nil, err
}
