package decode

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

// resolve turns what the walk noted into what a Table holds.
func (b *builder) resolve() error {
	if err := b.resolveStacks(); err != nil {
		return err
	}
	if err := b.countFrames(); err != nil {
		return err
	}
	if err := b.reserve(); err != nil {
		return err
	}
	b.internFuncs()
	b.resolveTypes()
	return b.resolveLines()
}

func (b *builder) resolveStacks() error {
	place := b.locationIDs.place
	undefined := -1
	for i, s := range b.t.Stacks {
		p := place[s]
		if p == 0 {
			undefined = i
			break
		}
		b.t.Stacks[i] = p - 1
	}
	if undefined < 0 {
		return nil
	}
	for i, s := range b.t.Samples {
		if undefined < int(s.StackHi) {
			return in("sample", i, malformed("location %d is not defined", b.locationIDs.id(b.t.Stacks[undefined])))
		}
	}
	return malformed("a location is not defined")
}

// countFrames bounds what a stack and all stacks make whoever reads them do. A few
// bytes can make many frames: of a location with many lines, used again and again.
func (b *builder) countFrames() error {
	t := &b.t
	t.Frames = 0
	for i, s := range t.Samples {
		depth := int64(0)
		for _, at := range t.Stacks[s.StackLo:s.StackHi] {
			depth += int64(t.Locations[at].LineHi - t.Locations[at].LineLo)
		}
		if depth > int64(b.limits.Depth) {
			return in("sample", i, &LimitError{"frames in one stack", "Depth", depth, int64(b.limits.Depth)})
		}
		t.Frames += depth
	}
	if t.Frames > int64(b.limits.Frames) {
		return &LimitError{"frames", "Frames", t.Frames, int64(b.limits.Frames)}
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

// nameBytes is what remembering one new name costs besides its bytes: a slot in
// a map (24 bytes, at least 7/16 of them in use, grown by doubling) and a string.
const nameBytes = 128

// counted stands in symbolOf for a name that is new and has been counted.
const counted ID = -1

// reserve sees to it that the symbols have room for the names of this profile.
// They may start anew, but only before the first of them, so the names are
// counted first.
func (b *builder) reserve() error {
	t := &b.t
	// Made-up names take less than the files that they are made of.
	all := demand{1, len("<unknown>")}
	fresh := all
	count := func(place uint64) error {
		text := t.String(int32(place))
		if len(text) > b.limits.NameBytes {
			return &LimitError{"bytes in a name", "NameBytes", int64(len(text)), int64(b.limits.NameBytes)}
		}
		if b.symbolOf[place] != 0 {
			return nil
		}
		all.add(len(text))
		if id, ok := t.Symbols.find(text); ok {
			b.symbolOf[place] = id + 1
		} else {
			b.symbolOf[place] = counted
			fresh.add(len(text))
		}
		return nil
	}
	for i, f := range t.Funcs {
		if err := count(uint64(f.Name)); err != nil {
			return in("function", i, err)
		}
		if err := count(uint64(f.File)); err != nil {
			return in("function", i, err)
		}
	}
	for i, file := range b.mappings {
		if err := count(file); err != nil {
			return in("mapping", i, err)
		}
	}
	for i, vt := range b.types {
		if err := errors.Join(count(vt.name), count(vt.unit)); err != nil {
			return in("sample type", i, err)
		}
	}
	if err := errors.Join(count(b.periodType.name), count(b.periodType.unit)); err != nil {
		return fmt.Errorf("period type: %w", err)
	}
	if err := b.room.take(int64(all.names)*nameBytes + int64(all.bytes)); err != nil {
		return err
	}
	if t.Symbols.reserve(all, fresh) {
		clear(b.symbolOf)
	}
	return nil
}

func (b *builder) internFuncs() {
	for i := range b.t.Funcs {
		f := &b.t.Funcs[i]
		f.Name, f.File = b.symbol(f.Name), b.symbol(f.File)
	}
}

// symbol interns the string at place s, once for each profile: most file names
// belong to several functions.
func (b *builder) symbol(s ID) ID {
	if id := b.symbolOf[s]; id > 0 {
		return id - 1
	}
	id := b.t.Symbols.Intern(b.t.String(int32(s)))
	b.symbolOf[s] = id + 1
	return id
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
				return in("location", i, malformed("function %d is not defined", b.functionIDs.id(line.Func)))
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

// madeUp returns the function that stands for whatever is in location i, which
// has no symbols. There is one for each mapping, named like it.
func (b *builder) madeUp(i int) int32 {
	m, ok := b.mappingIDs.find(b.mappingOf[i])
	var file []byte
	if ok {
		file = b.t.String(int32(b.mappings[m]))
	}
	if len(file) == 0 {
		m = len(b.mappings)
	}
	f := b.unsymbolled[m]
	if f == 0 {
		b.made = appendMadeUp(b.made[:0], file)
		b.t.Funcs = append(b.t.Funcs, Func{Name: b.t.Symbols.Intern(b.made)})
		f = int32(len(b.t.Funcs))
		b.unsymbolled[m] = f
	}
	return f - 1
}

// appendMadeUp appends the name by which `go tool pprof -top` shows a frame
// without a name in the object file: its base, as filepath.Base has it.
func appendMadeUp(b, file []byte) []byte {
	if len(file) == 0 {
		return append(b, "<unknown>"...)
	}
	end := len(file)
	for end > 1 && os.IsPathSeparator(file[end-1]) {
		end--
	}
	start := bytes.LastIndexFunc(file[:end-1], func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) }) + 1
	b = append(b, '[')
	b = append(b, file[start:end]...)
	return append(b, ']')
}
