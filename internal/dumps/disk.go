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
	"time"
)

// disk is DumpDir, and the seam at which tests make any call fail. Names are
// relative to it: "profguard-5f3a9c21/lock", or "." for DumpDir itself.
type disk interface {
	mkdir(name string) error
	// create makes a new file, 0600, and fails if the name is taken by anything.
	create(name string) (file, error)
	// open opens a regular file for reading, and nothing else.
	open(name string) (file, error)
	lstat(name string) (fs.FileInfo, error)
	rename(from, to string) error
	remove(name string) error
	// touch sets the time of a file.
	touch(name string, at time.Time) error
	// list calls yield with the names in a directory, in no order.
	list(name string, yield func(name string)) error
	// sync makes the entries of a directory durable.
	sync(name string) error
	// space returns what the disk has in bytes; an error wrapping
	// errors.ErrUnsupported where the platform does not say.
	space() (free, total uint64, err error)
	// renew opens DumpDir again, and makes it if need be, after it was removed.
	// If it cannot, all is as it was.
	renew() error
	close() error
}

// file is what the store does with an open file.
type file interface {
	io.ReadWriteSeeker
	Sync() error
	Close() error
	Stat() (fs.FileInfo, error)
	// tryLock takes the file's exclusive advisory lock; false: somebody has it.
	// Closing the file releases it.
	tryLock() (bool, error)
}

type osFile struct{ *os.File }

func (f osFile) tryLock() (bool, error) { return tryLock(f.File) }

// rootDisk is the real one. The os.Root keeps the directory that was opened,
// whatever its path comes to mean later, until renew.
type rootDisk struct {
	path string
	root atomic.Pointer[os.Root] // readers do not wait for whoever renews
}

// openDisk makes dir if need be and checks that only its owner can write to it.
func openDisk(dir string) (disk, error) {
	dir, err := filepath.Abs(dir) // the program may change its directory
	if err != nil {
		return nil, err
	}
	d := &rootDisk{path: dir}
	if err := d.renew(); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *rootDisk) renew() error {
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
		old.Close() // what it held is gone
	}
	return nil
}

// check refuses a directory in which others could plant or replace files.
func (d *rootDisk) check(root *os.Root) error {
	// Asked of the handle, not of the path, which may have changed since.
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
		return fmt.Errorf("%w: %s is a link (%v), and whoever can change it decides where dumps go; name the directory itself", ErrRefused, d.path, here.Mode().Type())
	case !isOwn(info):
		return fmt.Errorf("%w: %s belongs to another user, who could plant or replace files; name a directory in it, which is made", ErrRefused, d.path)
	case hasModes && info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%w: %s has mode %04o, so others could plant or replace files; run: chmod go-w %s",
			ErrRefused, d.path, info.Mode().Perm(), d.path)
	}
	return nil
}

func (d *rootDisk) create(name string) (file, error) {
	f, err := d.root.Load().OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// open knows the type of the file before it opens it: opening a FIFO would block and
// opening a device may do anything. The flags are for a swap in between.
func (d *rootDisk) open(name string) (file, error) {
	info, err := d.lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is %v, want a regular file", ErrRefused, name, info.Mode().Type())
	}
	f, err := d.root.Load().OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (d *rootDisk) mkdir(name string) error                { return d.root.Load().Mkdir(name, 0o700) }
func (d *rootDisk) lstat(name string) (fs.FileInfo, error) { return d.root.Load().Lstat(name) }
func (d *rootDisk) rename(from, to string) error           { return d.root.Load().Rename(from, to) }
func (d *rootDisk) remove(name string) error               { return d.root.Load().Remove(name) }
func (d *rootDisk) touch(name string, at time.Time) error {
	return d.root.Load().Chtimes(name, at, at)
}
func (d *rootDisk) close() error { return d.root.Load().Close() }

// listBatch bounds how many names are in memory at once that turn out not to
// be ours.
const listBatch = 1024

func (d *rootDisk) list(name string, yield func(string)) error {
	dir, err := d.root.Load().Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(listBatch)
		for _, n := range names {
			yield(n)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
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
