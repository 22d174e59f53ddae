package process

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
)

// Functions calls yield with the name of each function in the program,
// inlined ones included, as profiles show it ("main.(*T).Method",
// "main.Map[go.shape.int]", "main.run.func1"), until yield returns false. The
// order is not specified and a name may come twice. After an error it is not
// known which functions are linked, whatever names yield has seen.
//
// They come from the pc-line table of the executable, which neither -ldflags="-s -w" nor
// strip removes. Walking the program's text with [runtime.FuncForPC] would need no file,
// but see few of the functions that exist only inlined into others. The executable is read each
// time, a few megabytes in small pieces.
func Functions(yield func(name string) bool) error {
	f, err := OpenExecutable()
	if err != nil {
		return fmt.Errorf("functions of this program: open its executable: %w; make it readable to have its functions listed", err)
	}
	defer f.Close()
	return functions(f, requiredNames(), yield)
}

// functions does the work of [Functions] on any executable.
func functions(file io.ReaderAt, required []string, yield func(name string) bool) error {
	names, err := search(file, required)
	if err == nil {
		err = eachName(names, func(name []byte) bool { return yield(string(name)) })
	}
	if err != nil {
		return fmt.Errorf("functions of this program: read its executable: %w", err)
	}
	return nil
}

// requiredNames are functions that must be in this program's own table: one of this package, with
// its present name (it may be vendored), and one of the runtime, which is missing if the
// program was linked with -linkshared, so that the table is only a part.
func requiredNames() []string {
	pc, _, _, _ := runtime.Caller(0)
	return []string{runtime.FuncForPC(pc).Name(), "runtime.goexit"}
}

// OpenExecutable opens the file of the running program.
func OpenExecutable() (*os.File, error) {
	if runtime.GOOS == "linux" {
		// The kernel's link leads to the running file itself, even when its name
		// has been deleted or given to a newer build.
		if f, err := os.Open("/proc/self/exe"); err == nil {
			return f, nil
		}
	}
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// The pc-line table begins with a header (runtime/symtab.go, cmd/link/internal/ld/pcln.go):
//
//	magic      [4]byte
//	zero       [2]byte
//	minLC      byte      smallest size of an instruction
//	ptrSize    byte
//	nfunc      uintptr
//	nfiles     uintptr
//	unused     uintptr
//	names      uintptr   offset of the name table from the header
//	units      uintptr   and of what follows it
const (
	magicNumber = 0xfffffff1 // of Go 1.20 and later (internal/abi.Go120PCLnTabMagic)
	maxHeader   = 8 + 5*8    // of the above, with pointers of 8 bytes
	maxNames    = 1 << 32    // more than the name table of any program has
)

// magic is how a header begins, on this machine: the program that is read is
// the one that runs.
func magic() []byte {
	return append(binary.NativeEndian.AppendUint32(nil, magicNumber), 0, 0)
}

// nameTable returns the name table of the header at an offset of the file, or nil if what
// is there is no header.
func nameTable(file io.ReaderAt, offset int64) *io.SectionReader {
	var h [maxHeader]byte
	if n, err := file.ReadAt(h[:], offset); err != nil {
		clear(h[n:]) // 0 is no header
	}
	var start, end uint64
	switch h[7] {
	case 8:
		start, end = binary.NativeEndian.Uint64(h[8+3*8:]), binary.NativeEndian.Uint64(h[8+4*8:])
	case 4:
		start, end = uint64(binary.NativeEndian.Uint32(h[8+3*4:])), uint64(binary.NativeEndian.Uint32(h[8+4*4:]))
	}
	if start == 0 || end <= start || end > maxNames {
		return nil
	}
	return io.NewSectionReader(file, offset+int64(start), int64(end-start))
}

const searchBuffer = 64 << 10 // larger ones did not make the search faster

// errNoTable is what a reader can do something about.
var errNoTable = errors.New("found no pc-line table that names this package and the runtime: " +
	"the executable may be packed or obfuscated, built by a Go release with another format, " +
	"linked with -linkshared, or the host of a Go shared library")

// search finds the name table that has the required names in it. It tries everything in the
// file that could be a header: that takes 0.2 ms for each MB, works with all formats
// of executables, and links no reader of them into the program.
func search(file io.ReaderAt, required []string) (*io.SectionReader, error) {
	magic, buf := magic(), make([]byte, searchBuffer)
	for offset := int64(0); ; {
		n, err := file.ReadAt(buf, offset)
		if err != nil && err != io.EOF {
			return nil, err
		}
		at := bytes.Index(buf[:n], magic)
		if at < 0 && err == io.EOF {
			return nil, errNoTable
		}
		if at < 0 {
			offset += int64(n - len(magic) + 1) // the last bytes may be the beginning of the magic
			continue
		}
		if names := nameTable(file, offset+int64(at)); names != nil && hasAll(names, required) {
			return names, nil
		}
		offset += int64(at) + 1
	}
}

const (
	nameBuffer = 16 << 10 // a few hundred names
	maxName    = 1 << 20  // bounds memory: names of generic functions have up to some tens of kilobytes
)

// eachName calls yield with each name in the table until it returns false. The
// bytes are only lent.
func eachName(table *io.SectionReader, yield func(name []byte) bool) error {
	s := bufio.NewScanner(io.NewSectionReader(table, 0, table.Size()))
	s.Buffer(make([]byte, nameBuffer), maxName)
	s.Split(func(data []byte, atEOF bool) (advance int, token []byte, err error) {
		if i := bytes.IndexByte(data, 0); i >= 0 {
			return i + 1, data[:i], nil
		}
		if atEOF && len(data) > 0 {
			// The linker ends each name: this is not a name table, or not all of it.
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	})
	for s.Scan() {
		// Padding after the last name reads as empty ones.
		if name := s.Bytes(); len(name) > 0 && !yield(name) {
			return nil
		}
	}
	return s.Err()
}

// hasAll reports whether all the wanted names are in the table, which has each name once.
func hasAll(table *io.SectionReader, wanted []string) bool {
	found := 0
	err := eachName(table, func(name []byte) bool {
		if slices.Contains(wanted, string(name)) {
			found++
		}
		return found < len(wanted)
	})
	return err == nil && found == len(wanted)
}
