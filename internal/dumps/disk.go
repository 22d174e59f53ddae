package dumps

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
)

// disk is the guard's folder in DumpDir, and the seam at which tests make any call fail. Names are
// relative to it: "profguard-5f3a9c21", or "." for the folder itself.
type disk interface {
	// open opens the folder and makes it if need be, also again after it was removed.
	// If that fails, nothing has changed.
	open() error
	// there reports whether the path of the folder still leads to the one that is open.
	there() bool
	close() error
	mkdir(name string) error
	// create makes a new file, 0600, and fails if the name is taken by anything.
	create(name string) (file, error)
	// read opens a regular file for reading. Others do not exist for it.
	read(name string) (file, error)
	// lock takes the advisory lock of a directory, until the lock is closed. The error wraps
	// errors.ErrUnsupported where directories cannot be locked.
	lock(name string) (io.Closer, error)
	lstat(name string) (fs.FileInfo, error)
	rename(from, to string) error
	remove(name string) error
	// list returns the names in a directory, in no order.
	list(name string) ([]string, error)
	// sync makes the entries of a directory durable.
	sync(name string) error
	// space returns the size of the disk and its free part in bytes, or an error that wraps
	// errors.ErrUnsupported where the platform does not say.
	space() (free, total uint64, err error)
}

// file is the part of an os.File that the store uses.
type file interface {
	io.ReadWriteSeeker
	io.Closer
	Sync() error
}

// rootDisk is the real disk. Its os.Root stays the directory that was opened, also if another
// one gets its path, until it is opened again.
type rootDisk struct {
	path  string                  // DumpDir
	below []string                // the folders from there to the one that is opened
	root  atomic.Pointer[os.Root] // atomic, so that readers do not wait while it is opened again
}

// newDisk returns the disk of a folder below DumpDir, which is not opened yet.
func newDisk(dir string, below ...string) (disk, error) {
	dir, err := filepath.Abs(dir) // the program may change its directory
	return &rootDisk{path: dir, below: below}, err
}

func (d *rootDisk) open() error {
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(d.path)
	if err == nil && !d.leadsTo(root) {
		err = fmt.Errorf("%w: %s is a link, and a program that can change it decides where dumps go; name the directory itself", ErrRefused, d.path)
	}
	path := d.path
	for _, name := range d.below {
		if err != nil {
			break
		}
		path = filepath.Join(path, name)
		var folder *os.Root
		folder, err = enter(root, name, path)
		root.Close()
		root = folder
	}
	if err != nil {
		if root != nil {
			root.Close()
		}
		return err
	}
	if old := d.root.Swap(root); old != nil {
		old.Close() // its directory may have been removed
	}
	return nil
}

// leadsTo reports whether the path of DumpDir is that of an open directory, and no link to it.
func (d *rootDisk) leadsTo(root *os.Root) bool {
	here, err := os.Lstat(d.path)
	return err == nil && isSame(root, here)
}

func isSame(root *os.Root, info fs.FileInfo) bool {
	is, err := root.Stat(".") // the handle is asked, and not the path, which may have changed since
	return err == nil && os.SameFile(is, info)
}

func (d *rootDisk) there() bool {
	if _, err := d.root.Load().Stat("."); errors.Is(err, fs.ErrClosed) {
		return true // nothing is opened again after close
	}
	// Nothing is opened on the way: a FIFO in place of DumpDir would block.
	path, here := d.path, fs.FileInfo(nil)
	for _, name := range append([]string{"."}, d.below...) {
		path = filepath.Join(path, name)
		var err error
		if here, err = os.Lstat(path); err != nil || !here.IsDir() {
			return false
		}
	}
	return isSame(d.root.Load(), here)
}

