package dumps

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/profguard/profguard/internal/foreign"
)

// queueLen bounds the memory of dumps that wait: a profile has at most 8 MiB, an execution trace
// 64. One window makes one or two dumps, so a longer queue means a disk that does not keep up.
const queueLen = 4

// cleanEvery is how often the store looks for dumps that are too old: the age of a dump is
// days. A look at 64 dumps takes some milliseconds.
const cleanEvery = 10 * time.Minute

// Store keeps the dumps of one process. All methods are safe for concurrent use. It saves in a
// goroutine of its own, so that the caller of Offer never waits for the disk, and cleans up
// when it is opened, before each save, and every ten minutes.
type Store struct {
	disk     disk
	keep     Keep
	instance string
	now      func() time.Time
	random   func() string // hexLen hex digits
	report   func(Outcome)
	done     chan struct{} // closed when the goroutine has ended
	lock     io.Closer     // of the folder, held as long as the store is open; nil where there are no locks

	// mu guards the next fields and is never held during I/O.
	mu     sync.Mutex
	queue  chan prepared
	closed bool                 // no more offers
	sent   map[string]string    // the receipts of profiles that are not written yet
	taken  map[string]io.Closer // locks of the folders of processes that are gone, by instance

	flushes chan chan struct{} // holds one when there is something in sent, to be closed when that is written
}

// Outcome is the end of an offered dump.
type Outcome struct {
	ID   ID
	Err  error // see [Reason]
	Lost bool  // the store's folder was removed or replaced, so it was made again for this dump
}

// Open makes a folder for this process in dir/profguard, which it creates if need be, and
// cleans up what earlier processes left: 10 to 70 µs a file on ext4. report is called in
// the store's goroutine once for each dump that [Store.Offer] accepted; the store waits for
// it.
func Open(dir string, keep Keep, report func(Outcome)) (*Store, error) {
	d, err := newDisk(dir, FolderName)
	if err == nil {
		s := &Store{disk: d, keep: keep, now: time.Now, random: randomHex, report: report}
		if err = s.open(); err == nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("open dump store in %q: %w", dir, err)
}

// open opens a store that has its disk, clock and randomness.
func (s *Store) open() error {
	s.keep, s.instance = s.keep.withDefaults(), s.random()
	s.queue, s.done, s.flushes = make(chan prepared, queueLen), make(chan struct{}), make(chan chan struct{}, 1)
	s.sent, s.taken = map[string]string{}, map[string]io.Closer{}
	if err := s.openFolder(); err != nil {
		s.disk.close()
		return err
	}
	_ = s.tidy(nil) // an error comes again before the next save, and is reported there
	go s.run()
	return nil
}

// openFolder opens the guard's folder, makes the folder of this process in it and takes its lock. The
// folder gets its name last, so that no other process sees it unlocked.
func (s *Store) openFolder() error {
	if err := s.disk.open(); err != nil {
		return err
	}
	s.unlock() // of the folder that was open before
	folder := folderName(s.instance)
	if info, err := s.disk.lstat(folder); err == nil && info.IsDir() { // it was moved away, and is back
		s.lock, err = s.disk.lock(folder)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return fmt.Errorf("lock the folder: %w", err)
		}
		return nil
	}
	err := s.disk.mkdir(folder + tempExt)
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	s.lock, err = s.disk.lock(folder + tempExt)
	if err == nil || errors.Is(err, errors.ErrUnsupported) {
		err = s.disk.rename(folder+tempExt, folder)
	}
	if err == nil {
		err = s.disk.sync(".")
	}
	if err != nil {
		s.disk.remove(folder + tempExt)
		s.leave()
		return fmt.Errorf("make a folder: %w", err)
	}
	return nil
}

// unlock releases the locks of this process's folder, and of those that it has taken over.
func (s *Store) unlock() {
	if s.lock != nil {
		s.lock.Close()
		s.lock = nil
	}
	s.mu.Lock()
	taken := slices.Collect(maps.Keys(s.taken))
	s.mu.Unlock()
	for _, instance := range taken {
		s.giveBack(instance)
	}
}

// leave releases the locks, and removes the folder if there are no dumps.
func (s *Store) leave() {
	s.unlock()
	s.disk.remove(folderName(s.instance))
}

// run saves offered dumps, and removes those that are too old, until the store is closed.
func (s *Store) run() {
	defer close(s.done)
	tick := time.NewTicker(cleanEvery)
	defer tick.Stop()
	for open := true; open; {
		_ = foreign.Recovered(func() error {
			select {
			case p, more := <-s.queue:
				if open = more; open {
					s.save(p)
				}
			case flushed := <-s.flushes:
				defer close(flushed)
			case <-tick.C:
				_ = s.tidy(nil) // an error comes again before the next save
			}
			s.flush()
			if open {
				return nil
			}
			s.leave()
			return s.disk.close() // or the kernel does it later
		})
	}
}

