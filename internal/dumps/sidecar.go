package dumps

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"runtime/debug"
	"slices"
	"time"
)

// Sidecar is the JSON file beside a profile.
type Sidecar struct {
	ID    ID        `json:"id"`
	Start time.Time `json:"start,omitzero"` // of the window
	End   time.Time `json:"end"`
	// Budget is the status of the budget after that window, as the caller of
	// [Store.Offer] has encoded it. This package does not look into it.
	Budget json.RawMessage `json:"budget,omitempty"`
	Mark   string          `json:"mark,omitempty"`
	Build  string          `json:"build,omitempty"` // the main module, its version, Go's, and the platform
	Host   string          `json:"host,omitempty"`
	PID    int             `json:"pid"`
	Files  []string        `json:"files"` // their names, the profile of the budget first
}

// maxSidecar limits the size of sidecars that are read. A usual one has 2 KiB; with long names
// of generic functions it stays below 100 KiB.
const maxSidecar = 256 << 10

// readSidecar reads a sidecar of at most maxSidecar bytes, as it was written: any JSON.
func readSidecar(r io.Reader) (json.RawMessage, error) {
	data, err := readAll(r, maxSidecar)
	if err == nil && !json.Valid(data) {
		err = errors.New("it is not JSON")
	}
	if err != nil {
		return nil, fmt.Errorf("read sidecar: %w", err)
	}
	return data, nil
}

// buildOf is the program's build information. The version names the commit.
func buildOf() string {
	program := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		program = info.Main.Path + " " + info.Main.Version + " "
	}
	return fmt.Sprintf("%s%s %s/%s", program, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Info describes one dump of [Store.List].
type Info struct {
	ID      ID              `json:"id"`
	End     time.Time       `json:"end"`               // of the window
	Bytes   int64           `json:"bytes"`             // of all files
	Sidecar json.RawMessage `json:"sidecar,omitempty"` // a [Sidecar] as it was written
	Broken  string          `json:"broken,omitempty"`  // why the sidecar cannot be read
}

// List returns the newest dumps in DumpDir, at most limit, newest first, of all processes, and
// the number of all. It takes no locks, so that a hung save does not block it. A folder that
// cannot be read is left out, and is an error beside the dumps of the others.
func (s *Store) List(limit int) (newest []Info, total int, err error) {
	found, err := s.folders(func(string) bool { return true })
	if err != nil {
		err = fmt.Errorf("list dumps: %w", err)
	}
	found = slices.DeleteFunc(found, func(e *entry) bool { return !e.whole() })
	slices.SortFunc(found, func(a, b *entry) int { return cmp.Compare(b.id, a.id) })
	for _, e := range found[:min(limit, len(found))] {
		info := Info{ID: e.id, End: e.time, Bytes: e.size}
		f, failed := s.Open(e.id, e.file(sidecarSuffix))
		if failed == nil {
			info.Sidecar, failed = readSidecar(f)
			f.Close()
		}
		if errors.Is(failed, fs.ErrNotExist) {
			continue
		}
		if failed != nil {
			info.Broken = failed.Error()
		}
		newest = append(newest, info)
	}
	return newest, len(found), err
}

// Open opens one file of a dump for reading, by the dump's ID and the file's name in its
// [Sidecar]. Both may come from a request: for any other name, and for files that are not
// regular, the error is [fs.ErrNotExist].
func (s *Store) Open(id ID, file string) (io.ReadSeekCloser, error) {
	n, suffix, ok := parseFile(file)
	if !ok || isTemp(suffix) || n.id != id {
		return nil, fmt.Errorf("open dump: no file %.80q: %w", file, fs.ErrNotExist)
	}
	opened, err := s.disk.read(n.path(suffix))
	if err != nil {
		return nil, fmt.Errorf("open dump: %w", err)
	}
	return opened, nil
}
