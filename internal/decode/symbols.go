package decode

// ID stands for an interned string: a function name or a file name. IDs are
// dense, start at 0 (the empty string) and mean the same string for as long as
// the generation of their Symbols is the same.
type ID int32

// Symbols interns function and file names across profiles of one program.
// It is bounded: when a profile would take it over its bound, it starts anew
// and [Symbols.Generation] grows by one, which tells whoever remembers
// something per ID to forget it.
// The zero Symbols is ready to use. It is not safe for concurrent use.
type Symbols struct {
	ids        map[string]ID
	names      []string
	bytes      int
	generation int
}

// Name is the string behind id.
func (s *Symbols) Name(id ID) string { return s.names[id] }

// Len is the number of ids given out: all ids are below it.
func (s *Symbols) Len() int { return len(s.names) }

// Generation changes whenever all ids given out before have become invalid.
func (s *Symbols) Generation() int { return s.generation }

// Intern returns the id of the string in b, giving out a new one if it has none.
// Looking up a known string does not allocate.
func (s *Symbols) Intern(b []byte) ID {
	if id, ok := s.ids[string(b)]; ok {
		return id
	}
	if s.ids == nil {
		s.ids = map[string]ID{"": 0}
		s.names = []string{""}
		if len(b) == 0 {
			return 0
		}
	}
	id := ID(len(s.names))
	name := string(b)
	s.ids[name] = id
	s.names = append(s.names, name)
	s.bytes += len(name)
	return id
}
