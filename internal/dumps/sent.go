package dumps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Profiles that leave the process have a mark beside them, an empty file with this in the place of
// profileExt. A file without is there or not, so that no crash leaves half of one.
const (
	sentExt    = ".sent"
	profileExt = ".pb.gz"
)

// DescriptionFile is the file of a dump that describes it for who sends its profiles. Those of a dump
// without it stay where they are: when it was saved, nothing was to leave.
const DescriptionFile = "export.out"

// An Unsent is a profile that was not marked as sent.
type Unsent struct {
	ID   ID
	File string // for [Store.Open]
	Kind string // "cpu", "heap" ...
}

// Unsent lists profiles of this process's dumps, and of those of processes that are gone, that
// were not sent, the oldest first, and at most so many. It takes over the folders of processes
// that are gone until the store is closed, so that no other process sends the same.
func (s *Store) Unsent(most int) (found []Unsent, err error) {
	var files []string // whose names begin with the time
	s.mu.Lock()
	pending := maps.Clone(s.sent) // before the folders are read: marks are written meanwhile
	s.mu.Unlock()
	names, err := s.disk.list(".")
	for _, folder := range names {
		instance, ok := parseFolder(folder)
		if !ok || !s.takeOver(instance) {
			continue
		}
		entries, failed := s.folder(instance)
		if failed != nil && !errors.Is(failed, fs.ErrNotExist) && err == nil {
			err = failed
		}
		for _, e := range entries {
			if !e.whole() || !slices.Contains(e.suffixes, DescriptionFile) {
				continue
			}
			for _, suffix := range e.suffixes {
				kind, is := strings.CutSuffix(suffix, profileExt)
				is = is && !strings.Contains(kind, ".") // what was before has no new samples
				if u := (Unsent{e.id, e.file(suffix), kind}); is && !slices.Contains(e.suffixes, kind+sentExt) && !pending[u] {
					files = append(files, u.File)
				}
			}
		}
	}
	if err != nil {
		err = fmt.Errorf("list profiles that were not sent: %w", err)
	}
	slices.Sort(files)
	for _, file := range files[:min(most, len(files))] {
		n, suffix, _ := parseFile(file) // it was read before
		found = append(found, Unsent{n.id, file, strings.TrimSuffix(suffix, profileExt)})
	}
	return found, err
}

// takeOver reports whether the folder is this process's, or that of a process that is gone and has
// now become this one's.
func (s *Store) takeOver(instance string) bool {
	if instance == s.instance || s.hasTaken(instance) {
		return true
	}
	lock, err := s.disk.lock(folderName(instance))
	if errors.Is(err, errors.ErrUnsupported) {
		return s.ended(instance)
	}
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		lock.Close()
		return false
	}
	s.taken[instance] = lock
	return true
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

// IsUnsent reports whether a profile is still there and was not sent.
func (s *Store) IsUnsent(u Unsent) bool {
	n, suffix, ok := parseFile(u.File)
	s.mu.Lock()
	pending := s.sent[u]
	s.mu.Unlock()
	if !ok || pending {
		return false
	}
	_, err := s.disk.lstat(n.path(suffix))
	_, sent := s.disk.lstat(n.path(u.Kind + sentExt))
	return err == nil && errors.Is(sent, fs.ErrNotExist)
}

// Sent marks a profile of a dump, which may not be saved yet, as sent. It never blocks.
func (s *Store) Sent(id ID, kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, _, ok := parseFile(string(id) + "." + kind + profileExt); ok {
		s.sent[Unsent{id, n.file(kind + profileExt), kind}] = true
	}
	select {
	case s.marks <- struct{}{}:
	default: // there is a token already
	}
}

// Mark saves the dumps that wait, and marks what was sent, as far as the disk lets it. It returns
// when that is done, or when ctx ends.
func (s *Store) Mark(ctx context.Context) {
	marked := make(chan struct{})
	select {
	case s.marking <- marked:
	case <-s.done:
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-marked:
	case <-ctx.Done():
	}
}

// writeMarks marks what was sent. Dumps that wait to be saved are marked after that. A mark that
// cannot be written is tried again later.
func (s *Store) writeMarks() {
	s.mu.Lock()
	var ready []Unsent
	for u := range s.sent {
		if !s.waiting[u.ID] {
			ready = append(ready, u)
		}
	}
	s.mu.Unlock()
	for _, u := range ready {
		n, suffix, _ := parseFile(u.File) // Sent has parsed it
		_, err := s.disk.lstat(n.path(suffix))
		if err == nil {
			var f file
			if f, err = s.disk.create(n.path(u.Kind + sentExt)); err == nil {
				err = f.Close()
			}
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
			s.mu.Lock()
			delete(s.sent, u)
			s.mu.Unlock()
		}
	}
}

// ReadUnsent reads a profile, and what [DescriptionFile] says of its dump.
func (s *Store) ReadUnsent(u Unsent) (data, description []byte, err error) {
	read := func(file string) (b []byte) {
		if err != nil {
			return nil
		}
		f, failed := s.Open(u.ID, file)
		if failed == nil {
			b, failed = io.ReadAll(io.LimitReader(f, maxProfile+1))
			f.Close()
		}
		if failed == nil && len(b) > maxProfile {
			failed = fmt.Errorf("it has more than %d MiB", maxProfile>>20)
		}
		if failed != nil {
			err = fmt.Errorf("read %s: %w", file, failed)
		}
		return b
	}
	return read(u.File), read(string(u.ID) + "." + DescriptionFile), err
}

// maxProfile limits what is read of a file that may not be what this package has written.
const maxProfile = 16 << 20
