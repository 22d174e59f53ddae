package dump

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

const (
	// lockWait bounds how long a save waits for other processes. One save takes
	// milliseconds, a fraction of a second on a slow disk; so does a queue of
	// a few. Longer means that somebody hangs.
	lockWait = 5 * time.Second
	lockPoll = 5 * time.Millisecond
	// indexAge is when the index is read anew although no process announced a
	// change: a person may have deleted files, or a process died.
	indexAge = 10 * time.Minute
)

// session is one stretch of holding the directory's lock.
type session struct {
	*Store
	lock  file // nil without locks
	fresh bool // the index was read in this session
}

// locked runs do while holding the directory's lock, with an index that is up
// to date. s.saving must be held.
func (s *Store) locked(do func(*session) error) error {
	lock, err := s.lockDirectory()
	if err != nil {
		return err
	}
	ses := &session{Store: s, lock: lock}
	if lock != nil {
		defer lock.Close() // and so release it
	}
	if s.x == nil || lock == nil || s.x.token != ses.readToken() || s.now().Sub(s.x.read) > indexAge {
		if err := ses.rescan(); err != nil {
			return err
		}
	}
	return do(ses)
}

// lockDirectory polls, because an flock that waits cannot be given up.
func (s *Store) lockDirectory() (file, error) {
	for tries := lockWait / lockPoll; !s.lockless; tries-- {
		f, err := s.disk.openLock(lockName)
		switch {
		case errors.Is(err, fs.ErrNotExist): // it would have been made
			return nil, fmt.Errorf("open lock file: %w: %s was removed while in use", err, s.dir)
		case err != nil:
			return nil, fmt.Errorf("open lock file: %w", err)
		}
		ok, err := f.tryLock()
		if ok {
			// Somebody may have removed the file while we opened it; then the
			// others lock another one.
			here, err1 := f.Stat()
			there, err2 := s.disk.lstat(lockName)
			if err1 == nil && err2 == nil && os.SameFile(here, there) {
				return f, nil
			}
		}
		f.Close()
		if errors.Is(err, errors.ErrUnsupported) {
			s.lockless = true
			break
		}
		if err != nil {
			return nil, fmt.Errorf("lock the directory: %w", err)
		}
		if tries <= 0 {
			return nil, fmt.Errorf("lock the directory: %w: another process has held %s for %v; its disk may hang", ErrBusy, lockName, lockWait)
		}
		time.Sleep(lockPoll)
	}
	return nil, nil
}

// readToken is who changed the directory last. What cannot be read matches
// nothing, which costs a scan.
func (ses *session) readToken() string {
	buf := make([]byte, hexLen)
	n, err := ses.lock.ReadAt(buf, 0)
	if n < hexLen || (err != nil && !errors.Is(err, io.EOF)) {
		return "unread"
	}
	return string(buf)
}

// announce makes other processes read the directory again. It comes before a
// change, so that no change goes unannounced.
func (ses *session) announce() error {
	if ses.lock == nil {
		return nil
	}
	token := ses.random()
	if _, err := ses.lock.WriteAt([]byte(token), 0); err != nil {
		return fmt.Errorf("write lock file: %w", err)
	}
	ses.x.token = token
	return nil
}

func (ses *session) rescan() error {
	x, err := ses.scan()
	if err != nil {
		return fmt.Errorf("read the directory: %w", err)
	}
	if ses.lock != nil {
		x.token = ses.readToken()
	}
	if ses.x != nil {
		for id, e := range ses.x.entries {
			if x.entries[id] == nil {
				ses.lost(e) // to a person, or to half a removal before
			}
		}
	}
	ses.x, ses.fresh = x, true
	ses.count()
	if !x.listed && ses.live != nil {
		// Somebody deleted our mark; others would take us for dead. Failing
		// to renew it is no reason to stop, the next scan tries again.
		if f, err := ses.mark(); err == nil {
			ses.live.Close()
			ses.live = f
		}
	}
	return nil
}

// mark makes and holds the mark that this instance is alive.
func (s *Store) mark() (file, error) {
	f, err := s.disk.openLock(liveName(s.instance))
	if err != nil {
		return nil, fmt.Errorf("open live mark: %w", err)
	}
	if ok, err := f.tryLock(); err != nil || !ok {
		f.Close()
		return nil, fmt.Errorf("lock live mark: %w", cmp.Or(err, ErrBusy))
	}
	return f, nil
}
