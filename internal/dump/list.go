package dump

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Info describes one dump of [Store.List].
type Info struct {
	ID         ID
	Budget     string // from the sidecar; else as the file name has it
	Time       time.Time
	Bytes      int64    // of all files
	Profile    string   // file name
	Companions []string // file names
	// Sidecar is zero and Err set when the sidecar could not be read.
	Sidecar Sidecar
	Err     error
}

// maxListed is four times the default cap; more makes no page.
const maxListed = 256

// List reads the directory anew and returns the newest dumps, newest first, at
// most 256 of them, whichever process saved them. It takes no locks, so a hung
// save does not hold it up; dumps that vanish meanwhile are left out.
func (s *Store) List() ([]Info, error) {
	found := make(map[ID]*entry)
	err := s.disk.list(func(file string) {
		p := parseFile(file)
		if p.kind != final {
			return
		}
		e := found[p.id]
		if e == nil {
			e = &entry{id: p.id, name: p.name}
			found[p.id] = e
		}
		e.suffixes = append(e.suffixes, p.suffix)
	})
	if err != nil {
		return nil, fmt.Errorf("list dumps: %w", err)
	}
	var newest []*entry
	for _, e := range found {
		if e.whole() {
			newest = append(newest, e)
		}
	}
	slices.SortFunc(newest, func(a, b *entry) int { return cmp.Compare(b.id, a.id) })
	var out []Info
	for _, e := range newest {
		if len(out) == maxListed {
			break
		}
		if info, ok := s.describe(e); ok {
			out = append(out, info)
		}
	}
	return out, nil
}

// describe is false for what vanished or is no dump after all.
func (s *Store) describe(e *entry) (Info, bool) {
	info := Info{ID: e.id, Budget: e.name.slug, Time: e.name.time}
	slices.Sort(e.suffixes)
	var profiles, others []string
	for _, suffix := range e.suffixes {
		file := fileName(e.id, suffix)
		st, err := s.disk.lstat(file)
		if err != nil || !st.Mode().IsRegular() {
			continue
		}
		info.Bytes += st.Size()
		switch {
		case suffix == sidecarSuffix:
		case strings.HasSuffix(suffix, profileExt):
			profiles = append(profiles, file)
		default:
			others = append(others, file)
		}
	}
	info.Sidecar, info.Err = s.sidecar(e.id)
	if errors.Is(info.Err, fs.ErrNotExist) || errors.Is(info.Err, ErrRefused) || len(profiles) == 0 {
		return Info{}, false
	}
	info.Profile = profiles[0]
	if i := slices.Index(profiles, info.Sidecar.Profile); i > 0 {
		info.Profile = profiles[i]
	}
	info.Companions = append(slices.DeleteFunc(profiles, func(p string) bool { return p == info.Profile }), others...)
	info.Budget = cmp.Or(info.Sidecar.Budget, info.Budget)
	return info, true
}

// Open opens one file of a dump for reading, by the dump's ID and the file's
// name as [Info] has them. Both may come from a request: whatever is not exactly
// such a name, and anything but a regular file, is [fs.ErrNotExist].
func (s *Store) Open(id ID, file string) (io.ReadSeekCloser, error) {
	p := parseFile(file)
	if p.kind != final || p.id != id {
		return nil, fmt.Errorf("open dump: no file %.80q: %w", file, fs.ErrNotExist)
	}
	// Without its sidecar it is no dump, or not yet.
	_, err := s.disk.lstat(fileName(id, sidecarSuffix))
	if err != nil {
		return nil, fmt.Errorf("open dump: %w", err)
	}
	f, err := s.disk.open(file)
	if errors.Is(err, ErrRefused) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("open dump: %w", err)
	}
	return f, nil
}

// Delete removes a dump, whichever process saved it. It is for a person who
// asks for it; retention is [Store.Clean].
func (s *Store) Delete(id ID) error {
	if _, ok := parseID(id); !ok {
		return fmt.Errorf("delete dump: no dump %.80q: %w", string(id), fs.ErrNotExist)
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	if s.closed.Load() {
		return fmt.Errorf("delete dump: %w", fs.ErrClosed)
	}
	err := s.locked(func(ses *session) error {
		e := ses.x.entries[id]
		if e == nil {
			return fs.ErrNotExist
		}
		_ = ses.announce() // as in sweep
		err := ses.remove(e)
		ses.count()
		return err
	})
	if err != nil {
		return fmt.Errorf("delete dump %s: %w", id, err)
	}
	return nil
}
