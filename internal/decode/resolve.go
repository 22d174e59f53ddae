package decode

import "bytes"

// resolve turns what the walk noted into what a Table holds.
func (b *builder) resolve() error {
	if err := b.resolveStacks(); err != nil {
		return err
	}
	for i := range b.t.Funcs {
		f := &b.t.Funcs[i]
		f.Name, f.File = b.symbol(f.Name), b.symbol(f.File)
	}
	b.resolveTypes()
	if err := b.resolveLines(); err != nil {
		return err
	}
	return b.refused
}

// resolveStacks also limits the number of frames, in one stack and in all of them. A few bytes
// can make many frames, with a location of many lines that is used again and again.
func (b *builder) resolveStacks() error {
	t := &b.t
	t.Frames = 0
	for i, s := range t.Samples {
		depth := int64(0)
		stack := t.Stacks[s.StackLo:s.StackHi]
		for k, slot := range stack {
			at := b.locationIDs.place[slot] - 1
			if at < 0 {
				return in("sample", i, malformed("its location is not defined"))
			}
			stack[k] = at
			depth += int64(t.Locations[at].LineHi - t.Locations[at].LineLo)
		}
		if depth > maxDepth {
			return in("sample", i, &LimitError{"frames in one stack", depth, maxDepth})
		}
		t.Frames += depth
	}
	if t.Frames > maxFrames {
		return &LimitError{"frames", t.Frames, maxFrames}
	}
	return nil
}

// resolveTypes also interns the names of types: a decoder may be given CPU and
// heap profiles in turns, and a new string is an allocation.
func (b *builder) resolveTypes() {
	t := &b.t
	for i, vt := range b.types {
		t.Types[i] = b.valueType(vt)
	}
	t.PeriodType = b.valueType(b.periodType)
	if b.defaultType == 0 {
		return
	}
	name := t.String(int32(b.defaultType))
	for i := range t.Types {
		if len(name) > 0 && t.Types[i].Type == string(name) {
			t.DefaultType = i
			return
		}
	}
}

func (b *builder) valueType(vt valueType) ValueType {
	return ValueType{b.t.Symbols.Name(b.symbol(ID(vt.name))), b.t.Symbols.Name(b.symbol(ID(vt.unit)))}
}

// nameBytes is the memory of a new name besides its bytes: a slot in a map (24 bytes, at least
// 7/16 of them in use, grown by doubling) and a string.
const nameBytes = 128

// symbol interns the string at place s, once for each profile: most file names
// belong to several functions.
func (b *builder) symbol(s ID) ID {
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

func (b *builder) resolveLines() error {
	t := &b.t
	place := b.functionIDs.place
	for i, loc := range t.Locations {
		for j := loc.LineLo; j < loc.LineHi; j++ {
			line := &t.Lines[j]
			if line.Func == noFunc {
				line.Func = b.madeUp(i)
				line.Name = t.Funcs[line.Func].Name
				continue
			}
			p := place[line.Func]
			if p == 0 {
				return in("location", i, malformed("its function is not defined"))
			}
			line.Func = p - 1
			line.Name = t.Funcs[p-1].Name
			if line.Name == 0 {
				line.Name = t.Funcs[b.madeUp(i)].Name
			}
		}
	}
	return nil
}

// madeUp returns the function that stands for location i, which has no symbols. There is one
// for each file of a mapping, with a name made of the file's, so that a very long name is
// read once, however many mappings have it.
func (b *builder) madeUp(i int) int32 {
	file := uint64(0) // in the string table; string 0 is empty
	if m, ok := b.mappingIDs.find(b.mappingOf[i]); ok {
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
