package decode

import (
	"cmp"
	"fmt"
)

// walk fills the tables from the top-level message. In the place of ids of names it stores
// places in the string table, and in the place of indices it stores slots; resolve replaces
// them.
func (b *builder) walk(raw []byte) error {
	t := &b.t
	var numbers [16]uint64 // by field
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
		what, at := "", 0
		switch tag {
		case profileSample:
			what, at, err = "sample", len(t.Samples), b.sample(part)
		case profileLocation:
			what, at, err = "location", len(t.Locations), b.location(part)
		case profileString:
			if len(t.strings) == 0 && v != 0 {
				return malformed("string 0 is not empty")
			}
			t.strings = append(t.strings, span{uint32(next - int(v)), uint32(next)})
		case profileFunction:
			what, at, err = "function", len(t.Funcs), b.function(part)
		case profileMapping:
			what, at, err = "mapping", len(b.mappings), b.mapping(part)
		case profileType:
			what, at, err = "sample type", len(b.types), b.sampleType(part)
		case periodType:
			b.periodType, err = decodeValueType(part)
		case dropFrames, keepFrames, profileTime, profileDuration, profilePeriod, defaultType, docURL:
			numbers[tag>>3] = v
		case comment:
			err = b.checkString(v)
		case commentPacked:
			err = eachVarint(part, b.checkString)
		default:
			err = unknown(tag, 15)
		}
		if err != nil {
			return in(what, at, err)
		}
	}
	t.TimeNanos, t.DurationNanos, t.Period = int64(numbers[profileTime>>3]), int64(numbers[profileDuration>>3]), int64(numbers[profilePeriod>>3])
	b.defaultType = numbers[defaultType>>3]
	for _, i := range [...]uint64{numbers[dropFrames>>3], numbers[keepFrames>>3], numbers[docURL>>3], b.defaultType, b.periodType.name, b.periodType.unit} {
		if err := b.checkString(i); err != nil {
			return err
		}
	}
	return nil
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
			var s int32
			s, err = b.locationIDs.slot(v)
			t.Stacks = append(t.Stacks, s)
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

// stack reads a packed stack. Half of a profile's bytes are read here, so ids of one to three
// bytes, which are nearly all, are read without a call.
func (b *builder) stack(p []byte) error {
	stacks := b.t.Stacks
	dense := uint64(b.locationIDs.n)
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
		s := int32(id)
		if id > dense {
			var err error
			if s, err = b.locationIDs.slot(id); err != nil {
				return err
			}
		}
		stacks = append(stacks, s)
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
	if len(t.Lines) == lo {
		t.Lines = append(t.Lines, Line{Func: noFunc})
	}
	b.mappingOf = append(b.mappingOf, f[2])
	t.Locations = append(t.Locations, Location{int32(lo), int32(len(t.Lines)), f[3]})
	return b.locationIDs.define(f[1], len(t.Locations)-1)
}

// noFunc takes the place of the slot in the line of a location without symbols.
const noFunc = -1

func (b *builder) line(p []byte) error {
	var f [4]uint64 // function, line, column
	if err := varintFields(p, f[:]); err != nil {
		return err
	}
	s, err := b.functionIDs.slot(f[1])
	if err != nil {
		return fmt.Errorf("function of a line: %w", err)
	}
	b.t.Lines = append(b.t.Lines, Line{Func: s, Line: lineNumber(int64(f[2]))})
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
	b.t.Funcs = append(b.t.Funcs, Func{Name: ID(f[2]), File: ID(f[4]), Line: lineNumber(int64(f[5]))})
	return b.functionIDs.define(f[1], len(b.t.Funcs)-1)
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
		b.t.program, b.t.build = int32(f[5]), int32(f[6])
	}
	b.mappings = append(b.mappings, f[5])
	return b.mappingIDs.define(f[1], len(b.mappings)-1)
}

func (b *builder) sampleType(p []byte) error {
	vt, err := decodeValueType(p)
	b.types = append(b.types, vt)
	return cmp.Or(err, b.checkString(vt.name), b.checkString(vt.unit))
}

func decodeValueType(p []byte) (valueType, error) {
	var f [3]uint64
	err := varintFields(p, f[:])
	return valueType{f[1], f[2]}, err
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
