package dump

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
)

// disk is the directory, and the seam at which tests make any call fail.
type disk interface {
	// create makes a new file, 0600, and fails if the name is taken by anything.
	create(name string) (file, error)
	// openLock opens a lock file for reading and writing, making it if need be.
	openLock(name string) (file, error)
	// open opens a regular file for reading, and nothing else.
	open(name string) (file, error)
	lstat(name string) (fs.FileInfo, error)
	rename(from, to string) error
	remove(name string) error
	// list calls yield with the directory's names, in no order.
	list(yield func(name string)) error
	// sync makes renames durable.
	sync() error
	// space returns what the disk has in bytes; an error wrapping
	// errors.ErrUnsupported where the platform does not say.
	space() (free, total uint64, err error)
	// renew opens the directory anew, and makes it if need be: after it was removed.
	// If it cannot, all is as it was.
	renew() error
	close() error
}

// file is what the store does with an open file.
type file interface {
	io.ReadWriteSeeker
	io.ReaderAt
	io.WriterAt
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
	now  atomic.Pointer[opened] // readers do not wait for whoever renews
}

// opened are handles of the directory.
type opened struct {
	root *os.Root
	dir  *os.File
}

// openDisk creates dir if need be and checks that only its owner can write to it.
func openDisk(dir string) (disk, error) {
	o, err := openDirectory(dir)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil { // the program may change its directory
		return nil, errors.Join(err, o.close())
	}
	d := &rootDisk{path: dir}
	d.now.Store(o)
	return d, nil
}

func openDirectory(dir string) (*opened, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	self, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, err
	}
	o := &opened{root, self}
	// Asked of the handle, not of the path, which may have changed since.
	info, err := self.Stat()
	if err == nil && hasModes && info.Mode().Perm()&0o022 != 0 {
		err = fmt.Errorf("%w: %s has mode %04o, so others could plant or replace files; run: chmod go-w %s",
			ErrRefused, dir, info.Mode().Perm(), dir)
	}
	if err != nil {
		o.close()
		return nil, err
	}
	return o, nil
}

func (d *rootDisk) root() *os.Root { return d.now.Load().root }
func (d *rootDisk) dir() *os.File  { return d.now.Load().dir }

func (d *rootDisk) renew() error {
	o, err := openDirectory(d.path)
	if err != nil {
		return err
	}
	// At the start the caller chose where a link leads. Whoever has put one in the
	// place of what was removed did not.
	here, err := os.Lstat(d.path)
	if err == nil {
		var info fs.FileInfo
		if info, err = o.dir.Stat(); err == nil && !os.SameFile(here, info) {
			err = fmt.Errorf("%w: %s is %v now, want a directory; remove it", ErrRefused, d.path, here.Mode().Type())
		}
	}
	if err != nil {
		o.close()
		return err
	}
	d.now.Swap(o).close() // what it held is gone
	return nil
}

func (d *rootDisk) create(name string) (file, error) {
	f, err := d.root().OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (d *rootDisk) openLock(name string) (file, error) {
	info, err := d.root().Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		f, err := d.root().OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return osFile{f}, nil
		}
		// Another process was first, so take its file; or it cannot be made.
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if info, err = d.root().Lstat(name); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	return d.openSame(name, os.O_RDWR, info)
}

func (d *rootDisk) open(name string) (file, error) {
	info, err := d.root().Lstat(name)
	if err != nil {
		return nil, err
	}
	return d.openSame(name, os.O_RDONLY, info)
}

// openSame opens the regular file that info describes. Opening a FIFO would
// block and opening a device may do anything, so the type is known before; the
// flags and the comparison after cover a swap in between.
func (d *rootDisk) openSame(name string, flag int, info fs.FileInfo) (file, error) {
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is %v, want a regular file; remove it", ErrRefused, name, info.Mode().Type())
	}
	f, err := d.root().OpenFile(name, flag|openFlags, 0)
	if err != nil {
		return nil, err
	}
	now, err := f.Stat()
	if err == nil && !os.SameFile(info, now) {
		err = fmt.Errorf("%w: %s was replaced while it was being opened", ErrRefused, name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return osFile{f}, nil
}

func (d *rootDisk) lstat(name string) (fs.FileInfo, error) { return d.root().Lstat(name) }
func (d *rootDisk) rename(from, to string) error           { return d.root().Rename(from, to) }
func (d *rootDisk) remove(name string) error               { return d.root().Remove(name) }
func (d *rootDisk) sync() error                            { return syncDir(d.dir()) }
func (d *rootDisk) space() (uint64, uint64, error)         { return space(d.dir()) }

// listBatch bounds how many names are in memory at once that turn out not to
// be ours.
const listBatch = 1024

func (d *rootDisk) list(yield func(string)) error {
	// A handle of its own: the position of a shared one would be shared too.
	dir, err := d.root().Open(".")
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

func (d *rootDisk) close() error { return d.now.Load().close() }

func (o *opened) close() error { return errors.Join(o.dir.Close(), o.root.Close()) }
