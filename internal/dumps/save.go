package dumps

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// prepared is a dump that is ready to be written.
type prepared struct {
	*entry
	data [][]byte // of the files, in the order of the suffixes: the sidecar is last
}

// Offer queues d and returns the ID that it will have. It never blocks: when the
// queue is full the dump is dropped, and the error is [ErrDropped]. The
// store reads d's data later, so the caller must not change it before the
// outcome is reported.
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
		if _, suffix, ok := parseFile(n.file(f.Name)); !ok || isTemp(suffix) || suffix == sidecarSuffix {
			return p, fmt.Errorf("file %q: want a lower-case word and %s or .out", f.Name, profileExt)
		}
		side.Files = append(side.Files, n.file(f.Name))
		p.add(f.Name, f.Data)
	}
	sidecar, err := side.encode()
	if err != nil {
		return p, err
	}
	if p.add(sidecarSuffix, sidecar); p.size > s.keep.Bytes {
		return p, fmt.Errorf("%w: the dump has %d bytes, Keep.Bytes is %d", ErrLimit, p.size, s.keep.Bytes)
	}
	return p, nil
}

func (p *prepared) add(suffix string, data []byte) {
	p.suffixes, p.data = append(p.suffixes, suffix), append(p.data, data)
	p.size += int64(len(data))
}

// write makes a dump durable. On an error nothing of it is left.
func (s *Store) write(p prepared) error {
	err := s.save(p)
	// Somebody has removed the folder or DumpDir, as those do who tidy up /tmp. Both
	// are made again, with the checks of the first time.
	if errors.Is(err, fs.ErrNotExist) {
		if failed := s.openFolder(); failed == nil {
			err = s.save(p)
		} else {
			err = fmt.Errorf("%w: a folder was removed while in use, and cannot be made again: %w", err, failed)
		}
	}
	if err != nil {
		return fmt.Errorf("save dump %s: %w", p.id, err)
	}
	return nil
}

func (s *Store) save(p prepared) error {
	if err := s.makeRoom(p.entry); err != nil {
		return err
	}
	if err := s.put(p); err != nil {
		s.read = time.Time{} // what has been written are remains, like those of a crash
		_ = s.tidy(nil)
		return err
	}
	s.entries[p.id] = p.entry
	return nil
}

// put writes the files, each whole and durable before it gets its name, and
// the last one after all others are durable under theirs.
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
		// A rename replaces what has the name. Nothing of ours has, so whatever
		// is there is another's.
		to := p.path(suffix)
		if info, err := s.disk.lstat(to); err == nil {
			return fmt.Errorf("%w: %s exists (%v); remove it", ErrRefused, to, info.Mode())
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := s.disk.rename(to+tempExt, to); err != nil {
			return err
		}
	}
	if err := s.disk.sync(folder); err != nil {
		s.disk.remove(p.path(sidecarSuffix)) // with it they would be a dump
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