// save writes a dump, and reports it.
func (s *Store) save(p prepared) {
	o := Outcome{ID: p.id}
	o.Err = foreign.Recovered(func() (err error) { o.Lost, err = s.write(p); return err })
	s.report(o)
}

// Close writes the queued dumps, and lets other processes clean up the dumps of this one. If
// ctx ends first, it returns an error, and the goroutine goes on as far as the disk lets it.
// A second Close waits again.
func (s *Store) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.queue)
	}
	s.mu.Unlock()
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close dump store: gave up with %d dumps queued: %w", len(s.queue), context.Cause(ctx))
	}
}

func randomHex() string {
	var b [hexLen / 2]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// prepared is a dump that is ready to be written.
type prepared struct {
	*entry
	data [][]byte // of the files, in the order of the suffixes: the sidecar is last
}

// Offer queues d and returns the ID that it will have. It never blocks: when the queue is full the
// dump is dropped, and the error is [ErrDropped]. The data must not change until the outcome
// is reported.
func (s *Store) Offer(d Dump) (ID, error) {
	p, err := s.prepare(d)
	if err != nil {
		return "", fmt.Errorf("offer dump: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", fmt.Errorf("offer dump: %w", fs.ErrClosed)
	}
	select {
	case s.queue <- p:
		return p.id, nil
	default:
		return "", fmt.Errorf("offer dump: %w: %d dumps wait already; the disk does not keep up", ErrDropped, queueLen)
	}
}

// prepare gives a dump its name and a sidecar, without any I/O.
func (s *Store) prepare(d Dump) (p prepared, err error) {
	n := newName(cmp.Or(d.End, s.now()), d.Name, s.instance, s.random(), d.Mark)
	p = prepared{entry: &entry{name: n}}
	side := Sidecar{ID: n.id, Start: d.Start, End: n.time, Budget: d.Budget, Mark: n.mark, PID: os.Getpid()}
	side.Host, _ = os.Hostname() // without it the sidecar names no host
	side.Build = buildOf()
	for _, f := range d.Files {
		if _, suffix, ok := parseFile(n.file(f.Name)); !ok || !strings.HasSuffix(suffix, profileExt) && !strings.HasSuffix(suffix, otherExt) {
			return p, fmt.Errorf("file %q: want a lower-case word and .pb.gz or .out", f.Name)
		}
		side.Files = append(side.Files, n.file(f.Name))
		p.add(f.Name, f.Data)
	}
	sidecar, err := json.MarshalIndent(&side, "", "  ")
	if err != nil {
		return p, fmt.Errorf("encode sidecar: %w", err)
	}
	if p.add(sidecarSuffix, sidecar); p.size > s.keep.Bytes {
		return p, fmt.Errorf("%w: the dump has %d bytes, DumpLimits.Bytes is %d", ErrLimit, p.size, s.keep.Bytes)
	}
	return p, nil
}

func (p *prepared) add(suffix string, data []byte) {
	p.suffixes, p.data = append(p.suffixes, suffix), append(p.data, data)
	p.size += int64(len(data))
}

// write makes a dump durable. On an error nothing of it is left. lost says that the folder was.
func (s *Store) write(p prepared) (lost bool, err error) {
	lost, err = s.reopen()
	if err == nil {
		err = s.tidy(p.entry)
	}
	if err == nil {
		err = hasRoom(s.disk, p.size, s.keep.Free)
	}
	if err == nil {
		err = s.put(p)
	}
	if err != nil {
		_ = s.tidy(nil) // the files that were written are remains, as after a crash
		err = fmt.Errorf("save dump %s: %w", p.id, err)
	}
	return lost, err
}

// reopen sees to a folder that was removed or replaced: by a program that cleans up /tmp for example, or
// by another user who may write to DumpDir. It is made again, with the same checks as the first time.
func (s *Store) reopen() (lost bool, err error) {
	if s.disk.there() {
		if _, err := s.disk.lstat(folderName(s.instance)); !errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
	}
	if err := s.openFolder(); err != nil {
		return false, fmt.Errorf("the folder was removed or replaced while in use, and cannot be made again: %w", err)
	}
	return true, nil
}

// put writes the files, each whole and durable before it gets its name, the sidecar last.
func (s *Store) put(p prepared) error {
	folder := folderName(s.instance)
	for i, suffix := range p.suffixes {
		f, err := s.disk.create(p.path(suffix + tempExt))
		if err != nil {
			return err
		}
		if err := fill(f, p.data[i]); err != nil {
			return fmt.Errorf("write %s: %w", suffix, err)
		}
	}
	for _, suffix := range p.suffixes {
		if suffix == sidecarSuffix {
			if err := s.disk.sync(folder); err != nil {
				return fmt.Errorf("sync folder: %w", err)
			}
		}
		if err := s.disk.rename(p.path(suffix+tempExt), p.path(suffix)); err != nil {
			return err
		}
	}
	if err := s.disk.sync(folder); err != nil {
		s.disk.remove(p.path(sidecarSuffix)) // with it the files would count as a dump
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
