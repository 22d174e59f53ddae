package linked

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// searchBuffer is how much of the executable the search holds at a time; larger
// buffers did not make it faster.
const searchBuffer = 64 << 10

// errNoTable is what a reader can do something about.
var errNoTable = errors.New("found no pc-line table that names this package and the runtime: " +
	"the executable may be packed or obfuscated, built by a Go release with another format, " +
	"linked with -linkshared, or the host of a Go shared library")

// nameTable finds the name table that has the landmarks in it.
func nameTable(file io.ReaderAt, size int64, landmarks []string) (*io.SectionReader, error) {
	if offset, ok := elfSection(file); ok {
		if names, ok := readHeader(file, offset, size); ok {
			if ok, err := hasAll(names, landmarks); ok || err != nil {
				return names, err
			}
		}
	}
	return search(file, size, landmarks)
}

// search tries everything in the file that could be a header.
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
