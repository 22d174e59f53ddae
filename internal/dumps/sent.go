package dumps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Profiles that leave the process have a receipt beside them, an empty file with one of these in the place
// of profileExt. A file without is there or not, so that no crash leaves half of one.
const (
	sentExt    = ".sent"
	refusedExt = ".refused" // nobody took it: it does not leave again
	profileExt = ".pb.gz"
	otherExt   = ".out"
)

// DescriptionFile is the file of a dump that describes it for who sends its profiles. Those of a dump
// without it stay where they are: when it was saved, nothing was to leave.
const DescriptionFile = "export" + otherExt

// Unsent lists profiles of this process's dumps, and of those of processes that are gone, that
// were not sent, the oldest first, and at most so many: each as the ID of its dump, a dot, and its
// kind. It takes over the folders of processes that are gone.
func (s *Store) Unsent(most int) (profiles []string, err error) {
	s.mu.Lock()
	pending := maps.Clone(s.sent) // before the folders are read: receipts are written meanwhile
	s.mu.Unlock()
	entries, err := s.folders(func(instance string) bool { return s.owns(instance, true) })
	if err != nil {
		err = fmt.Errorf("list profiles that were not sent: %w", err)
	}
	for _, e := range entries {
		if !e.whole() || !e.has(DescriptionFile) {
			continue
		}
		for _, suffix := range e.suffixes {
			kind, is := strings.CutSuffix(suffix, profileExt)
			is = is && !strings.Contains(kind, ".") // what was before has no new samples
			if is && !e.has(kind+sentExt) && !e.has(kind+refusedExt) && pending[e.file(kind)] == "" {
				profiles = append(profiles, e.file(kind))
			}
		}
	}
	slices.Sort(profiles) // IDs begin with the time
	return profiles[:min(most, len(profiles))], err
}

// Sent notes that a profile of a dump, which may not be saved yet, was sent, or refused by who was to take
// it. It never blocks.
func (s *Store) Sent(profile string, refused bool) {
	receipt := sentExt
	if refused {
		receipt = refusedExt
	}
	s.mu.Lock()
	s.sent[profile] = receipt
	s.mu.Unlock()
	select {
	case s.flushes <- make(chan struct{}):
	default: // there is one already
	}
}

// Flush saves the dumps that wait, and writes receipts for what was sent, as far as the disk lets it. It returns
// when that is done, or when ctx ends.
func (s *Store) Flush(ctx context.Context) {
	flushed := make(chan struct{})
	select {
	case s.flushes <- flushed:
	case <-s.done:
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-flushed:
	case <-s.done:
	case <-ctx.Done():
	}
}

// flush saves the dumps that wait, and then writes receipts: a dump is offered before it is sent. A receipt
// that cannot be written is tried again later.
func (s *Store) flush() {
	s.mu.Lock()
	sent := maps.Clone(s.sent)
	s.mu.Unlock()
	for range len(s.queue) {
		if p, more := <-s.queue; more {
			s.save(p)
		}
	}
	for profile, receipt := range sent {
		n, suffix, ok := parseFile(profile + profileExt)
		err := fs.ErrNotExist
		if ok {
			_, err = s.disk.lstat(n.path(suffix))
		}
		if err == nil {
			var f file
			if f, err = s.disk.create(n.path(strings.TrimSuffix(suffix, profileExt) + receipt)); err == nil {
				err = f.Close()
			}
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
			s.mu.Lock()
			delete(s.sent, profile)
			s.mu.Unlock()
		}
	}
}

// ReadUnsent reads a profile, and what [DescriptionFile] says of its dump. There is no error and no
// profile if it was sent meanwhile, or is gone.
func (s *Store) ReadUnsent(profile string) (data, description []byte, err error) {
	n, suffix, ok := parseFile(profile + profileExt)
	s.mu.Lock()
	pending := s.sent[profile]
	s.mu.Unlock()
	if !ok || pending != "" {
		return nil, nil, nil
	}
	for _, receipt := range []string{sentExt, refusedExt} {
		if _, err := s.disk.lstat(n.path(strings.TrimSuffix(suffix, profileExt) + receipt)); err == nil {
			return nil, nil, nil
		}
	}
	if data, err = s.read(n.id, profile+profileExt); err == nil {
		description, err = s.read(n.id, n.file(DescriptionFile))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	return data, description, err
}

func (s *Store) read(id ID, file string) ([]byte, error) {
	f, err := s.Open(id, file)
	var b []byte
	if err == nil {
		b, err = readAll(f, maxProfile)
		f.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return b, nil
}

// maxProfile is the most that is read of a profile.
const maxProfile = 16 << 20
