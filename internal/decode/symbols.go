package decode

// ID stands for an interned string: a function name or a file name. IDs are
// dense, start at 0 (the empty string) and mean the same string for as long as
// the generation of their Symbols is the same.
type ID int32

// Bounds of Symbols. A name takes about 200 bytes with its text and its place in
// the map. A program shows a few thousand names in its life and is far from
// keptNames, 6 MiB. Profiles with more are remembered as long as half of what is
// there is theirs, up to maxNames, 60 MiB, which is more than the largest Go
// binaries contain. A single profile within [Limits] always fits.
const (
	keptNames      = 1 << 15
	keptNamesBytes = 4 << 20
	maxNames       = 1 << 18
	maxNamesBytes  = 32 << 20
)

// Symbols interns function and file names across profiles of one program.
// It is bounded: when a profile would take it over 32,768 names or 4 MiB of text,
// and over twice its own, it starts anew before that profile and
// [Symbols.Generation] grows by one, which tells whoever remembers something per
// ID to forget it. The zero Symbols is ready to use. It is not safe for
// concurrent use.
type Symbols struct {
	ids        map[string]ID
	names      []string
	bytes      int
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
		s.begin(0)
	}
	id := ID(len(s.names))
	name := string(b)
	s.ids[name] = id
	s.names = append(s.names, name)
	s.bytes += len(name)
	return id
}

// find returns the id of the string in b, if it has one.
func (s *Symbols) find(b []byte) (ID, bool) {
	id, ok := s.ids[string(b)]
	return id, ok
}

// A demand is how many names there are, and how many bytes they have together.
type demand struct{ names, bytes int }

func (d *demand) add(bytes int) {
	d.names++
	d.bytes += bytes
}

// reserve makes sure that the names of a profile, some of which are new, can be
// interned without going over the bounds. It reports whether it has forgotten all
// names before for that.
func (s *Symbols) reserve(all, fresh demand) (anew bool) {
	// A large profile of one kind and small ones of another may come in turns.
	s.recent.names = max(all.names, s.recent.names-s.recent.names/8)
	s.recent.bytes = max(all.bytes, s.recent.bytes-s.recent.bytes/8)
	names := max(min(max(keptNames, 2*s.recent.names), maxNames), all.names)
	bytes := max(min(max(keptNamesBytes, 2*s.recent.bytes), maxNamesBytes), all.bytes)
	if s.ids != nil && len(s.names)+fresh.names <= names && s.bytes+fresh.bytes <= bytes {
		return false
	}
	if len(s.names) > 0 {
		s.generation++
	}
	s.begin(all.names)
	return true
}

// begin makes room for so many names, and one for no name.
func (s *Symbols) begin(names int) {
	s.ids = make(map[string]ID, names+1)
	s.names = append(make([]string, 0, names+1), "")
	s.ids[""], s.bytes = 0, 0
}
