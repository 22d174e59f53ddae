// Package linked tells which functions are linked into the running program, so
// that a budget on a function that the program does not have can be called
// vacuous instead of passing for ever.
//
// # How it works
//
// Every Go program carries a pc-line table, which the runtime needs for
// tracebacks. Neither -ldflags="-s -w" nor strip removes it, and its names are
// those that profiles show. It begins with a header, and the name table follows:
//
//	pcHeader: magic, sizes, offsets | name\x00name\x00... | files | lines | functions
//
// The name table also holds the functions that exist only inlined into others
// and have no code of their own. That is why it is read from the executable:
// walking the program's text with [runtime.FuncForPC] needs no file, but sees at
// most the innermost inlined function at each address that it happens to probe.
//
// [Functions] finds the header by the ELF section .gopclntab. In other formats,
// and in ELF files without section headers, it looks for a header that makes
// sense: Mach-O and PE readers of the standard library load whole symbol tables,
// which costs more memory than the search costs time. A table counts only if it
// names this package and the runtime, so neither a Go program embedded in this
// one nor an executable that has since been replaced by something else is taken
// for it.
//
// [Near] goes through the same names for the one that somebody meant who misspelt
// it.
//
// # Limits
//
// Functions that the compiler removed altogether are not named, and profiles
// cannot show them either. Functions in plugins and in C code are not named.
// Where the Go code is a shared library in somebody else's program, where the
// executable may not be read, or is packed or obfuscated, Functions returns an
// error: nothing can be said then.
package linked

import (
	"fmt"
	"io"
	"os"
	"runtime"
)

// Functions calls yield with the name of each function in the program,
// inlined ones included, as profiles show it ("main.(*T).Method",
// "main.Map[go.shape.int]", "main.run.func1"), until yield returns false. The
// order is not specified and a name may come twice.
//
// It reads the executable each time, a few megabytes in small pieces, and keeps
// nothing, so ask once. It may be called from several goroutines. An error means
// that nothing is known about what is linked, whatever yield has seen before.
func Functions(yield func(name string) bool) error {
	f, err := openExecutable()
	if err != nil {
		return fmt.Errorf("linked: open the program's executable: %w; make it readable to have its functions listed", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("linked: size of the program's executable: %w", err)
	}
	return functions(f, info.Size(), landmarks(), yield)
}

// functions does the work of [Functions] on any executable.
func functions(file io.ReaderAt, size int64, landmarks []string, yield func(name string) bool) error {
	names, err := nameTable(file, size, landmarks)
	if err != nil {
		return fmt.Errorf("linked: %w", err)
	}
	if err := eachName(names, func(name []byte) bool { return yield(string(name)) }); err != nil {
		return fmt.Errorf("linked: read the function names: %w", err)
	}
	return nil
}

// landmarks are functions that are in this program's own table for sure: one of
// this package, by the name that it has here (it may be vendored), and one of
// the runtime, which is missing if the program was linked with -linkshared and
// its table covers only a part.
func landmarks() []string {
	pc, _, _, _ := runtime.Caller(0)
	return []string{runtime.FuncForPC(pc).Name(), "runtime.goexit"}
}

func openExecutable() (*os.File, error) {
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
