package dumps

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Store keeps the dumps of one process in a folder of its own. Open one per
// DumpDir, and Close it. All methods are safe for concurrent use; Save, Clean
// and Close wait for the disk and for each other, List and Open only for the disk.
type Store struct {
	disk     disk
	keep     Keep
	instance string
	now      func() time.Time
	random   func() string // hexLen hex digits
	host     string
	build    Build
	before   map[string]time.Time // by slug: the last dump of an earlier process
	closed   atomic.Bool

	// saving is held through I/O and guards what follows.
	saving sync.Mutex
	lock   file // held as long as the store is open
	index  *index
	gone   []ID // own dumps that are no more and not yet reported

	// mu guards what follows and is never held through I/O.
	mu         sync.Mutex
	violations map[string]violation // by slug: the current one
}

// violation is what is saved of one.
type violation struct {
	name         string
	severity     float64 // of the worst
	first, worst ID
}

// Open makes a folder for this process in dir, which it creates if need be, and
// begins to clean up what earlier processes left.
func Open(dir string, keep Keep) (*Store, error) {
	d, err := openDisk(dir)
	if err == nil {
		var s *Store
		if s, err = openOn(d, keep, time.Now, randomHex); err == nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("open dump store in %q: %w", dir, err)
}

// openOn has the seams: disk, clock and randomness. It owns d.
func openOn(d disk, keep Keep, now func() time.Time, random func() string) (*Store, error) {
	s := &Store{
		disk: d, keep: keep.withDefaults(), now: now, random: random, build: readBuild(),
		before: make(map[string]time.Time), violations: make(map[string]violation),
	}
	s.host, _ = os.Hostname() // without it the sidecars name no host
	// Another process that looks for ended ones may take the lock of the new folder
	// for a moment; then this one takes another folder.
	err := ErrBusy
	for tries := 5; tries > 0 && (errors.Is(err, ErrBusy) || errors.Is(err, fs.ErrExist)); tries-- {
		s.instance = random()
		err = s.settle()
	}
	if err == nil {
		err = s.scan()
	}
	if err != nil {
		if s.lock != nil {
			_ = s.leave() // the first error is told
		}
		d.close()
		return nil, err
	}
	for _, e := range s.index.dumps {
		if e.saved.After(s.before[e.slug]) {
			s.before[e.slug] = e.saved
		}
	}
	_, _ = s.sweep() // what fails, fails again in Clean, and is reported there
	return s, nil
}

// settle makes the folder and takes its lock.
func (s *Store) settle() (err error) {
	folder, path := folderName(s.instance), lockPath(s.instance)
	if err := s.disk.mkdir(folder); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	lock, err := s.disk.create(path)
	if err == nil {
		ok, failed := lock.tryLock()
		switch {
		case errors.Is(failed, errors.ErrUnsupported): // its time says that the owner lives
		case failed != nil:
			err = failed
		case !ok:
			err = fmt.Errorf("%w: another process holds the lock of the new folder", ErrBusy)
		}
		if err = errors.Join(err, s.disk.sync(".")); err != nil {
			lock.Close()
		}
	}
	if err != nil {
		s.removeFolder(s.instance)
		return fmt.Errorf("lock the new folder: %w", err)
	}
	if s.lock != nil {
		s.lock.Close() // of a folder that somebody has removed
	}
	s.lock = lock
	return nil
}

// leave gives the lock back, and takes the folder away if it is empty.
func (s *Store) leave() error {
	err := s.lock.Close() // first, because Windows does not remove open files
	if s.index == nil || s.index.left[s.instance] == 0 {
		s.removeFolder(s.instance)
	}
	return err
}

// Close lets others clean up the dumps of this process. It waits for a save
// under way. Closing twice is fine.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	if err := errors.Join(s.leave(), s.disk.close()); err != nil {
		return fmt.Errorf("close dump store: %w", err)
	}
	return nil
}

// Save writes d and returns its ID once it is durable. On an error nothing of d
// is left; [Reason] sorts the errors.
func (s *Store) Save(d Dump) (ID, error) {
	p, err := s.prepare(d)
	if err != nil {
		return "", fmt.Errorf("save dump: %w", err)
	}
	return p.entry.id, s.write(p)
}

// prepared is a dump that is ready to be written.
type prepared struct {
	entry *entry
	side  Sidecar
	files []content // in the order in which they get their names; the sidecar is last
}

// content is one file to be written.
type content struct {
	suffix string
	data   []byte
}

