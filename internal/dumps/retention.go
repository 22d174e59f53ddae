package dumps

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"
)

// idleAge is the time after which a process that writes nothing counts as gone, where folders
// cannot be locked. If it is still running, another process may delete its dumps, but only
// those over the caps.
const idleAge = time.Hour

// entry is one dump on disk, or the remains of one.
type entry struct {
	name
	suffixes []string
	size     int64
}

// whole reports whether e is a dump, not the remains of one.
func (e *entry) whole() bool { return e.has(sidecarSuffix) }

func (e *entry) has(suffix string) bool { return slices.Contains(e.suffixes, suffix) }

// folders reads the entries of the instances that are wanted. A folder that cannot be read in
// full is left out, as dumps would look like remains; the error is that of the first.
func (s *Store) folders(wanted func(instance string) bool) (all []*entry, err error) {
	names, err := s.disk.list(".")
	for _, name := range names {
		instance, ok := parseFolder(name)
		if info, err := s.disk.lstat(name); !ok || err != nil || !info.IsDir() || !wanted(instance) {
			continue
		}
		entries, failed := s.folder(instance)
		if failed == nil {
			all = append(all, entries...)
		} else if !errors.Is(failed, fs.ErrNotExist) { // removed meanwhile by another process
			err = cmp.Or(err, failed)
		}
	}
	if err != nil {
		err = fmt.Errorf("read the directory: %w", err)
	}
	return all, err
}

// folder reads the entries of an instance.
func (s *Store) folder(instance string) ([]*entry, error) {
	files, err := s.disk.list(folderName(instance))
	found := make(map[ID]*entry)
	for _, file := range files {
		n, suffix, ok := parseFile(file)
		if !ok || n.instance != instance {
			continue
		}
		info, failed := s.disk.lstat(n.path(suffix))
		switch {
		case errors.Is(failed, fs.ErrNotExist):
		case failed != nil:
			err = cmp.Or(err, failed)
		case info.Mode().IsRegular(): // this package writes no others
			e := found[n.id]
			if e == nil {
				e = &entry{name: n}
				found[n.id] = e
			}
			e.suffixes, e.size = append(e.suffixes, suffix), e.size+info.Size()
		}
	}
	return slices.Collect(maps.Values(found)), err
}

// mine reports whether this process may delete the dumps of an instance: its own, and those of processes
// that are gone. In doubt one is not: to keep dumps too long is better than to delete those of a running
// process.
func (s *Store) mine(instance string) bool { return s.owns(instance, false) }

// owns does the work of mine. keep takes the folder of a process that is gone over until the store is
// closed, so that no other process sends its dumps.
func (s *Store) owns(instance string, keep bool) bool {
	if instance == s.instance {
		return true
	}
	folder := folderName(instance)
	if !s.hasTaken(instance) {
		lock, err := s.disk.lock(folder)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			if info, err := s.disk.lstat(folder); err != nil || s.now().Sub(info.ModTime()) <= idleAge {
				return false
			}
		case err != nil:
			return false
		case !keep:
			defer lock.Close()
		case !s.take(instance, lock):
			lock.Close()
			return false
		}
	}
	if s.disk.remove(folder) == nil { // it is empty
		s.giveBack(instance)
	}
	return true
}

// take keeps the lock of a folder, unless the store is closed.
func (s *Store) take(instance string, lock io.Closer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.taken[instance] = lock
	}
	return !s.closed
}

func (s *Store) hasTaken(instance string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken[instance] != nil
}

// giveBack releases the folder of a process that is gone.
func (s *Store) giveBack(instance string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lock := s.taken[instance]; lock != nil {
		lock.Close()
		delete(s.taken, instance)
	}
}

// tidy cleans up the folders, so that add (nil: nothing) fits the caps.
func (s *Store) tidy(add *entry) error {
	entries, err := s.folders(s.mine)
	if err = cmp.Or(err, s.clean(entries, add)); err != nil {
		return fmt.Errorf("clean up dumps: %w", err)
	}
	return nil
}

// clean removes entries until the others and add (nil: nothing) fit the caps: the least valuable
// first, within one value the oldest. In the place of one that cannot be removed the next one goes.
func (s *Store) clean(entries []*entry, add *entry) (err error) {
	now := s.now()
	value := func(e *entry) int {
		switch {
		case !e.whole() || now.Sub(e.time) > s.keep.Age: // goes in any case
			return 0
		case e.mark == "":
			return 1
		case e.mark == Worst:
			return 2
		}
		return 3
	}
	slices.SortFunc(entries, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(value(a), value(b)), cmp.Compare(a.id, b.id))
	})
	dumps, bytes := len(entries), int64(0)
	for _, e := range entries {
		bytes += e.size
	}
	if add != nil {
		dumps, bytes = dumps+1, bytes+add.size
	}
	fits := func() bool { return dumps <= s.keep.Dumps && bytes <= s.keep.Bytes }
	for _, e := range entries {
		if value(e) > 0 && fits() {
			break
		}
		if failed := s.remove(e); failed != nil {
			err = cmp.Or(err, failed)
			continue
		}
		dumps, bytes = dumps-1, bytes-e.size
	}
	if fits() {
		return nil
	}
	return err
}

// remove deletes the files of an entry, the sidecar first, so that a crash in between leaves
// remains and not half a dump.
func (s *Store) remove(e *entry) error {
	slices.SortFunc(e.suffixes, func(a, b string) int {
		return cmp.Compare(len(a), len(b)) // json is the shortest
	})
	for _, suffix := range e.suffixes {
		if err := s.disk.remove(e.path(suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
