package decode

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"slices"
)

// A Merger adds profiles of one kind up, and encodes the sum in pprof's format, without samples
// whose values are all zero. The result is that of google/pprof's Merge, Compact and Write for
// profiles of the Go runtime. Their code would make each program with a guard 0.1 MB larger.
//
// The sum lacks what a [Table] does not have: mappings other than the program's, and the
// units of numbers in labels. The zero Merger is ready to use.
type Merger struct {
	head    Table  // types, period and times of the sum
	program uint64 // file and
	build   uint64 // build id, as numbers of strings
	texts
	places  map[uint64]map[string]uint64 // functions and locations by their encoding, by their tags
	samples map[string]int               // by the encoding of stack and labels
	keys    []string                     // of the samples, in their order
	values  []int64                      // of the samples
	buf     []byte
}

// Add adds a profile. It keeps no reference to it.
func (m *Merger) Add(t *Table) error {
	if m.samples == nil {
		m.head = Table{base: t.base, Types: slices.Clone(t.Types), DefaultType: t.DefaultType, PeriodType: t.PeriodType, Period: t.Period, TimeNanos: t.TimeNanos}
		m.places, m.samples = map[uint64]map[string]uint64{}, map[string]int{}
		m.program, m.build = m.text(string(t.String(t.program))), m.text(string(t.String(t.build)))
	}
	if !slices.Equal(t.Types, m.head.Types) || t.PeriodType != m.head.PeriodType {
		return fmt.Errorf("merge profiles: one has the values %v of %v, another %v of %v", m.head.Types, m.head.PeriodType, t.Types, t.PeriodType)
	}
	m.head.Period = max(m.head.Period, t.Period)
	m.head.TimeNanos = min(m.head.TimeNanos, t.TimeNanos)
	m.head.DurationNanos = AddSaturating(m.head.DurationNanos, t.DurationNanos)
	ids := make([]uint64, len(t.Locations)) // of the locations that were written; 0 for others
	types := len(t.Types)
	for i, s := range t.Samples {
		values := t.Values[i*types : (i+1)*types]
		if !slices.ContainsFunc(values, func(v int64) bool { return v != 0 }) {
			continue
		}
		key := m.key(t, s, ids)
		at, known := m.samples[string(key)]
		if !known {
			at = len(m.keys)
			m.keys = append(m.keys, string(key))
			m.samples[m.keys[at]] = at
			m.values = append(m.values, make([]int64, types)...)
		}
		for v, n := range values {
			m.values[at*types+v] = AddSaturating(m.values[at*types+v], n)
		}
	}
	return nil
}

// key is the encoding of a sample's stack and labels. It is valid until the next call.
func (m *Merger) key(t *Table, s Sample, ids []uint64) []byte {
	var stack []byte
	for _, l := range t.Stacks[s.StackLo:s.StackHi] {
		if ids[l] == 0 {
			ids[l] = m.location(t, t.Locations[l])
		}
		stack = binary.AppendUvarint(stack, ids[l])
	}
	m.buf = appendBytes(m.buf[:0], sampleLocationPacked, stack)
	for _, l := range t.Labels[s.LabelLo:s.LabelHi] {
		label := appendNumbers(nil, m.text(string(t.String(l.Key))), m.text(string(t.String(l.Str))), uint64(l.Num))
		m.buf = appendBytes(m.buf, sampleLabel, label)
	}
	return m.buf
}

// location returns the number of a location, which it writes if it is new.
func (m *Merger) location(t *Table, l Location) uint64 {
	address := l.Address
	if address != 0 { // a program that is independent of its position starts elsewhere in each process
		address += m.head.base - t.base
	}
	body := appendNumbers(nil, 0, 1, address) // of the one mapping
	for _, line := range t.Lines[l.LineLo:l.LineHi] {
		f := t.Funcs[line.Func]
		name, file := m.text(t.Symbols.Name(line.Name)), m.text(t.Symbols.Name(f.File)) // the name may be a made-up one
		function := m.place(profileFunction, appendNumbers(nil, 0, name, name, file, uint64(f.Line)))
		body = appendBytes(body, locationLine, appendNumbers(nil, function, uint64(line.Line)))
	}
	return m.place(profileLocation, body)
}