// prepare gives a dump its name and completes its sidecar, without any I/O.
func (s *Store) prepare(d Dump) (p prepared, err error) {
	if s.closed.Load() {
		return p, fs.ErrClosed
	}
	now, side := s.now(), d.Sidecar
	if side.Time.IsZero() {
		side.Time = now
	}
	if side.Kind == "" {
		side.Kind = "cpu"
	}
	n := name{time: side.Time, slug: slug(side.Budget), instance: s.instance, random: s.random()}
	// A dump in the future is the wall clock's doing, not a reason to wait.
	if age := now.Sub(s.before[n.slug]); age >= 0 && age < s.keep.Interval {
		return p, fmt.Errorf("%w: %v ago, Keep.Interval is %v", ErrTooSoon, age.Round(time.Millisecond), s.keep.Interval)
	}
	n.mark = s.mark(n.slug, side)
	side.First, side.Worst = n.mark == first, n.mark != ""
	side.ID, side.PID, side.Host, side.Build = n.id(), os.Getpid(), s.host, s.build
	side.Profile = fileName(side.ID, side.Kind+profileExt)
	side.Companions = nil
	for _, c := range d.Companions {
		side.Companions = append(side.Companions, fileName(side.ID, c.Name))
		p.files = append(p.files, content{c.Name, c.Data})
	}
	p.files = append(p.files, content{side.Kind + profileExt, d.Profile})
	for _, c := range p.files {
		if !isSuffix(c.suffix) || c.suffix == sidecarSuffix {
			return p, fmt.Errorf("%w: file %q; want a lower-case word and %s or %s", ErrInvalid, c.suffix, profileExt, traceExt)
		}
	}
	data, err := side.encode()
	if err != nil {
		return p, err
	}
	p.side, p.files = side, append(p.files, content{sidecarSuffix, data})
	p.entry = &entry{id: side.ID, name: n, saved: now}
	for _, c := range p.files {
		p.entry.suffixes = append(p.entry.suffixes, c.suffix)
		p.entry.size += int64(len(c.data))
	}
	if p.entry.size > s.keep.Bytes {
		return p, fmt.Errorf("%w: the dump has %d bytes, Keep.Bytes is %d", ErrLimit, p.entry.size, s.keep.Bytes)
	}
	return p, nil
}

// mark says whether a dump is the first or the worst of its violation.
func (s *Store) mark(slug string, side Sidecar) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, known := s.violations[slug]
	switch {
	case side.Violation == "":
		return ""
	case !known || v.name != side.Violation:
		return first
	case side.Severity > v.severity:
		return worst
	}
	return ""
}

// note remembers the first and the worst dump of a violation once it is saved.
func (s *Store) note(n name, side Sidecar) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.violations[n.slug]
	switch n.mark {
	case first:
		v = violation{side.Violation, side.Severity, side.ID, side.ID}
	case worst:
		v.severity, v.worst = side.Severity, side.ID
	default:
		return
	}
	s.violations[n.slug] = v
}

// write does what Save promises.
func (s *Store) write(p prepared) error {
	s.saving.Lock()
	defer s.saving.Unlock()
	err := fs.ErrClosed
	if !s.closed.Load() {
		err = s.save(p)
	}
	// Somebody has removed the folder or DumpDir, as those do who tidy up /tmp. Both
	// are made again, with the checks of the first time.
	if errors.Is(err, fs.ErrNotExist) {
		failed := s.disk.renew()
		if failed == nil {
			failed = s.settle()
		}
		if failed == nil {
			failed = s.scan()
		}
		if failed == nil {
			err = s.save(p)
		} else {
			err = fmt.Errorf("%w: a folder was removed while in use, and cannot be made again: %w", err, failed)
		}
	}
	if err != nil {
		return fmt.Errorf("save dump %s: %w", p.entry.id, err)
	}
	return nil
}

func (s *Store) save(p prepared) error {
	if err := s.rescan(); err != nil {
		return err
	}
	if err := s.makeRoom(p.entry); err != nil {
		return err
	}
	if err := s.put(p); err != nil {
		s.index.read = time.Time{} // whatever could not be tidied is found by the next scan
		return err
	}
	s.index.add(p.entry)
	s.note(p.entry.name, p.side)
	return nil
}

// put writes the files, each whole and durable before it gets its name, and
// the last one after all others are durable under theirs.
func (s *Store) put(p prepared) (err error) {
	folder := folderName(s.instance)
	var made []string // what is to be removed after an error, the sidecar first
	defer func() {
		if err != nil {
			for _, name := range slices.Backward(made) {
				s.disk.remove(name)
			}
		}
	}()
	for _, c := range p.files {
		temp := p.entry.path(c.suffix + tempExt)
		f, err := s.disk.create(temp)
		if err != nil {
			return err
		}
		made = append(made, temp)
		if err := fill(f, c.data); err != nil {
			return fmt.Errorf("write %s: %w", c.suffix, err)
		}
	}
	for i, c := range p.files {
		if c.suffix == sidecarSuffix {
			if err := s.disk.sync(folder); err != nil {
				return fmt.Errorf("sync folder: %w", err)
			}
		}
		// A rename replaces what has the name. Nothing of ours has, so whatever
		// is there is another's.
		to := p.entry.path(c.suffix)
		if info, err := s.disk.lstat(to); err == nil {
			return fmt.Errorf("%w: %s exists (%v); remove it", ErrRefused, to, info.Mode())
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := s.disk.rename(made[i], to); err != nil {
			return err
		}
		made[i] = to
	}
	if err := s.disk.sync(folder); err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return nil
}

// fill writes, syncs and closes f.
func fill(f file, data []byte) error {
	n, err := f.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func randomHex() string {
	var b [hexLen / 2]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// readBuild is what the linker knows of the program.
func readBuild() Build {
	b := Build{Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Path, b.Version = info.Main.Path, info.Main.Version
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Revision = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	return b
}
