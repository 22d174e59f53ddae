package decode

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// walk fills the tables from the top-level message. It first notes where the objects are,
// and then reads them in an order in which everything is read before it is referred to.
func (b *builder) walk(raw []byte) error {
	t := &b.t
	var numbers [16]uint64 // by field
	var period [3]uint64   // type and unit
	for i := 0; i < len(raw); {
		tag, v, next := field(raw, i)
		if next < 0 {
			return malformed("%s", wireError(next))
		}
		i = next
		var part []byte
		if tag&7 == wireBytes {
			part = raw[next-int(v) : next]
		}
		var err error
		switch tag {
		case profileType, profileSample, profileMapping, profileLocation, profileFunction:
			b.parts[tag>>3] = append(b.parts[tag>>3], span{uint32(next - int(v)), uint32(next)})
		case profileString:
			if len(t.strings) == 0 && v != 0 {
				return malformed("string 0 is not empty")
			}
			t.strings = append(t.strings, span{uint32(next - int(v)), uint32(next)})
		case periodType:
			period = [3]uint64{} // the last one counts
			err = varintFields(part, period[:])
		case dropFrames, keepFrames, profileTime, profileDuration, profilePeriod, defaultType, docURL:
			numbers[tag>>3] = v
		case comment:
			err = b.comment(v)
		case commentPacked:
			err = eachVarint(part, b.comment)
		default:
			err = unknown(tag, 15)
		}
		if err != nil {
			return err
		}
	}
	t.TimeNanos, t.DurationNanos, t.Period = int64(numbers[profileTime>>3]), int64(numbers[profileDuration>>3]), int64(numbers[profilePeriod>>3])
	for _, i := range [...]uint64{numbers[dropFrames>>3], numbers[keepFrames>>3], numbers[docURL>>3], numbers[defaultType>>3], period[1], period[2]} {
		if err := b.checkString(i); err != nil {
			return err
		}
	}
	t.PeriodType = b.valueType(period)
	for _, kind := range [...]struct {
		field int
		what  string
		read  func(*builder, []byte) error
	}{
		{profileType >> 3, "sample type", (*builder).sampleType},
		{profileMapping >> 3, "mapping", (*builder).mapping},
		{profileFunction >> 3, "function", (*builder).function},
		{profileLocation >> 3, "location", (*builder).location},
		{profileSample >> 3, "sample", (*builder).sample},
	} {
		for i, at := range b.parts[kind.field] {
			if err := kind.read(b, raw[at.lo:at.hi]); err != nil {
				return fmt.Errorf("%s %d: %w", kind.what, i, err)
			}
		}
	}
	if t.Frames > maxFrames {
		return &LimitError{"frames", t.Frames, maxFrames}
	}
	if name := t.String(int32(numbers[defaultType>>3])); len(name) > 0 {
		t.DefaultType = slices.IndexFunc(t.Types, func(vt ValueType) bool { return vt.Type == string(name) })
	}
	return b.refused
}

// eachVarint calls each with the varints of a packed field.
func eachVarint(p []byte, each func(uint64) error) error {
	for i := 0; i < len(p); {
		var v uint64
		if v, i = uvarint(p, i); i < 0 {
			return malformed("%s", wireError(i))
		}
		if err := each(v); err != nil {
			return err
		}
	}
	return nil
}

// unknown accepts fields other than 1 to known. It refuses these: it is called for them only
// if they have a wrong wire type.
func unknown(tag uint64, known uint64) error {
	if n := tag >> 3; 1 <= n && n <= known {
		return malformed("field %d has wire type %d", n, tag&7)
	}
	return nil
}

