package dump

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"
)

// Save writes d and returns its ID once it is durable. On an error nothing of d
// is left, and the budget's interval does not start; [Reason] sorts the errors.
func (s *Store) Save(d Dump) (ID, error) {
	n, err := s.reserve(&d)
	if err != nil {
		return "", fmt.Errorf("save dump: %w", err)
	}
	return n.id(), s.write(n, d)
}

// reserve gives d its name, without any I/O, and starts its budget's interval.
// What is reserved must be written, or released.
func (s *Store) reserve(d *Dump) (name, error) {
	if s.closed.Load() {
		return name{}, fs.ErrClosed
	}
	if err := d.check(); err != nil {
		return name{}, err
	}
	if size := d.size(); size > s.keep.Bytes {
		return name{}, fmt.Errorf("%w: the dump has %d bytes, Keep.Bytes is %d", ErrLimit, size, s.keep.Bytes)
	}
	now := s.now()
	if d.Sidecar.Time.IsZero() {
		d.Sidecar.Time = now
	}
	n := name{time: d.Sidecar.Time, slug: slug(d.Sidecar.Budget), instance: s.instance, random: s.random()}

	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.last[n.slug]; ok {
		// A last dump in the future is the wall clock's doing, not a reason to wait.
		if since := now.Sub(last); since >= 0 && since < s.keep.Interval {
			return name{}, fmt.Errorf("%w: %v ago, Keep.Interval is %v", ErrTooSoon, since.Round(time.Millisecond), s.keep.Interval)
		}
	}
	for k, last := range s.last { // keep the map to what it is needed for
		if now.Sub(last) >= s.keep.Interval {
			delete(s.last, k)
		}
	}
	s.last[n.slug] = now
	return n, nil
}

// release gives the interval back after a dump that was not written.
func (s *Store) release(n name) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.last, n.slug)
}

// write does what Save promises for a reserved name.
func (s *Store) write(n name, d Dump) error {
	s.saving.Lock()
	defer s.saving.Unlock()
	err := fs.ErrClosed
	defer func() {
		if err != nil { // as it still is when something panics
			s.release(n)
		}
	}()
	if !s.closed.Load() {
		save := func(ses *session) error { return ses.save(n, d) }
		if err = s.locked(save); errors.Is(err, fs.ErrNotExist) {
			err = s.anew(err, save)
		}
	}
	if err != nil {
		return fmt.Errorf("save dump %s: %w", n.id(), err)
	}
	return nil
}

// anew tries again in a directory that is made once more, with the checks of the first
// time: somebody has removed it, as those do who tidy up /tmp.
func (s *Store) anew(gone error, save func(*session) error) error {
	if err := s.disk.renew(); err != nil {
		return fmt.Errorf("%w, and cannot be made again: %w", gone, err)
	}
	s.x.token = "" // what it knows is of the directory before
	return s.locked(save)
}

func (ses *session) save(n name, d Dump) error {
	side := &d.Sidecar
	side.ID, side.PID = n.id(), os.Getpid()
	if side.Host == "" {
		side.Host = ses.host
	}
	if side.Build == (Build{}) {
		side.Build = ses.build
	}
	v, known := ses.violations[n.slug]
	known = known && v.name == side.Violation
	side.First = side.Violation != "" && !known
	side.Worst = side.Violation != "" && (!known || side.severity() > v.worst)

	files, err := d.layout(n.id())
	if err != nil {
		return err
	}
	e := &entry{id: n.id(), name: n, saved: ses.now(), asked: true,
		violation: side.Violation, first: side.First, worst: side.Worst}
	for _, f := range files {
		e.suffixes = append(e.suffixes, f.suffix)
		e.size += int64(len(f.data))
	}
	victims, err := ses.makeRoom(e)
	if err != nil {
		return err
	}
	if err := ses.announce(); err != nil {
		return err
	}
	for _, victim := range victims {
		if err := ses.remove(victim); err != nil {
			return fmt.Errorf("make room: %w", err)
		}
	}
	if err := ses.put(n.id(), files); err != nil {
		return err
	}
	ses.x.add(e)
	ses.count()
	if side.Worst {
		ses.violations[n.slug] = violation{side.Violation, side.severity()}
	}
	return nil
}

// makeRoom decides what goes for e, and whether e may come at all.
func (ses *session) makeRoom(e *entry) ([]*entry, error) {
	victims, ok := ses.x.choose(ses.instance, ses.keep, e)
	if !ok && !ses.fresh {
		// Others may have died since, or a person may have deleted dumps.
		if err := ses.rescan(); err != nil {
			return nil, err
		}
		victims, ok = ses.x.choose(ses.instance, ses.keep, e)
	}
	if !ok {
		return nil, fmt.Errorf("%w: %d dumps with %d bytes are kept for live processes or as the first and worst of their violations; raise Keep.Files (%d) or Keep.Bytes (%d)",
			ErrLimit, len(ses.x.entries), ses.x.bytes, ses.keep.Files, ses.keep.Bytes)
	}
	if len(victims) > sweepBatch {
		return nil, fmt.Errorf("%w: %d old dumps must go first; clean-up is under way", ErrLimit, len(victims))
	}
	free, total, err := ses.disk.space()
	if errors.Is(err, errors.ErrUnsupported) {
		return victims, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask for free space: %w", err)
	}
	left := float64(free) - float64(e.size)
	for _, v := range victims {
		left += float64(v.size)
	}
	if left < ses.keep.Free*float64(total) {
		return nil, fmt.Errorf("%w: %d of %d bytes are free, Keep.Free wants %.0f%% left; free some or lower it",
			ErrNoSpace, free, total, 100*ses.keep.Free)
	}
	return victims, nil
}

// put writes the files, each whole and durable before it gets its name, and
// the last one after all others are durable under theirs.
func (ses *session) put(id ID, files []content) (err error) {
	// Until all is well the index has no token, so that the next session scans
	// and finds whatever could not be tidied here.
	token := ses.x.token
	ses.x.token = ""
	var temps, finals []string
	defer func() {
		if err == nil {
			ses.x.token = token
			return
		}
		slices.Reverse(finals) // the sidecar first, as always
		for _, f := range append(finals, temps...) {
			ses.disk.remove(f)
		}
	}()
	for _, c := range files {
		t := tempName(ses.instance, ses.random())
		f, err := ses.disk.create(t)
		if err != nil {
			return err
		}
		temps = append(temps, t)
		if err := fill(f, c.data); err != nil {
			return fmt.Errorf("write %s: %w", c.suffix, err)
		}
	}
	for i, c := range files {
		last := i == len(files)-1
		if last {
			if err := ses.disk.sync(); err != nil {
				return fmt.Errorf("sync directory: %w", err)
			}
		}
		// A rename replaces what has the name. Nothing of ours has, so whatever
		// is there was planted or is another's.
		to := fileName(id, c.suffix)
		if info, err := ses.disk.lstat(to); !errors.Is(err, fs.ErrNotExist) {
			if err == nil {
				err = fmt.Errorf("%w: %s exists (%v); remove it", ErrRefused, to, info.Mode())
			}
			return err
		}
		if err := ses.disk.rename(temps[0], to); err != nil {
			return err
		}
		temps, finals = temps[1:], append(finals, to)
	}
	if err := ses.disk.sync(); err != nil {
		return fmt.Errorf("sync directory: %w", err)
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
