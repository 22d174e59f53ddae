package dumps

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// mounted is a file system in memory of its own, 0700.
func mounted(t *testing.T, flags uintptr, options string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", flags, "mode=700,"+options); err != nil {
		t.Skipf("SKIPPED, THE FAULT IS TESTED WITH A FAKE DISK ONLY: mount: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// crowd leaves so many bytes of a directory's disk, and returns what frees them.
func crowd(t *testing.T, dir string, left int) (free func()) {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size := 0
	for page := make([]byte, 4096); err == nil; size += len(page) {
		_, err = f.Write(page)
	}
	if err := f.Truncate(int64(max(size-4096-left, 0))); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			t.Error(err)
		}
	}
}

// A disk that is truly full in the middle of a dump.
func TestFault_11_FullDisk(t *testing.T) {
	dir := mounted(t, 0, "size=256k")
	s, err := Open(dir, testKeep, discard)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	d := testDump("b")
	d.Files[0].Data = gz(100 << 10)
	free := crowd(t, dir, 20<<10)
	if _, err := s.Save(d); Reason(err) != "no_space" {
		t.Errorf("save with a fifth of the room: %v, reason %q", err, Reason(err))
	}
	free()
	assertClean(t, dir, 0)
	if _, err := s.Save(d); err != nil {
		t.Errorf("save with room: %v", err)
	}
	assertClean(t, dir, 1)
}

// A disk that may truly only be read: the error says which.
func TestFault_12_ReadOnlyDisk(t *testing.T) {
	dir := mounted(t, unix.MS_RDONLY, "size=64k")
	for _, d := range []string{dir, filepath.Join(dir, "new")} {
		if _, err := Open(d, testKeep, discard); Reason(err) != "permission" || !strings.Contains(err.Error(), d) {
			t.Errorf("%v, reason %q", err, Reason(err))
		}
	}
}

// A directory that somebody removes is made again by the next dump, with the checks
// of the first time; and nobody's symbolic link in its place is followed. The error
// says what became of it.
func TestDirectoryRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dumps")
	s, err := Open(dir, testKeep, discard)
	if err != nil {
		t.Fatal(err)
	}
	mustSave(t, s, testDump("a"))
	elsewhere := t.TempDir()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, dir); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Save(testDump("b")); Reason(err) != "refused" || !strings.Contains(err.Error(), "was removed or replaced while in use, and cannot be made again: refused as unsafe: "+dir+" is a link") {
		t.Errorf("save: %v, reason %q", err, Reason(err))
	}
	if list, err := os.ReadDir(elsewhere); err != nil || len(list) > 0 {
		t.Errorf("in the link's directory: %v, %v", list, err)
	}
	// Nor is a folder used that others may write to.
	if err := errors.Join(os.Remove(dir), os.MkdirAll(inside(dir), 0o700), os.Chmod(inside(dir), 0o777)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Save(testDump("b")); Reason(err) != "refused" || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("save: %v, reason %q", err, Reason(err))
	}
	// What is merely gone is made again by the next dump, and its lock is held: another
	// store takes no dump in it for one of a process that is gone.
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	saved := mustSave(t, s, testDump("b"))
	if list, _, err := s.List(10); err != nil || len(list) != 1 || list[0].ID != saved {
		t.Errorf("%v, %v", list, err)
	}
	// So is the folder alone.
	if err := os.RemoveAll(home(dir, s)); err != nil {
		t.Fatal(err)
	}
	mustSave(t, s, testDump("b"))
	assertClean(t, dir, 1)
	other, err := Open(dir, testKeep, discard)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(own(t, other)); n != 0 {
		t.Errorf("another store counts %d dumps as its own", n)
	}
	other.Close(context.Background())
	// Closing makes no directory.
	if err := errors.Join(os.RemoveAll(dir), s.Close(context.Background())); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after closing: %v", err)
	}
}