// place returns the number of a function or location with this encoding, which it writes if
// it is new.
func (m *Merger) place(tag uint64, body []byte) uint64 {
	ids := m.places[tag]
	if ids == nil {
		ids = map[string]uint64{}
		m.places[tag] = ids
	}
	id, known := ids[string(body)]
	if !known {
		id = uint64(len(ids) + 1)
		ids[string(body)] = id
		m.written = appendBytes(m.written, tag, appendNumbers(body, id))
	}
	return id
}

// Bytes is the sum, gzipped. A profile must have been added.
func (m *Merger) Bytes() []byte {
	var b []byte
	for _, t := range m.head.Types {
		b = m.appendType(b, profileType, t.Type, t.Unit)
	}
	b = m.appendType(b, periodType, m.head.PeriodType.Type, m.head.PeriodType.Unit)
	defaultType := uint64(0)
	if i := m.head.DefaultType; i >= 0 {
		defaultType = m.text(m.head.Types[i].Type)
	}
	b = appendNumbers(b, 0, 0, 0, 0, 0, 0, 0, 0,
		uint64(m.head.TimeNanos), uint64(m.head.DurationNanos), 0, uint64(m.head.Period), 0, defaultType)
	// The flags say that the mapping has functions, files, lines and inlined calls, so that
	// pprof does not look for them in a binary.
	b = appendBytes(b, profileMapping, appendNumbers(nil, 1, 0, 0, 0, m.program, m.build, 1, 1, 1, 1))
	types := len(m.head.Types)
	for i, key := range m.keys {
		b = appendBytes(b, profileSample, appendValues([]byte(key), m.values[i*types:(i+1)*types]))
	}
	var out bytes.Buffer                              // which has no errors
	z, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // there is such a level; runtime/pprof has it, too
	_, _ = z.Write(b)
	_, _ = z.Write(m.written)
	_ = z.Close()
	return out.Bytes()
}

// texts are the strings of a profile that is being written.
type texts struct {
	numbers map[string]uint64
	written []byte // the strings, and of a Merger the functions and locations
}

// text returns the number of a string, which it writes if it is new.
func (x *texts) text(s string) uint64 {
	if x.numbers == nil {
		x.numbers = map[string]uint64{}
		x.text("") // has to be the first
	}
	i, known := x.numbers[s]
	if !known {
		i = uint64(len(x.numbers))
		x.numbers[s] = i
		x.written = appendBytes(x.written, profileString, []byte(s))
	}
	return i
}

// appendType appends a sample type or the period type.
func (x *texts) appendType(b []byte, tag uint64, name, unit string) []byte {
	return appendBytes(b, tag, appendNumbers(nil, x.text(name), x.text(unit)))
}

// appendValues appends the values of a sample.
func appendValues(b []byte, values []int64) []byte {
	var packed []byte
	for _, v := range values {
		packed = binary.AppendUvarint(packed, uint64(v))
	}
	return appendBytes(b, sampleValuePacked, packed)
}

// appendNumbers appends the fields 1, 2, 3 ... of a message that are numbers, but those
// that are 0.
func appendNumbers(b []byte, fields ...uint64) []byte {
	for i, v := range fields {
		if v != 0 {
			b = appendVarints(b, uint64(i+1)<<3, v)
		}
	}
	return b
}

// appendBytes appends a field that is a text or a message.
func appendBytes(b []byte, tag uint64, v []byte) []byte {
	return append(appendVarints(b, tag, uint64(len(v))), v...)
}

// appendVarints has many callers here: inlined, it would make a program 8 KB larger.
//
//go:noinline
func appendVarints(b []byte, first, second uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, first), second)
}
