package dumps

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
)

// Info describes one dump of [Store.List].
type Info struct {
	Sidecar
	Bytes  int64  `json:"bytes"`            // of all files
	Broken string `json:"broken,omitempty"` // why the sidecar cannot be read: then all but ID and End is missing
}

// List returns the newest dumps in DumpDir, newest first, whichever process saved
// them, and how many there are. It reads the sidecars of no more than limit, takes no
// locks, so that a hung save does not hold it up, and leaves out what vanishes
// meanwhile.
func (s *Store) List(limit int) (newest []Info, total int, err error) {
	all, err := s.folders()
	if err != nil {
		return nil, 0, fmt.Errorf("list dumps: %w", err)
	}
	found := slices.DeleteFunc(slices.Concat(slices.Collect(maps.Values(all))...), func(e *entry) bool { return !e.whole() })
	slices.SortFunc(found, func(a, b *entry) int { return cmp.Compare(b.id, a.id) })
	for _, e := range found[:min(limit, len(found))] {
		var info Info
		f, err := s.Open(e.id, e.file(sidecarSuffix))
		if err == nil {
			info.Sidecar, err = decodeSidecar(f)
			f.Close()
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			info.Broken = err.Error()
		}
		info.ID, info.End, info.Bytes = e.id, e.time, e.size // whatever the sidecar says
		newest = append(newest, info)
	}
	return newest, len(found), nil
}

// Open opens one file of a dump for reading, by the dump's ID and the file's
// name as its [Sidecar] has it. Both may come from a request: whatever is not exactly
// such a name, and anything but a regular file, is [fs.ErrNotExist].
func (s *Store) Open(id ID, file string) (io.ReadSeekCloser, error) {
	n, suffix, ok := parseFile(file)
	if !ok || isTemp(suffix) || n.id != id {
		return nil, fmt.Errorf("open dump: no file %.80q: %w", file, fs.ErrNotExist)
	}
	// Without its sidecar it is no dump, or not yet.
	if _, err := s.disk.lstat(n.path(sidecarSuffix)); err != nil {
		return nil, fmt.Errorf("open dump: %w", err)
	}
	opened, err := s.disk.read(n.path(suffix))
	if errors.Is(err, ErrRefused) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("open dump: %w", err)
	}
	return opened, nil
}
