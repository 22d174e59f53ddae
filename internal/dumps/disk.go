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

// disk is DumpDir, and the seam at which tests make any call fail. Names are
// relative to it: "profguard-5f3a9c21", or "." for DumpDir itself.
type disk interface {
	// open opens DumpDir and makes it if need be, also again after it was removed.
	// If that fails, nothing has changed.
	open() error
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
	path string
	root atomic.Pointer[os.Root] // atomic, so that readers do not wait while it is opened again
}

// newDisk returns the disk of a directory, which is not opened yet.
func newDisk(dir string) (disk, error) {
	dir, err := filepath.Abs(dir) // the program may change its directory
	return &rootDisk{path: dir}, err
}

func (d *rootDisk) open() error {
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return err
	}
	if err := d.check(root); err != nil {
		root.Close()
		return err
	}
	if old := d.root.Swap(root); old != nil {
		old.Close() // its directory may have been removed
	}
	return nil
}

// check refuses a directory in which other users could plant or replace files.
func (d *rootDisk) check(root *os.Root) error {
	// The handle is asked, and not the path, which may have changed since.
	info, err := root.Stat(".")
	if err != nil {
		return err
	}
	here, err := os.Lstat(d.path)
	if err != nil {
		return err
	}
	switch hasModes := runtime.GOOS != "windows" && runtime.GOOS != "plan9"; {
	case !os.SameFile(info, here):
		return fmt.Errorf("%w: %s is a link (%v), and a program that can change it decides where dumps go; name the directory itself", ErrRefused, d.path, here.Mode().Type())
	case !isOwn(info):
		return fmt.Errorf("%w: %s belongs to another user, who could plant or replace files; name a directory in it, which is made", ErrRefused, d.path)
	case hasModes && info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky != 0:
		return fmt.Errorf("%w: %s is for all users, who could plant files; name a directory in it, which is made", ErrRefused, d.path)
	case hasModes && info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%w: %s has mode %04o, so others could plant or replace files; run: chmod go-w %s",
			ErrRefused, d.path, info.Mode().Perm(), d.path)
	}
	return nil
}

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

func (d *rootDisk) sync(name string) error {
	dir, err := d.root.Load().Open(name)
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