func (b *builder) sample(p []byte) error {
	t := &b.t
	stackLo, labelLo := len(t.Stacks), len(t.Labels)
	for i := 0; i < len(p); {
		tag, v, next := field(p, i)
		if next < 0 {
			return malformed("%s", wireError(next))
		}
		i = next
		var err error
		switch tag {
		case sampleLocationPacked:
			err = b.stack(p[next-int(v) : next])
		case sampleLocation:
			at := b.locationIDs.find(v)
			if at < 0 {
				return errLocation()
			}
			t.Stacks = append(t.Stacks, at)
		case sampleValuePacked:
			err = eachVarint(p[next-int(v):next], b.value)
		case sampleValue:
			err = b.value(v)
		case sampleLabel:
			err = b.label(p[next-int(v) : next])
		default:
			err = unknown(tag, 3)
		}
		if err != nil {
			return err
		}
	}
	t.Samples = append(t.Samples, Sample{
		StackLo: int32(stackLo), StackHi: int32(len(t.Stacks)),
		LabelLo: int32(labelLo), LabelHi: int32(len(t.Labels)),
	})
	if n, types := len(t.Values), len(t.Types); n != len(t.Samples)*types {
		return malformed("it has %d values, the profile has %d types", n-(len(t.Samples)-1)*types, types)
	}
	// A few bytes can make many frames, with a location of many lines that is used again
	// and again.
	depth := int64(0)
	for _, at := range t.Stacks[stackLo:] {
		depth += int64(t.Locations[at].LineHi - t.Locations[at].LineLo)
	}
	if depth > maxDepth {
		return &LimitError{"frames in one stack", depth, maxDepth}
	}
	t.Frames += depth
	return nil
}

// value adds a value to the current sample.
func (b *builder) value(v uint64) error {
	t := &b.t
	if len(t.Values) == (len(t.Samples)+1)*len(t.Types) {
		return malformed("it has more values than the profile's %d types", len(t.Types))
	}
	t.Values = append(t.Values, int64(v))
	return nil
}

func (b *builder) comment(v uint64) error {
	b.t.comments = append(b.t.comments, int32(v))
	return cmp.Or(b.checkString(v), b.memory.reserve(12)) // in a slice that grows
}

func errLocation() error { return malformed("its location is not defined") }

// stack reads a packed stack. Half of a profile's bytes are read here, so ids of one to three
// bytes, which are nearly all, are read without a call.
func (b *builder) stack(p []byte) error {
	stacks := b.t.Stacks
	for i := 0; i < len(p); {
		var id uint64
		switch {
		case p[i] < 0x80:
			id = uint64(p[i])
			i++
		case i+1 < len(p) && p[i+1] < 0x80:
			id = uint64(p[i]&0x7f) | uint64(p[i+1])<<7
			i += 2
		case i+2 < len(p) && p[i+2] < 0x80:
			id = uint64(p[i]&0x7f) | uint64(p[i+1]&0x7f)<<7 | uint64(p[i+2])<<14
			i += 3
		default:
			if id, i = longUvarint(p, i); i < 0 {
				return malformed("%s", wireError(i))
			}
		}
		at := b.locationIDs.find(id)
		if at < 0 {
			return errLocation()
		}
		stacks = append(stacks, at)
	}
	b.t.Stacks = stacks
	return nil
}

func (b *builder) label(p []byte) error {
	var f [5]uint64 // key, str, num, unit
	if err := varintFields(p, f[:]); err != nil {
		return err
	}
	key, str, num, unit := f[1], f[2], f[3], f[4]
	if err := b.checkString(key); err != nil {
		return err
	}
	switch {
	case str != 0:
		if err := b.checkString(str); err != nil {
			return err
		}
		b.t.Labels = append(b.t.Labels, Label{Key: int32(key), Str: int32(str)})
	case num != 0 || unit != 0:
		if err := b.checkString(unit); err != nil {
			return err
		}
		b.t.Labels = append(b.t.Labels, Label{Key: int32(key), Num: int64(num)})
	}
	return nil
}

