package decode

// ID stands for an interned string: a function name or a file name. IDs are
// dense, and start at 0 (the empty string).
type ID int32

// keptBytes is what the names of several profiles may take together. A name takes about 200
// bytes, and the profiles of a program have a few thousand names in all.
const keptBytes = 8 << 20

// Symbols interns function and file names across profiles of one program.
// It is bounded: a decoder takes new Symbols for a profile if the names in the old ones take more
// than keptBytes and more than those of the profile can. The zero Symbols is ready to use. It is
// not safe for concurrent use.
type Symbols struct {
	ids   map[string]ID
	names []string // by id, from 1
	bytes int      // that the names take
}

// Name is the string behind id.
func (s *Symbols) Name(id ID) string {
	if id == 0 {
		return ""
	}
	return s.names[id-1]
}

// Find returns the id of a string, if it has one.
func (s *Symbols) Find(name string) (id ID, known bool) {
	id, known = s.ids[name]
	return id, known || name == ""
}

// Len is the number of ids given out: all ids are below it.
func (s *Symbols) Len() int { return len(s.names) + 1 }

// Intern returns the id of the string in b, giving out a new one if it has none.
// Looking up a known string does not allocate.
func (s *Symbols) Intern(b []byte) ID {
	if id, known := s.ids[string(b)]; known || len(b) == 0 {
		return id
	}
	if s.ids == nil {
		s.ids = map[string]ID{}
	}
	name := string(b)
	s.names = append(s.names, name)
	s.ids[name] = ID(len(s.names))
	s.bytes += nameBytes + len(name)
	return s.ids[name]
}

// next returns the Symbols for a profile with at most so many names and bytes of text: s, or new
// ones if s has too many names.
func (s *Symbols) next(names, text int) *Symbols {
	if s != nil && s.bytes <= max(keptBytes, names*nameBytes+text) {
		return s
	}
	return &Symbols{ids: make(map[string]ID, names), names: make([]string, 0, names)}
}

// nameBytes is the memory of a new name besides its bytes: a slot in a map (24 bytes, at least
// 7/16 of them in use, grown by doubling) and a string.
const nameBytes = 128
