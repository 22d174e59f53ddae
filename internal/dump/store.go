package dump

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Store keeps dumps in one directory. Open one per process and directory, and
// Close it. All methods are safe for concurrent use; Save, Clean, Delete and
// Close wait for the disk and for each other.
type Store struct {
	dir      string
	disk     disk
	keep     Keep
	instance string
	now      func() time.Time
	random   func() string // hexLen hex digits

	host  string
	build Build

	// saving is held through I/O and guards what follows.
	saving     sync.Mutex
	x          *index
	live       file // the held mark; nil without locks
	lockless   bool
	violations map[string]violation // the current one by slug: as many as there are budgets
	evicted    func(ID)             // hears which dumps of this store are no more; may be nil

	closed atomic.Bool
	usage  atomic.Pointer[Usage]

	// mu guards last and is never held through I/O.
	mu   sync.Mutex
	last map[string]time.Time // by slug: the last dump, saved or being saved
}

// violation is how far one got.
type violation struct {
	name  string
	worst float64
}

// Usage is what the dumps in the directory take, those of other processes
// included, as of the last save or clean-up.
type Usage struct {
	Files int // profiles; see [Keep]
	Bytes int64
}

// Open opens the store in dir, which it creates if need be, reaps the remains
// of crashes and makes a first pass of clean-up ([Store.Clean]).
func Open(dir string, keep Keep) (*Store, error) {
	s, err := openDir(dir, keep)
	if err != nil {
		return nil, fmt.Errorf("open dump store in %q: %w", dir, err)
	}
	return s, nil
}

func openDir(dir string, keep Keep) (*Store, error) {
	if dir == "" {
		return nil, fmt.Errorf("%w: the directory is \"\"; name one", ErrInvalid)
	}
	// Before the directory is made: a wrong Keep should leave no trace.
	keep, err := keep.withDefaults()
	if err != nil {
		return nil, err
	}
	d, err := openDisk(dir)
	if err != nil {
		return nil, err
	}
	return openOn(d, dir, keep, time.Now, randomHex)
}

// openOn has the seams: disk, clock and randomness. It owns d.
func openOn(d disk, dir string, keep Keep, now func() time.Time, random func() string) (*Store, error) {
	s := &Store{
		dir: dir, disk: d, keep: keep, instance: random(), now: now, random: random,
		build:      readBuild(),
		violations: make(map[string]violation),
		last:       make(map[string]time.Time),
	}
	s.host, _ = os.Hostname() // without it the sidecars name no host
	s.usage.Store(&Usage{})
	err := s.locked(func(ses *session) error {
		if !s.lockless {
			f, err := s.mark()
			if err != nil {
				return err
			}
			s.live = f
		}
		if err := ses.announce(); err != nil {
			return err
		}
		s.remember()
		_, err := ses.sweep()
		return err
	})
	if err != nil {
		if s.live != nil {
			s.live.Close()
			s.disk.remove(liveName(s.instance))
		}
		s.disk.close()
		return nil, err
	}
	return s, nil
}

// remember makes [Keep.Interval] hold across restarts: what dead instances
// dumped counts as ours.
func (s *Store) remember() {
	now := s.now()
	for _, e := range s.x.entries {
		age := now.Sub(e.saved)
		if !s.x.live[e.name.instance] && age >= 0 && age < s.keep.Interval && e.saved.After(s.last[e.name.slug]) {
			s.last[e.name.slug] = e.saved
		}
	}
}

// Close takes back the mark that this process is alive, so that others may
// clean up its dumps, and lets go of the directory. It waits for a save under way.
// Closing twice is fine.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	var err error
	if s.live != nil {
		// Without the lock the mark stays as litter that the next process reaps.
		err = s.locked(func(ses *session) error {
			_ = ses.announce() // else others notice when they next scan
			// Closed first, because Windows does not remove open files.
			closed := s.live.Close()
			s.live = nil
			return errors.Join(closed, gone(s.disk.remove(liveName(s.instance))))
		})
		if s.live != nil {
			err = errors.Join(err, s.live.Close())
		}
	}
	if err = errors.Join(err, s.disk.close()); err != nil {
		return fmt.Errorf("close dump store: %w", err)
	}
	return nil
}

// Dir is the directory as it was passed to [Open].
func (s *Store) Dir() string { return s.dir }

// Usage never blocks.
func (s *Store) Usage() Usage { return *s.usage.Load() }

func (s *Store) count() { s.usage.Store(&Usage{len(s.x.entries), s.x.bytes}) }

// gone forgives that a file to be removed is not there.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func randomHex() string {
	var b [hexLen / 2]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// readBuild is what the linker knows of the program.
func readBuild() Build {
	b := Build{Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Path, b.Version = info.Main.Path, info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}
