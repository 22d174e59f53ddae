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
	// batch is how many files one pass of clean-up removes at most. Removing takes
	// 10 to 70 µs a file on ext4, so a dump waits 150 ms at most for a pass.
	batch = 2048
	// indexAge is when the folders are read again: a person may have deleted
	// files, or a process has ended.
	indexAge = 10 * time.Minute
	// lockAge is when a process counts as gone where files cannot be locked. It
	// renews the time of its lock sixty times within.
	lockAge = time.Hour
)

// entry is one dump on disk, or the remains of one.
type entry struct {
	id ID
	name
	suffixes []string
	size     int64
	// saved is when: own dumps carry a monotonic reading, so that a jump of the
	// wall clock does not make them old; others have what their name says.
	saved time.Time
}

// whole reports whether e is a dump, not the remains of one.
func (e *entry) whole() bool {
	return slices.Contains(e.suffixes, sidecarSuffix) &&
		slices.ContainsFunc(e.suffixes, func(s string) bool { return strings.HasSuffix(s, profileExt) })
}

// index is what this process may delete: its own files, and those of processes that
// are gone.
type index struct {
	dumps   map[ID]*entry
	bytes   int64 // of dumps
	remains []*entry
	left    map[string]int // by instance: dumps and remains
	read    time.Time
}

func (x *index) add(e *entry) {
	x.left[e.instance]++
	if !e.whole() {
		x.remains = append(x.remains, e)
		return
	}
	x.dumps[e.id] = e
	x.bytes += e.size
}

