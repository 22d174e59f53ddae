package dump

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
)

// sweepBatch is how many files one pass of clean-up removes at most. Removing
// takes 10 to 70 µs a file on ext4, so a pass holds the directory's lock for
// 150 ms at most.
const sweepBatch = 2048

// Cleaned is what a pass of clean-up did.
type Cleaned struct {
	Files int  // files removed, of dumps and of remains
	More  bool // there is more to do; call again
}

// Clean makes one pass of clean-up: it reaps the remains of crashes, removes
// dumps that are too old, and those over the caps or over this process's share.
// It removes a bounded number of files and says when there is more to do.
func (s *Store) Clean() (Cleaned, error) {
	s.saving.Lock()
	defer s.saving.Unlock()
	var c Cleaned
	err := fs.ErrClosed
	if !s.closed.Load() {
		err = s.locked(func(ses *session) (err error) {
			c, err = ses.sweep()
			return err
		})
	}
	if err != nil {
		return c, fmt.Errorf("clean up dumps: %w", err)
	}
	return c, nil
}

func (ses *session) sweep() (Cleaned, error) {
	var c Cleaned
	old := ses.expired()
	surplus, _ := ses.x.choose(ses.instance, ses.keep, nil)
	if len(ses.x.remains)+len(old)+len(surplus) == 0 {
		return c, nil
	}
	// On a full disk this may fail, and cleaning up is what helps then. Others
	// with an old index believe in dumps that are gone, which they forgive.
	_ = ses.announce()

	var failed error
	var stuck []string
	for i, file := range ses.x.remains {
		if c.Files >= sweepBatch {
			stuck = append(stuck, ses.x.remains[i:]...)
			c.More = true
			break
		}
		if err := gone(ses.disk.remove(file)); err != nil {
			failed = err
			stuck = append(stuck, file)
			continue
		}
		c.Files++
	}
	ses.x.remains = stuck
	failed = cmp.Or(ses.thin(old, &c), failed)
	// Chosen anew: what was too old may have been all of the surplus.
	surplus, _ = ses.x.choose(ses.instance, ses.keep, nil)
	failed = cmp.Or(ses.thin(surplus, &c), failed)
	ses.count()
	return c, failed
}

// thin removes dumps until the pass has done its share.
func (ses *session) thin(doomed []*entry, c *Cleaned) error {
	for _, e := range doomed {
		if c.Files >= sweepBatch {
			c.More = true
			return nil
		}
		if err := ses.remove(e); err != nil {
			return err
		}
		c.Files += len(e.suffixes)
	}
	return nil
}

// remove deletes a dump, the sidecar first, so that a crash in between leaves
// remains and not half a dump. Files that are gone already are no error.
func (ses *session) remove(e *entry) error {
	names := slices.Clone(e.suffixes)
	slices.SortFunc(names, func(a, b string) int {
		if a == sidecarSuffix {
			return -1
		}
		if b == sidecarSuffix {
			return 1
		}
		return 0
	})
	for _, suffix := range names {
		if err := gone(ses.disk.remove(fileName(e.id, suffix))); err != nil {
			ses.x.token = "" // unsure what is left; the next session looks
			return err
		}
	}
	ses.x.drop(e)
	ses.lost(e)
	return nil
}