// enter opens a folder of a directory that may belong to others, and makes it if need be. A folder in
// which others could plant or replace files is refused.
func enter(parent *os.Root, name, path string) (*os.Root, error) {
	switch err := parent.Mkdir(name, 0o700); {
	case err == nil:
		_ = syncRoot(parent, ".") // the directory may be one that this user cannot sync
	case !errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("make the folder %s: %w", path, err)
	}
	// OpenRoot follows a link within the parent, so both have to be the same.
	here, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !here.IsDir() {
		return nil, fmt.Errorf("%w: %s is no folder (%v): remove it", ErrRefused, path, here.Mode())
	}
	if !isOwn(here) {
		return nil, fmt.Errorf("%w: %s belongs to another user, who could plant or replace files: remove it, or give each user a DumpDir of its own", ErrRefused, path)
	}
	root, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if err := secure(root, here, path); err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// secure refuses a folder in which other users could plant or replace files.
func secure(root *os.Root, here fs.FileInfo, path string) error {
	if !isSame(root, here) {
		return fmt.Errorf("%w: %s was replaced while it was opened", ErrRefused, path)
	}
	if !hasModes {
		return nil
	}
	if perm := here.Mode().Perm(); perm&0o022 == 0o020 {
		// Kubernetes gives whatever is on a volume to the group of the pod's fsGroup, at each start.
		_ = root.Chmod(".", perm&^0o022) // where it has no effect, the next look says so
	}
	is, err := root.Stat(".")
	if err == nil && is.Mode().Perm()&0o022 != 0 {
		err = fmt.Errorf("%w: %s has mode %04o, so others could plant or replace files; run: chmod go-w %s", ErrRefused, path, is.Mode().Perm(), path)
	}
	return err
}

// hasModes: elsewhere access lists decide who may write, and Go does not read them.
const hasModes = runtime.GOOS != "windows" && runtime.GOOS != "plan9"

func (d *rootDisk) close() error {
	if root := d.root.Load(); root != nil {
		return root.Close()
	}
	return nil
}

func (d *rootDisk) create(name string) (file, error) {
	return d.root.Load().OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// read looks at the type before it opens the file, because opening a FIFO would block and
// opening a device may do anything. The flags are for a file that is replaced in between.
func (d *rootDisk) read(name string) (file, error) {
	info, err := d.lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is %v and not a regular file: %w", name, info.Mode().Type(), fs.ErrNotExist)
	}
	return d.root.Load().OpenFile(name, os.O_RDONLY|openFlags, 0)
}

func (d *rootDisk) lock(name string) (io.Closer, error) {
	f, err := d.root.Load().OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (d *rootDisk) mkdir(name string) error                { return d.root.Load().Mkdir(name, 0o700) }
func (d *rootDisk) lstat(name string) (fs.FileInfo, error) { return d.root.Load().Lstat(name) }
func (d *rootDisk) rename(from, to string) error           { return d.root.Load().Rename(from, to) }
func (d *rootDisk) remove(name string) error               { return d.root.Load().Remove(name) }

func (d *rootDisk) list(name string) ([]string, error) {
	dir, err := d.root.Load().Open(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Readdirnames(-1)
}

func (d *rootDisk) sync(name string) error { return syncRoot(d.root.Load(), name) }

func syncRoot(root *os.Root, name string) error {
	dir, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(syncDir(dir), dir.Close())
}

func (d *rootDisk) space() (free, total uint64, err error) {
	dir, err := d.root.Load().Open(".")
	if err != nil {
		return 0, 0, err
	}
	defer dir.Close()
	return space(dir)
}

// readAll reads a file, which may not be one that this package has written.
func readAll(f io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	return b, err
}

// hasRoom is an error unless a part of the disk stays free beside so many bytes.
func hasRoom(d disk, bytes int64, part float64) error {
	free, total, err := d.space()
	switch {
	case errors.Is(err, errors.ErrUnsupported), err == nil && total == 0: // some file systems have no size
		return nil
	case err != nil:
		return fmt.Errorf("ask for free space: %w", err)
	case float64(free)-float64(bytes) < part*float64(total):
		return fmt.Errorf("%w: %d of %d bytes are free, and %.0f%% must stay free", ErrNoSpace, free, total, 100*part)
	}
	return nil
}
