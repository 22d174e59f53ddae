package dumps

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// readAge is the time after which the folders are read again: a person may have deleted
	// files, or a process may have ended.
	readAge = 10 * time.Minute
	// idleAge is the time after which a process that writes nothing counts as gone, where
	// files cannot be locked or its lock is missing. If it is still running, another process
	// may delete its dumps, but only those over the caps.
	idleAge = time.Hour
)

// entry is one dump on disk, or the remains of one.
type entry struct {
	name
	suffixes []string
	size     int64
}

// whole reports whether e is a dump, not the remains of one.
func (e *entry) whole() bool {
	return slices.Contains(e.suffixes, sidecarSuffix) &&
		slices.ContainsFunc(e.suffixes, func(s string) bool { return strings.HasSuffix(s, profileExt) })
}

// folders reads the entries of all folders, by instance. A folder that cannot be read is left
// out; the error is that of the first.
func (s *Store) folders() (map[string][]*entry, error) {
	names, failed := s.disk.list(".")
	all := make(map[string][]*entry)
	for _, name := range names {
		instance, ok := parseFolder(name)
		if info, err := s.disk.lstat(name); !ok || err != nil || !info.IsDir() {
			continue
		}
		entries, err := s.folder(instance)
		if err == nil {
			all[instance] = entries
		} else if !errors.Is(err, fs.ErrNotExist) { // removed meanwhile by another process
			failed = cmp.Or(failed, err)
		}
	}
	if failed != nil {
		failed = fmt.Errorf("read the directory: %w", failed)
	}
	return all, failed
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

// scan reads again the entries that this process may delete: its own, and those of processes
// that are gone.
func (s *Store) scan() error {
	all, err := s.folders()
	if _, ok := all[s.instance]; !ok {
		return cmp.Or(err, fs.ErrNotExist)
	}
	s.entries, s.read = make(map[ID]*entry), s.now()
	for instance, entries := range all {
		if instance != s.instance && !s.ended(instance) {
			continue
		}
		for _, e := range entries {
			s.entries[e.id] = e
		}
		if instance != s.instance {
			s.removeFolder(instance) // if it is empty
		}
	}
	return nil
}

// ended reports whether the owner of a folder is gone. In doubt it is not: to keep dumps too
// long is better than to delete those of a running process.
func (s *Store) ended(instance string) bool {
	lock, err := s.disk.lock(lockName(instance))
	if err == nil {
		lock.Close()
		return true
	}
	if !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	info, err := s.disk.lstat(folderName(instance))
	return err == nil && s.now().Sub(info.ModTime()) > idleAge
}

// removeFolder removes a folder and its lock if there is nothing in it.
func (s *Store) removeFolder(instance string) {
	if err := s.disk.remove(folderName(instance)); err == nil || errors.Is(err, fs.ErrNotExist) {
		s.disk.remove(lockName(instance))
	}
}

// victims are the entries that must be removed so that add (nil: nothing) fits the caps:
// remains and entries that are too old, then dumps without a mark, then those marked worst,
// then those marked first; within each group the oldest first.
func (s *Store) victims(add *entry) (list []*entry) {
	now := s.now()
	value := func(e *entry) int {
		switch {
		case !e.whole() || now.Sub(e.time) > s.keep.Age:
			return 0
		case e.mark == "":
			return 1
		case e.mark == Worst:
			return 2
		}
		return 3
	}
	candidates := slices.SortedFunc(maps.Values(s.entries), func(a, b *entry) int {
		return cmp.Or(cmp.Compare(value(a), value(b)), cmp.Compare(a.id, b.id))
	})
	files, bytes := len(candidates), int64(0)
	for _, e := range candidates {
		bytes += e.size
	}
	if add != nil {
		files, bytes = files+1, bytes+add.size
	}
	for _, e := range candidates {
		if value(e) > 0 && files <= s.keep.Files && bytes <= s.keep.Bytes {
			break
		}
		list = append(list, e)
		files, bytes = files-1, bytes-e.size
	}
	return list
}

// tidy cleans up: it reads the folders if that was long ago, and removes the victims for add
// (nil: nothing). Entries that it cannot remove are left to the next scan.
func (s *Store) tidy(add *entry) (err error) {
	if s.now().Sub(s.read) > readAge {
		if err := s.scan(); err != nil {
			return fmt.Errorf("clean up dumps: %w", err)
		}
	}
	for _, e := range s.victims(add) {
		err = cmp.Or(err, s.remove(e))
	}
	if err != nil {
		s.read, err = time.Time{}, fmt.Errorf("clean up dumps: %w", err)
	}
	return err
}

// remove deletes the files of a dump or of remains, the sidecar first, so that a
// crash in between leaves remains and not half a dump. An empty folder goes with the next
// scan.
func (s *Store) remove(e *entry) error {
	slices.SortFunc(e.suffixes, func(a, b string) int {
		return cmp.Compare(len(a), len(b)) // json is the shortest
	})
	for _, suffix := range e.suffixes {
		if err := s.disk.remove(e.path(suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	delete(s.entries, e.id)
	return nil
}

// makeRoom removes the victims for e, and then checks the free space.
func (s *Store) makeRoom(e *entry) error {
	if err := s.tidy(e); err != nil {
		return err
	}
	free, total, err := s.disk.space()
	switch {
	case errors.Is(err, errors.ErrUnsupported):
	case err != nil:
		return fmt.Errorf("ask for free space: %w", err)
	case float64(free)-float64(e.size) < s.keep.Free*float64(total):
		return fmt.Errorf("%w: %d of %d bytes are free, and %.0f%% are to be left", ErrNoSpace, free, total, 100*s.keep.Free)
	}
	return nil
}
