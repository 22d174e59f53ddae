package dump

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// entry is one dump as retention sees it.
type entry struct {
	id       ID
	name     name
	suffixes []string
	size     int64
	// saved is when: our own dumps carry a monotonic reading, so that a jump of
	// the wall clock does not make them old; others have what their name says.
	saved time.Time

	violation    string
	first, worst bool
	// asked: the sidecar was read, or known from the start.
	asked bool
}

// whole reports whether e is a dump, not the remains of one.
func (e *entry) whole() bool {
	return slices.Contains(e.suffixes, sidecarSuffix) &&
		slices.ContainsFunc(e.suffixes, func(s string) bool { return strings.HasSuffix(s, profileExt) })
}

// index is the directory in memory. It stays valid until another process
// changes the directory, which the lock file's token tells.
type index struct {
	entries map[ID]*entry
	bytes   int64           // of entries
	live    map[string]bool // other instances that are alive
	remains []string        // files to be reaped
	listed  bool            // our own live mark was seen
	read    time.Time
	token   string
}

func (x *index) add(e *entry) {
	x.entries[e.id] = e
	x.bytes += e.size
}

func (x *index) drop(e *entry) {
	delete(x.entries, e.id)
	x.bytes -= e.size
}

const (
	// remainsAge is when remains count as stale where there are no locks to tell:
	// no save takes an hour.
	remainsAge = time.Hour
	// maxAsked bounds how many sidecars a scan reads: several times the default
	// cap of 64, and 20 ms of reading. Dumps beyond it rank as ordinary.
	maxAsked = 1024
)

// scan reads the directory. Known entries keep what is known of them. It opens
// nothing but sidecars and the marks of instances.
func (s *Store) scan() (*index, error) {
	x := &index{entries: make(map[ID]*entry), live: make(map[string]bool), read: s.now()}
	var failed error
	var marks []string
	err := s.disk.list(func(file string) {
		p := parseFile(file)
		if p.kind == foreign || failed != nil {
			return
		}
		info, err := s.disk.lstat(file)
		if errors.Is(err, fs.ErrNotExist) {
			return // somebody was faster
		}
		if err != nil {
			failed = err
			return
		}
		if !info.Mode().IsRegular() {
			return // named like ours, but never written by us
		}
		switch p.kind {
		case temp:
			if s.stale(p.instance, info.ModTime()) {
				x.remains = append(x.remains, file)
			}
		case live:
			if p.instance == s.instance {
				x.listed = true
			} else {
				marks = append(marks, p.instance)
			}
		case final:
			e := x.entries[p.id]
			if e == nil {
				e = &entry{id: p.id, name: p.name, saved: p.name.time}
				x.entries[p.id] = e
			}
			e.suffixes = append(e.suffixes, p.suffix)
			e.size += info.Size()
		}
	})
	if err = cmp.Or(failed, err); err != nil {
		return nil, err
	}
	for _, instance := range marks {
		if s.alive(instance) {
			x.live[instance] = true
		} else {
			x.remains = append(x.remains, liveName(instance))
		}
	}
	for id, e := range x.entries {
		if !e.whole() {
			delete(x.entries, id)
			if s.stale(e.name.instance, e.name.time) {
				for _, suffix := range e.suffixes {
					x.remains = append(x.remains, fileName(id, suffix))
				}
			}
			continue
		}
		x.bytes += e.size
	}
	s.recognise(x)
	return x, nil
}

// lost tells that a dump is no more, if it was one of this store's own.
func (s *Store) lost(e *entry) {
	if s.evicted != nil && e.name.instance == s.instance {
		s.evicted(e.id)
	}
}

// recognise fills in what the last index or the sidecars know of the entries.
func (s *Store) recognise(x *index) {
	var unknown []*entry
	for id, e := range x.entries {
		if old := s.x; old != nil && old.entries[id] != nil {
			o := old.entries[id]
			e.saved, e.violation, e.first, e.worst, e.asked = o.saved, o.violation, o.first, o.worst, o.asked
		}
		if !e.asked && !x.live[e.name.instance] {
			unknown = append(unknown, e)
		}
	}
	slices.SortFunc(unknown, func(a, b *entry) int { return cmp.Compare(b.id, a.id) })
	for _, e := range unknown[:min(len(unknown), maxAsked)] {
		e.asked = true
		// A sidecar that cannot be read says nothing; the dump is ordinary then.
		if side, err := s.sidecar(e.id); err == nil {
			e.violation, e.first, e.worst = side.Violation, side.First, side.Worst
		}
	}
}

// stale reports whether unfinished files of an instance are remains. Under the
// directory's lock nobody else is writing, so they always are.
func (s *Store) stale(instance string, touched time.Time) bool {
	return !s.lockless || instance == s.instance || s.now().Sub(touched) > remainsAge
}

// alive reports whether an instance's mark is held. In doubt it is: deleting
// another's dumps is worse than keeping a dead one's until they are old.
func (s *Store) alive(instance string) bool {
	if s.lockless {
		return false
	}
	f, err := s.disk.open(liveName(instance))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		return true
	}
	defer f.Close()
	free, err := f.tryLock()
	return err != nil || !free
}

// sidecar reads a dump's sidecar.
func (s *Store) sidecar(id ID) (Sidecar, error) {
	f, err := s.disk.open(fileName(id, sidecarSuffix))
	if err != nil {
		return Sidecar{}, err
	}
	defer f.Close()
	return decodeSidecar(f)
}