// remove deletes the files of a dump or of remains, the sidecar first, so that a
// crash in between leaves remains and not half a dump. The folder goes with the last.
func (s *Store) remove(e *entry) error {
	if i := slices.Index(e.suffixes, sidecarSuffix); i > 0 {
		e.suffixes[0], e.suffixes[i] = e.suffixes[i], e.suffixes[0]
	}
	for _, suffix := range e.suffixes {
		if err := s.disk.remove(e.path(suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.index.read = time.Time{} // unsure what is left; the next scan tells
			return err
		}
	}
	if s.index.dumps[e.id] == e {
		delete(s.index.dumps, e.id)
		s.index.bytes -= e.size
		s.lost(e)
	}
	if s.index.left[e.instance]--; s.index.left[e.instance] == 0 && e.instance != s.instance {
		s.removeFolder(e.instance)
	}
	return nil
}

// removeFolder removes a folder that has nothing but a lock. One with files that
// are not ours stays.
func (s *Store) removeFolder(instance string) {
	s.disk.remove(lockPath(instance))
	s.disk.remove(folderName(instance))
}

// lost notes that a dump is no more, if it is one of this process.
func (s *Store) lost(e *entry) {
	if e.instance == s.instance {
		s.gone = append(s.gone, e.id)
	}
}

// takeGone returns the own dumps that are no more, each once.
func (s *Store) takeGone() []ID {
	s.saving.Lock()
	defer s.saving.Unlock()
	gone := s.gone
	s.gone = nil
	return gone
}

// scan reads anew what this process may delete.
func (s *Store) scan() error {
	x := &index{dumps: make(map[ID]*entry), left: make(map[string]int), read: s.now()}
	instances, err := s.instances()
	if err != nil {
		return err
	}
	for _, instance := range instances {
		if instance == s.instance {
			err = s.include(x, instance)
		} else if lock, ended := s.ended(instance); ended {
			// The lock keeps a process from taking the folder that it has just made
			// for its own. What cannot be read here is not for this process to clean.
			_ = s.include(x, instance)
			if lock != nil {
				lock.Close()
			}
		}
		if err != nil {
			return err
		}
	}
	if s.index != nil {
		for id, old := range s.index.dumps {
			if e := x.dumps[id]; e != nil {
				e.saved = old.saved
			} else {
				s.lost(old) // to a person, or to half a removal before
			}
		}
	}
	s.index = x
	return nil
}

// include adds what a folder holds.
func (s *Store) include(x *index, instance string) error {
	entries, err := s.folder(instance)
	for _, e := range entries {
		x.add(e)
	}
	if err == nil && len(entries) == 0 && instance != s.instance && s.isOld(folderName(instance)) {
		s.removeFolder(instance)
	}
	return err
}

// instances lists those that have a folder.
func (s *Store) instances() (list []string, err error) {
	err = s.disk.list(".", func(name string) {
		if instance, ok := parseFolder(name); ok {
			if info, err := s.disk.lstat(name); err == nil && info.IsDir() {
				list = append(list, instance)
			}
		}
	})
	if err != nil {
		err = fmt.Errorf("read the directory: %w", err)
	}
	return list, err
}

// folder reads what an instance has written.
func (s *Store) folder(instance string) ([]*entry, error) {
	found := make(map[ID]*entry)
	var failed error
	err := s.disk.list(folderName(instance), func(file string) {
		n, suffix, ok := parseFile(file)
		if !ok || n.instance != instance {
			return
		}
		info, err := s.disk.lstat(n.path(suffix))
		switch {
		case errors.Is(err, fs.ErrNotExist): // somebody was faster
		case err != nil:
			failed = err
		case info.Mode().IsRegular(): // what is not was never written by us
			e := found[n.id()]
			if e == nil {
				e = &entry{id: n.id(), name: n, saved: n.time}
				found[e.id] = e
			}
			e.suffixes = append(e.suffixes, suffix)
			e.size += info.Size()
		}
	})
	if err = cmp.Or(err, failed); err != nil {
		return nil, fmt.Errorf("read a folder: %w", err)
	}
	return slices.Collect(maps.Values(found)), nil
}

// ended reports whether the owner of a folder is gone, and if so holds its lock. In
// doubt the owner lives: keeping dumps too long is better than deleting another's.
func (s *Store) ended(instance string) (lock file, ended bool) {
	lock, err := s.disk.open(lockPath(instance))
	if errors.Is(err, fs.ErrNotExist) { // the folder is being made, or has lost it
		return nil, s.isOld(folderName(instance))
	}
	if err != nil {
		return nil, false
	}
	ended, err = lock.tryLock()
	if errors.Is(err, errors.ErrUnsupported) {
		ended = s.isOld(lockPath(instance))
	}
	if !ended {
		lock.Close()
		return nil, false
	}
	return lock, true
}

func (s *Store) isOld(path string) bool {
	info, err := s.disk.lstat(path)
	return err == nil && s.now().Sub(info.ModTime()) > lockAge
}

// Clean makes one pass of clean-up: it removes the remains of crashes, dumps that
// are too old, and those over the caps. It reports whether there is more to do.
func (s *Store) Clean() (more bool, err error) {
	s.saving.Lock()
	defer s.saving.Unlock()
	err = fs.ErrClosed
	if !s.closed.Load() {
		_ = s.disk.touch(lockPath(s.instance), s.now()) // for where nothing can be locked
		if err = s.rescan(); err == nil {
			more, err = s.sweep()
		}
	}
	if err != nil {
		return false, fmt.Errorf("clean up dumps: %w", err)
	}
	return more, nil
}

// rescan reads the folders if the index is old.
func (s *Store) rescan() error {
	if s.now().Sub(s.index.read) <= indexAge {
		return nil
	}
	return s.scan()
}

// sweep removes a batch of files at most. What it cannot remove it leaves to the
// next scan.
func (s *Store) sweep() (more bool, failed error) {
	left := batch
	thin := func(entries []*entry) (done int) {
		for _, e := range entries {
			if left <= 0 {
				break
			}
			failed = cmp.Or(s.remove(e), failed)
			left -= len(e.suffixes)
			done++
		}
		return done
	}
	s.index.remains = s.index.remains[thin(s.index.remains):]
	var old []*entry
	now := s.now()
	for _, e := range s.index.dumps {
		if now.Sub(e.saved) > s.keep.Age {
			old = append(old, e)
		}
	}
	thin(old)
	surplus, _ := s.choose(nil) // after that: what was too old may have been all of it
	thin(surplus)
	return left <= 0 && failed == nil, failed
}

// choose picks what must go so that add (nil: nothing) fits the caps, the least
// valuable first and of these the oldest: dumps without a mark, those that were the
// worst, and the first of violations. The first and the worst of the current
// violations yield only to such others; then add may not fit.
//
// More than a batch is never picked: what earlier processes left beyond the caps is
// for the clean-up, and no reason to refuse a dump.
func (s *Store) choose(add *entry) (victims []*entry, fits bool) {
	files, bytes, left := len(s.index.dumps), s.index.bytes, batch
	if add != nil {
		files, bytes = files+1, bytes+add.size
	}
	within := func() bool { return files <= s.keep.Files && bytes <= s.keep.Bytes }
	if within() {
		return nil, true
	}
	current := s.current(add)
	value := func(e *entry) int {
		switch {
		case current[e.id]:
			return 3
		case e.mark == first:
			return 2
		case e.mark == worst:
			return 1
		}
		return 0
	}
	candidates := slices.SortedFunc(maps.Values(s.index.dumps), func(a, b *entry) int {
		return cmp.Or(cmp.Compare(value(a), value(b)), a.saved.Compare(b.saved), cmp.Compare(a.id, b.id))
	})
	for _, e := range candidates {
		if within() || current[e.id] && (add == nil || add.mark == "") {
			break
		}
		if left <= 0 {
			return victims, true
		}
		victims = append(victims, e)
		files, bytes, left = files-1, bytes-e.size, left-len(e.suffixes)
	}
	return victims, within()
}

// current are the first and the worst dumps of the current violations, as they are
// when add is saved.
func (s *Store) current(add *entry) map[ID]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make(map[ID]bool)
	for slug, v := range s.violations {
		switch {
		case add != nil && add.slug == slug && add.mark == first:
			continue // the violation before
		case add != nil && add.slug == slug && add.mark == worst:
			v.worst = add.id
		}
		ids[v.first], ids[v.worst] = true, true
	}
	return ids
}

// makeRoom deletes what must go for e, unless e may not come.
func (s *Store) makeRoom(e *entry) error {
	victims, fits := s.choose(e)
	if !fits {
		return fmt.Errorf("%w: %d dumps with %d bytes are the first and worst of their violations; raise Keep.Files (%d) or Keep.Bytes (%d)",
			ErrLimit, len(s.index.dumps), s.index.bytes, s.keep.Files, s.keep.Bytes)
	}
	free, total, err := s.disk.space()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("ask for free space: %w", err)
	}
	left := float64(free) - float64(e.size)
	for _, v := range victims {
		left += float64(v.size)
	}
	if err == nil && left < s.keep.Free*float64(total) {
		return fmt.Errorf("%w: %d of %d bytes are free, Keep.Free wants %.0f%% left; free some or lower it",
			ErrNoSpace, free, total, 100*s.keep.Free)
	}
	for _, v := range victims {
		if err := s.remove(v); err != nil {
			return fmt.Errorf("make room: %w", err)
		}
	}
	return nil
}
