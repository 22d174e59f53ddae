package process

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
		return fmt.Errorf("functions of this program: open the program's executable: %w; make it readable to have its functions listed", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("functions of this program: size of the program's executable: %w", err)
	}
	return functions(f, info.Size(), landmarks(), yield)
}

// functions does the work of [Functions] on any executable.
func functions(file io.ReaderAt, size int64, landmarks []string, yield func(name string) bool) error {
	names, err := search(file, size, landmarks)
	if err != nil {
		return fmt.Errorf("functions of this program: %w", err)
	}
	if err := eachName(names, func(name []byte) bool { return yield(string(name)) }); err != nil {
		return fmt.Errorf("functions of this program: read the function names: %w", err)
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