func (b *builder) location(p []byte) error {
	t := &b.t
	lo := len(t.Lines)
	var f [4]uint64 // id, mapping, address
	for i := 0; i < len(p); {
		tag, v, next := field(p, i)
		if next < 0 {
			return malformed("%s", wireError(next))
		}
		i = next
		var err error
		switch tag {
		case locationID, locationMapping, locationAddress:
			f[tag>>3] = v
		case locationLine:
			err = b.line(p[next-int(v) : next])
		case locationFolded:
		default:
			err = unknown(tag, 5)
		}
		if err != nil {
			return err
		}
	}
	if len(t.Lines) == lo { // without symbols
		made := b.madeUp(f[2])
		t.Lines = append(t.Lines, Line{Func: made, Name: t.Funcs[made].Name})
	}
	for i := lo; i < len(t.Lines); i++ {
		if line := &t.Lines[i]; line.Name == 0 {
			line.Name = t.Funcs[b.madeUp(f[2])].Name
		}
	}
	t.Locations = append(t.Locations, Location{int32(lo), int32(len(t.Lines)), f[3]})
	return b.locationIDs.define(f[1], len(t.Locations)-1, &b.memory)
}

func (b *builder) line(p []byte) error {
	var f [4]uint64 // function, line, column
	if err := varintFields(p, f[:]); err != nil {
		return err
	}
	at := b.functionIDs.find(f[1])
	if at < 0 {
		return malformed("its function is not defined")
	}
	b.t.Lines = append(b.t.Lines, Line{Name: b.t.Funcs[at].Name, Func: at, Line: lineNumber(int64(f[2]))})
	return nil
}

// lineNumber is 0, for unknown, if the line number does not fit.
func lineNumber(n int64) int32 {
	if n != int64(int32(n)) {
		return 0
	}
	return int32(n)
}

func (b *builder) function(p []byte) error {
	var f [6]uint64 // id, name, system name, file name, start line
	if err := varintFields(p, f[:]); err != nil {
		return err
	}
	for _, s := range f[2:5] {
		if err := b.checkString(s); err != nil {
			return err
		}
	}
	b.t.Funcs = append(b.t.Funcs, Func{Name: b.symbol(f[2]), File: b.symbol(f[4]), Line: lineNumber(int64(f[5]))})
	return b.functionIDs.define(f[1], len(b.t.Funcs)-1, &b.memory)
}

func (b *builder) mapping(p []byte) error {
	var f [11]uint64 // id, start, limit, offset, file, build id, and four flags
	if err := varintFields(p, f[:]); err != nil {
		return err
	}
	for _, s := range f[5:7] {
		if err := b.checkString(s); err != nil {
			return err
		}
	}
	if len(b.mappings) == 0 {
		b.t.base, b.t.program, b.t.build = f[2], int32(f[5]), int32(f[6])
	}
	b.mappings = append(b.mappings, f[5])
	return b.mappingIDs.define(f[1], len(b.mappings)-1, &b.memory)
}

func (b *builder) sampleType(p []byte) error {
	if n := len(b.t.Types); n >= maxTypes {
		return &LimitError{"values of a sample", int64(n + 1), maxTypes}
	}
	var f [3]uint64 // type and unit
	if err := cmp.Or(varintFields(p, f[:]), b.checkString(f[1]), b.checkString(f[2])); err != nil {
		return err
	}
	b.t.Types = append(b.t.Types, b.valueType(f))
	return nil
}

// valueType also interns the names of a type: a decoder may be given CPU and heap profiles
// in turns, and a new string is an allocation.
func (b *builder) valueType(f [3]uint64) ValueType {
	return ValueType{b.t.Symbols.Name(b.symbol(f[1])), b.t.Symbols.Name(b.symbol(f[2]))}
}

// varintFields reads a message whose known fields, 1 to len(f)-1, are all
// varints, into f by their numbers.
func varintFields(p []byte, f []uint64) error {
	for i := 0; i < len(p); {
		tag, v, next := field(p, i)
		if next < 0 {
			return malformed("%s", wireError(next))
		}
		i = next
		n := tag >> 3
		if n >= uint64(len(f)) || n == 0 {
			continue
		}
		if tag&7 != wireVarint {
			return unknown(tag, n)
		}
		f[n] = v
	}
	return nil
}

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
		b.refused = b.memory.reserve(int64(len(text)))
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
