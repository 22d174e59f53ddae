package process

import (
	"bytes"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// listed returns what functions finds in a file.
func listed(t testing.TB, exe string, landmarks []string) map[string]bool {
	t.Helper()
	f, err := os.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	names := make(map[string]bool)
	if err := functions(f, landmarks, func(name string) bool { names[name] = true; return true }); err != nil {
		t.Fatal(err)
	}
	return names
}

// TestItself: a test binary lists its own functions.
func TestItself(t *testing.T) {
	names := make(map[string]bool)
	if err := Functions(func(name string) bool { names[name] = true; return true }); err != nil {
		t.Fatal(err)
	}
	const pkg = "github.com/profguard/profguard/internal/process."
	for _, name := range []string{pkg + "TestItself", pkg + "TestItself.func1", pkg + "Functions", "testing.tRunner", "runtime.goexit"} {
		if !names[name] {
			t.Errorf("%s is not listed", name)
		}
	}
	if names["net/http.ListenAndServe"] {
		t.Error("net/http.ListenAndServe is listed, but nothing here serves")
	}
}

func TestStopsWhenToldTo(t *testing.T) {
	var calls int
	if err := Functions(func(string) bool { calls++; return calls < 3 }); err != nil || calls != 3 {
		t.Errorf("%d calls, error %v; want 3 and none", calls, err)
	}
}

// TestAgreesWithGosym compares with the standard library's reader, which does
// not know inlined functions but all the others.
func TestAgreesWithGosym(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want := gosymNames(t, exe)
	names := listed(t, exe, requiredNames())
	for _, name := range want {
		if !names[name] {
			t.Errorf("%s is not listed", name)
		}
	}
	if len(want) < 1000 || len(names) <= len(want) {
		t.Errorf("%d functions with code, %d listed; want thousands, and more listed for the inlined ones", len(want), len(names))
	}
}

// gosymNames returns the functions of an ELF file that have code.
func gosymNames(t *testing.T, exe string) []string {
	t.Helper()
	f, err := elf.Open(exe)
	if err != nil {
		t.Skipf("not ELF: %v", err)
	}
	defer f.Close()
	section, text := f.Section(".gopclntab"), f.Section(".text")
	if section == nil || text == nil {
		t.Fatal("no .gopclntab or no .text")
	}
	data, err := section.Data()
	if err != nil {
		t.Fatal(err)
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, fn := range table.Funcs {
		names = append(names, fn.Name)
	}
	return names
}

// image lays out a file: offset bytes of noise, a header, names.
func image(offset int, names ...string) []byte {
	noise := bytes.Repeat(append(magic(), 9, 9), offset/8+1)[:offset] // looks like a header until one looks closer
	return append(noise, table(names...)...)
}

// headerSize is that of the whole header, of which the search reads the first fields.
const headerSize = 8 + 8*8

func table(names ...string) []byte {
	text := strings.Join(names, "\x00") + "\x00"
	h := append(magic(), 1, 8)
	put := func(v int) { h = append(h, nativeUint64(v)...) }
	put(len(names)) // nfunc
	put(1)          // nfiles
	put(0)
	put(headerSize)             // names
	put(headerSize + len(text)) // units
	put(headerSize + len(text)) // files
	put(headerSize + len(text)) // lines
	put(headerSize + len(text)) // functions
	return append(append(h, text...), make([]byte, 64)...)
}

func nativeUint64(v int) []byte { return binary.NativeEndian.AppendUint64(nil, uint64(v)) }

var marks = []string{"guard.mark", "runtime.goexit"}

// TestSearch puts the table at awkward places, among them on the edge of the
// search's buffer, behind what looks like headers and behind what does not.
func TestSearch(t *testing.T) {
	for _, offset := range []int{0, 1, 8, 4096, searchBuffer - 80, searchBuffer - 9, searchBuffer - 6, searchBuffer - 5, searchBuffer - 1, searchBuffer, 3*searchBuffer - 3} {
		names := []string{"main.main", "guard.mark", "runtime.goexit"}
		for _, b := range [][]byte{image(offset, names...), append(make([]byte, offset), table(names...)...)} {
			var got []string
			err := functions(bytes.NewReader(b), marks, func(name string) bool { got = append(got, name); return true })
			if err != nil || !slices.Equal(got, names) {
				t.Errorf("at %d: %q, error %v", offset, got, err)
			}
		}
	}
}

// TestTakesItsOwnTable: another Go program may be embedded before the program's
// own table.
func TestTakesItsOwnTable(t *testing.T) {
	b := append(image(100, "other.main", "runtime.goexit"), image(3000, "main.main", "guard.mark", "runtime.goexit")...)
	var first string
	err := functions(bytes.NewReader(b), marks, func(name string) bool { first = name; return false })
	if err != nil || first != "main.main" {
		t.Errorf("%q, error %v; want main.main of the second table", first, err)
	}
}

func TestNoTable(t *testing.T) {
	whole := table("main.main", "guard.mark", "runtime.goexit")
	spoil := func(i int, v byte) []byte {
		b := bytes.Clone(whole)
		b[i] = v
		return b
	}
	end := bytes.Index(whole, []byte("goexit\x00")) + len("goexit")
	unterminated := bytes.Clone(whole)
	copy(unterminated[8+4*8:], nativeUint64(end))
	tests := []struct {
		name string
		file []byte
	}{
		{"empty file", nil},
		{"no header", make([]byte, 3*searchBuffer)},
		{"noise", image(2*searchBuffer, "x")[:2*searchBuffer]},
		{"another format", spoil(0, 0xf2)},
		{"size of pointers", spoil(7, 16)},
		{"names beyond the end", spoil(8+3*8+2, 1)},
		{"offset backwards", spoil(8+4*8, 8)},
		{"negative offset", spoil(8+3*8+7, 0x80)},
		{"cut in the header", whole[:30]},
		{"cut in the names", whole[:headerSize+10]},
		{"last name without an end", unterminated},
		{"other program", table("main.main", "runtime.goexit")},
		{"only a part, the runtime is in a shared library", table("main.main", "guard.mark")},
		{"pieces of names", table("guard.marks", "a.guard.mark", "runtime.goexit0")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := functions(bytes.NewReader(tt.file), marks, func(name string) bool {
				t.Errorf("yields %q", name)
				return true
			})
			if !errors.Is(err, errNoTable) {
				t.Errorf("error %v, want %v", err, errNoTable)
			}
		})
	}
	if err := functions(bytes.NewReader(whole), marks, func(string) bool { return true }); err != nil {
		t.Errorf("the table that all of these were made from: %v", err)
	}
}

// failAfter fails reads beyond an offset.
type failAfter struct {
	io.ReaderAt
	offset int64
}

func (f failAfter) ReadAt(p []byte, offset int64) (int, error) {
	if offset+int64(len(p)) > f.offset {
		return 0, iotest.ErrTimeout
	}
	return f.ReaderAt.ReadAt(p, offset)
}

func TestReadErrors(t *testing.T) {
	b := image(5*searchBuffer, "main.main", "guard.mark", "runtime.goexit")
	err := functions(failAfter{bytes.NewReader(b), 2*searchBuffer + 1}, marks, func(string) bool { return true })
	if !errors.Is(err, iotest.ErrTimeout) || !strings.HasPrefix(err.Error(), "functions of this program: read its executable") {
		t.Errorf("error %v, want one of reading", err)
	}
}

// TestLongNames: generic functions over large structs.
func TestLongNames(t *testing.T) {
	long := "main.F[" + strings.Repeat("x", 10*nameBuffer) + "]"
	b := table("main.main", long, "guard.mark", "runtime.goexit")
	var found bool
	err := functions(bytes.NewReader(b), marks, func(name string) bool { found = found || name == long; return true })
	if err != nil || !found {
		t.Errorf("found %v, error %v", found, err)
	}
	b = table("main.main", strings.Repeat("x", 2*maxName), "guard.mark", "runtime.goexit")
	if err := functions(bytes.NewReader(b), marks, func(string) bool { return true }); !errors.Is(err, errNoTable) {
		t.Errorf("a name that is no name: error %v", err)
	}
}

func FuzzFunctions(f *testing.F) {
	f.Add(table("main.main", "guard.mark", "runtime.goexit"))
	f.Add(image(100, "main.main"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var total int
		err := functions(bytes.NewReader(b), marks, func(name string) bool { total += len(name) + 1; return true })
		if err == nil && total > len(b) {
			t.Errorf("%d bytes of names in %d bytes", total, len(b))
		}
	})
}

var benchExe = flag.String("exe", "", "the Go program whose functions BenchmarkFunctions lists instead of the compiler's")

// benchExecutable is the largest Go program that is at hand.
func benchExecutable(b *testing.B) (file *os.File, size int64) {
	path := *benchExe
	if path == "" {
		out, err := exec.Command("go", "tool", "-n", "compile").Output()
		if err != nil {
			b.Skipf("there is no go tool to ask for the compiler: %v", err)
		}
		path = strings.TrimSpace(string(out))
	}
	f, err := os.Open(path)
	if err != nil {
		b.Skip(err)
	}
	b.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	return f, info.Size()
}

// BenchmarkFunctions lists the functions of the Go compiler, 25 MB.
func BenchmarkFunctions(b *testing.B) {
	file, size := benchExecutable(b)
	b.ReportAllocs()
	var names int
	for b.Loop() {
		names = 0
		if err := functions(file, []string{"runtime.goexit"}, func(string) bool { names++; return true }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(names), "names")
	b.ReportMetric(float64(size)/1e6, "MB")
}
