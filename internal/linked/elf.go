package linked

import (
	"bytes"
	"encoding/binary"
	"io"
)

// Where an ELF file says what is asked here, by the size of its words. Package
// debug/elf would do, but it links readers of DWARF and of compressed sections
// into every program that imports this one.
type elfLayout struct {
	header                  int // bytes of the file's header
	tableOffset             int // in it: where the section headers are
	entrySize               int // in it: the size of one, how many, which has the names
	offset, size, headerLen int // in a section header
}

var elfLayouts = map[byte]elfLayout{
	1: {header: 52, tableOffset: 0x20, entrySize: 0x2e, offset: 0x10, size: 0x14, headerLen: 40}, // 32 bits
	2: {header: 64, tableOffset: 0x28, entrySize: 0x3a, offset: 0x18, size: 0x20, headerLen: 64}, // 64 bits
}

// maxSections bounds what is read. A Go program has some forty.
const maxSections = 1 << 10

// elfSection returns where an ELF file has its pc-line table. The file is this
// machine's own, so its byte order is too.
func elfSection(file io.ReaderAt) (offset int64, ok bool) {
	var b [64]byte
	if _, err := file.ReadAt(b[:], 0); err != nil || !bytes.HasPrefix(b[:], []byte("\x7fELF")) {
		return 0, false
	}
	l, ok := elfLayouts[b[4]]
	if !ok {
		return 0, false
	}
	word := func(b []byte) int64 {
		if l.header == 52 {
			return int64(binary.NativeEndian.Uint32(b))
		}
		return int64(binary.NativeEndian.Uint64(b))
	}
	half := func(at int) int { return int(binary.NativeEndian.Uint16(b[at:])) }
	table, size, count, names := word(b[l.tableOffset:]), half(l.entrySize), half(l.entrySize+2), half(l.entrySize+4)
	if size != l.headerLen || count > maxSections || names >= count {
		return 0, false
	}
	headers := make([]byte, size*count)
	if _, err := file.ReadAt(headers, table); err != nil {
		return 0, false
	}
	text := io.NewSectionReader(file, word(headers[names*size+l.offset:]), word(headers[names*size+l.size:]))
	want := []byte(".gopclntab\x00")
	name := make([]byte, len(want))
	for h := headers; len(h) > 0; h = h[size:] {
		if _, err := text.ReadAt(name, int64(binary.NativeEndian.Uint32(h))); err == nil && bytes.Equal(name, want) {
			return word(h[l.offset:]), true
		}
	}
	return 0, false
}
