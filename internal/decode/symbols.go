package decode

import "slices"

// ID stands for an interned string: a function name or a file name. IDs are
// dense, start at 0 (the empty string) and mean the same string for as long as
// the generation of their Symbols is the same.
type ID int32

// Bounds of Symbols. A name takes about 110 bytes with its place in the map, so
// that at worst some 60 MiB are kept; a program would have to show more distinct
// functions than the largest Go binaries contain to get there. A single profile
// within [Limits] always fits.
const (
	maxNames      = 1 << 18
	maxNamesBytes = 32 << 20
)

// Symbols interns function and file names across profiles of one program.
// It is bounded: when a profile would take it over 262,144 names or 32 MiB of
// text, it starts anew before that profile and [Symbols.Generation] grows by
// one, which tells whoever remembers something per ID to forget it.
// The zero Symbols is ready to use. It is not safe for concurrent use.
type Symbols struct {
	ids        map[string]ID
	names      []string
	bytes      int
	generation int
}

// Name is the string behind id.
func (s *Symbols) Name(id ID) string {
	if id == 0 {
		return "" // also before the first name
	}
	return s.names[id]
}

// Len is the number of ids given out: all ids are below it.
func (s *Symbols) Len() int { return max(len(s.names), 1) }

// Generation changes whenever all ids given out before have become invalid.
func (s *Symbols) Generation() int { return s.generation }

// Intern returns the id of the string in b, giving out a new one if it has none.
// Looking up a known string does not allocate.
func (s *Symbols) Intern(b []byte) ID {
	if id, ok := s.ids[string(b)]; ok {
		return id
	}
	if len(b) == 0 {
		return 0
	}
	s.reserve(0, 0)
	id := ID(len(s.names))
	name := string(b)
	s.ids[name] = id
	s.names = append(s.names, name)
	s.bytes += len(name)
	return id
}

// reserve makes sure that this many names of this many bytes together, all of
// which may be new, can be interned without going over the bounds, forgetting
// all names before if need be.
func (s *Symbols) reserve(names, size int) {
	if len(s.names) > 1 && (len(s.names)+names > maxNames || s.bytes+size > maxNamesBytes) {
		s.ids, s.names, s.bytes = nil, nil, 0
		s.generation++
	}
	if s.ids == nil {
		s.ids = make(map[string]ID, names+1)
		s.names = append(slices.Grow(s.names, names+1), "")
		s.ids[""] = 0
	}
}
