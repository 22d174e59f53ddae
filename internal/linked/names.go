package linked

import (
	"bufio"
	"bytes"
	"io"
)

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
	if err == bufio.ErrTooLong || err == io.ErrUnexpectedEOF {
		return false, nil
	}
	return len(missing) == 0 && err == nil, err
}
