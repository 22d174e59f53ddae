package dumps

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// queueLen bounds the memory that waiting dumps hold: a profile is capped
// at 16 MiB by the capture, so four are 64 MiB at the very worst. One window
// makes one or two dumps, so a longer queue means a disk that does not keep up.
const queueLen = 4

// Store keeps the dumps of one process in a folder of its own. Open one per
// DumpDir, and Close it. All methods are safe for concurrent use.
//
// It saves in a goroutine of its own, so that whoever offers a dump never waits for
// the disk. It cleans up when it is opened and before each save.
type Store struct {
	disk     disk
	keep     Keep
	instance string
	now      func() time.Time
	random   func() string // hexLen hex digits
	report   func(Outcome)
	done     chan struct{} // closed when the goroutine has ended
	end      error         // of closing; to be read after done

	// What follows belongs to the goroutine.
	lock    io.Closer     // held as long as the store is open; nil where there are none
	entries map[ID]*entry // what this process may delete
	read    time.Time     // when the folders were

	// mu guards what follows and is never held through I/O.
	mu     sync.Mutex
	queue  chan prepared
	closed bool // no more offers
}

// Outcome is how an offered dump ended.
type Outcome struct {
	ID  ID
	Err error // see [Reason]
}

// Open makes a folder for this process in dir, which it creates if need be, and
// cleans up what earlier processes left: 10 to 70 µs a file on ext4. report is called in
// the store's goroutine once for each dump that [Store.Offer] accepted; the store waits
// for it.
func Open(dir string, keep Keep, report func(Outcome)) (*Store, error) {
	d, err := newDisk(dir)
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
	s.queue, s.done = make(chan prepared, queueLen), make(chan struct{})
	if err := s.openFolder(); err != nil {
		s.disk.close()
		return err
	}
	_ = s.tidy(nil) // what fails, fails again before a save, and is reported there
	go s.run()
	return nil
}

// openFolder opens DumpDir, takes a lock, makes the folder beside it, and reads what
// there is. A folder is never seen before it is locked.
func (s *Store) openFolder() error {
	if err := s.disk.open(); err != nil {
		return err
	}
	lock := lockName(s.instance)
	if s.entries != nil { // again, because somebody has removed it
		if _, err := s.disk.lstat(folderName(s.instance)); err == nil {
			return nil // that was a file
		}
		_ = s.leave()
	}
	f, err := s.disk.create(lock)
	if err != nil {
		return fmt.Errorf("make a lock: %w", err)
	}
	if err = f.Close(); err == nil {
		s.lock, err = s.disk.lock(lock)
	}
	if err == nil || errors.Is(err, errors.ErrUnsupported) {
		err = s.disk.mkdir(folderName(s.instance))
	}
	if err == nil {
		err = s.disk.sync(".")
	}
	if err == nil {
		err = s.scan()
	}
	if err != nil {
		_ = s.leave()
		return fmt.Errorf("make a folder: %w", err)
	}
	return nil
}

// leave releases the lock, and removes it and the folder if there are no dumps.
func (s *Store) leave() (err error) {
	if s.lock != nil {
		err = s.lock.Close() // first, because Windows does not remove open files
		s.lock = nil
	}
	s.removeFolder(s.instance)
	return err
}

// run saves until there are no more offers.
func (s *Store) run() {
	defer close(s.done)
	for p := range s.queue {
		s.report(Outcome{ID: p.id, Err: recovered(func() error { return s.write(p) })})
	}
	s.end = recovered(s.shut)
}

// recovered runs do. A panic would be a bug of ours, and is still no reason to take
// the host down.
func recovered(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(err, fmt.Errorf("dump store panicked: %v", p))
		}
	}()
	return do()
}

// Close writes what is queued, and lets others clean up the dumps of this process.
// When ctx ends first it gives up and says so; the goroutine goes on, as far as the
// disk lets it. Closing again waits again.
func (s *Store) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.queue)
	}
	s.mu.Unlock()
	select {
	case <-s.done:
		return s.end
	case <-ctx.Done():
		return fmt.Errorf("close dump store: gave up with %d dumps queued: %w", len(s.queue), context.Cause(ctx))
	}
}

// shut gives all back.
func (s *Store) shut() error {
	if err := errors.Join(s.leave(), s.disk.close()); err != nil {
		return fmt.Errorf("close dump store: %w", err)
	}
	return nil
}

func randomHex() string {
	var b [hexLen / 2]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
