package decode

import (
	"bytes"
	"fmt"
	"os"
)

// resolve turns what the walk noted into what a Table holds.
func (b *builder) resolve() error {
	if err := b.resolveStacks(); err != nil {
		return err
	}
	if err := b.resolveTypes(); err != nil {
		return err
	}
	if err := b.internFuncs(); err != nil {
		return err
	}
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

func (b *builder) resolveTypes() error {
	t := &b.t
	for i, vt := range b.types {
		if err := b.valueType(&t.Types[i], vt); err != nil {
			return in("sample type", i, err)
		}
	}
	if err := b.valueType(&t.PeriodType, b.periodType); err != nil {
		return fmt.Errorf("period type: %w", err)
	}
	if err := b.checkString(b.defaultType); err != nil {
		return fmt.Errorf("default sample type: %w", err)
	}
	if name := t.String(int32(b.defaultType)); len(name) > 0 {
		for i := range t.Types {
			if t.Types[i].Type == string(name) {
				t.DefaultType = i
				break
			}
		}
	}
	return nil
}

// valueType sets x, leaving its strings alone if they are right already, as
// they nearly always are: a new string is an allocation.
func (b *builder) valueType(x *ValueType, vt valueType) error {
	for _, s := range [...]uint64{vt.name, vt.unit} {
		if err := b.checkString(s); err != nil {
			return err
		}
	}
	if name := b.t.String(int32(vt.name)); x.Type != string(name) {
		x.Type = string(name)
	}
	if unit := b.t.String(int32(vt.unit)); x.Unit != string(unit) {
		x.Unit = string(unit)
	}
	return nil
}

// nameBytes is what remembering one new name costs besides its bytes: a slot in
// a map (24 bytes, at least 7/16 of them in use, grown by doubling) and a string.
const nameBytes = 128

// internFuncs turns places of strings into ids of names.
func (b *builder) internFuncs() error {
	t := &b.t
	// Symbols may start anew, but only before the first name of this profile, so
	// the names are counted first. All may be new.
	names, size := len(b.mappings)+1, 0
	count := func(s ID) {
		if b.symbolOf[s] == 0 {
			b.symbolOf[s] = 1
			names++
			size += len(t.String(int32(s)))
		}
	}
	for i := range t.Funcs {
		f := &t.Funcs[i]
		count(f.Name)
		count(f.File)
		for _, s := range [...]ID{f.Name, f.File} {
			if n := len(t.String(int32(s))); n > b.limits.NameBytes {
				return in("function", i, &LimitError{"bytes in a name", "NameBytes", int64(n), int64(b.limits.NameBytes)})
			}
		}
	}
	for i, s := range b.mappings {
		n := len(t.String(int32(s)))
		if n > b.limits.NameBytes {
			return in("mapping", i, &LimitError{"bytes in a name", "NameBytes", int64(n), int64(b.limits.NameBytes)})
		}
		size += n + len("[]")
	}
	if err := b.room.take(int64(names)*nameBytes + int64(size)); err != nil {
		return err
	}
	t.Symbols.reserve(names, size)
	clear(b.symbolOf)
	for i := range t.Funcs {
		f := &t.Funcs[i]
		f.Name, f.File = b.symbol(f.Name), b.symbol(f.File)
	}
	return nil
}

// symbol interns the string at place s, once for each profile: most file names
// belong to several functions.
func (b *builder) symbol(s ID) ID {
	if id := b.symbolOf[s]; id != 0 {
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
