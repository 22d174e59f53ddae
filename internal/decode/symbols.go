package decode

// ID stands for an interned string: a function name or a file name. IDs are
// dense, start at 0 (the empty string) and mean the same string for as long as
// the generation of their Symbols is the same.
type ID int32

// Bounds of Symbols. A name takes about 200 bytes with its text and its place in
// the map. A program shows a few thousand names in its life and is far from
// keptNames, 6 MiB. Where profiles have more, twice as many names are remembered as
// the largest of the last few has, up to maxNames, 60 MiB, which is more than the
// largest Go binaries contain. What one profile adds to that is up to [Limits].
const (
	keptNames      = 1 << 15
	keptNamesBytes = 4 << 20
	maxNames       = 1 << 18
	maxNamesBytes  = 32 << 20
)

// Symbols interns function and file names across profiles of one program.
// It is bounded: a profile that comes when there are more than 32,768 names or 4 MiB
// of text, and more than twice those of the profiles before it, finds all of them
// forgotten, and [Symbols.Generation] has grown by one, which tells whoever remembers
// something per ID to forget it. The zero Symbols is ready to use. It is not safe for
// concurrent use.
type Symbols struct {
	ids        map[string]ID
	names      []string
	bytes      int
	last       demand // of the last profile
	recent     demand // of the largest profile, or less if that was long ago
	generation int
}

// Name is the string behind id.
func (s *Symbols) Name(id ID) string {
	if id == 0 {
		return "" // also before the first name
	}
	return s.names[id]
}

// Find returns the id of a string, if it has one.
func (s *Symbols) Find(name string) (id ID, known bool) {
	id, known = s.ids[name]
	return id, known
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
	if s.ids == nil {
		s.anew(0)
	}
	id := ID(len(s.names))
	name := string(b)
	s.ids[name] = id
	s.names = append(s.names, name)
	s.bytes += len(name)
	return id
}

// ask is [Symbols.Intern] for a name of the profile that has begun.
func (s *Symbols) ask(b []byte) ID {
	s.last.names++
	s.last.bytes += len(b)
	return s.Intern(b)
}

// A demand is how many names there are, and how many bytes they have together.
type demand struct{ names, bytes int }

// begin is called before a profile that has at most so many names. It forgets all
// names where there are too many.
func (s *Symbols) begin(names int) {
	// A large profile of one kind and small ones of another may come in turns.
	s.recent.names = max(s.last.names, s.recent.names-s.recent.names/8)
	s.recent.bytes = max(s.last.bytes, s.recent.bytes-s.recent.bytes/8)
	s.last = demand{}
	switch {
	case s.ids == nil:
		s.anew(names)
	case len(s.names) > max(keptNames, min(2*s.recent.names, maxNames)), s.bytes > max(keptNamesBytes, min(2*s.recent.bytes, maxNamesBytes)):
		s.generation++
		s.anew(names)
	}
}

// anew makes room for so many names, and one for no name.
func (s *Symbols) anew(names int) {
	s.ids = make(map[string]ID, names+1)
	s.names = append(make([]string, 0, names+1), "")
	s.ids[""], s.bytes = 0, 0
}
