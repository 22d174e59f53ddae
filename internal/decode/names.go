package decode

import "bytes"

// nameBytes is the memory of a new name besides its bytes: a slot in a map (24 bytes, at least
// 7/16 of them in use, grown by doubling) and a string.
const nameBytes = 128

// symbol interns the string at place s, once for each profile: most file names
// belong to several functions.
func (b *builder) symbol(s uint64) ID {
	if id := b.symbolOf[s]; id > 0 {
		return id - 1
	}
	id := b.name(b.t.String(int32(s)))
	b.symbolOf[s] = id + 1
	return id
}

// name interns a name of the profile, or notes that it is refused.
func (b *builder) name(text []byte) ID {
	if b.refused == nil {
		b.refused = b.room.take(int64(len(text)))
	}
	if len(text) > maxNameBytes {
		b.refused = &LimitError{"bytes in a name", int64(len(text)), maxNameBytes}
	}
	if b.refused != nil {
		return 0
	}
	return b.t.Symbols.Intern(text)
}

// madeUp returns the function that stands for a location without symbols in a mapping. There
// is one for each file of a mapping, with a name made of the file's, so that a very long name
// is read once, however many mappings have it.
func (b *builder) madeUp(mapping uint64) int32 {
	file := uint64(0) // in the string table; string 0 is empty
	if m := b.mappingIDs.find(mapping); m >= 0 {
		file = b.mappings[m]
	}
	f := b.unsymbolled[file]
	if f == 0 {
		b.made = appendMadeUp(b.made[:0], b.t.String(int32(file)))
		b.t.Funcs = append(b.t.Funcs, Func{Name: b.name(b.made)})
		f = int32(len(b.t.Funcs))
		b.unsymbolled[file] = f
	}
	return f - 1
}

// appendMadeUp appends the name by which `go tool pprof -top` shows a frame
// without a name in the object file: the last element of its path.
func appendMadeUp(b, file []byte) []byte {
	if len(file) == 0 {
		return append(b, "<unknown>"...)
	}
	file = bytes.TrimRight(file, `/\`)
	return append(append(append(b, '['), file[bytes.LastIndexAny(file, `/\`)+1:]...), ']')
}
