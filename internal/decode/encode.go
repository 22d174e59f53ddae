package decode

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
)

// Encode writes the profile in pprof's format, gzipped, without samples whose values are all zero
// and what only they need. It lacks what a Table does not have: mappings other than the program's,
// and the units of numbers in labels. google/pprof's code would make each program with a guard
// 0.1 MB larger.
func (t *Table) Encode(comments ...string) []byte {
	var sum Merger // which has what the samples need, once
	_ = sum.Add(t) // a part of a profile is within the limits
	t = sum.Table()
	var x texts
	var b []byte
	for _, of := range t.Types {
		b = x.appendType(b, profileType, of.Type, of.Unit)
	}
	b = x.appendType(b, periodType, t.PeriodType.Type, t.PeriodType.Unit)
	defaultType := uint64(0)
	if i := t.DefaultType; i >= 0 {
		defaultType = x.text(t.Types[i].Type)
	}
	b = appendNumbers(b, 0, 0, 0, 0, 0, 0, 0, 0,
		uint64(t.TimeNanos), uint64(t.DurationNanos), 0, uint64(t.Period), 0, defaultType)
	for _, c := range comments {
		b = appendVarints(b, comment, x.text(c))
	}
	// The flags say that the mapping has functions, files, lines and inlined calls, so that
	// pprof does not look for them in a binary.
	b = appendBytes(b, profileMapping, appendNumbers(nil, 1, 0, 0, 0, x.text(string(t.String(t.program))), x.text(string(t.String(t.build))), 1, 1, 1, 1))
	for i, f := range t.Funcs {
		name := x.text(t.Symbols.Name(f.Name))
		b = appendBytes(b, profileFunction, appendNumbers(nil, uint64(i+1), name, name, x.text(t.Symbols.Name(f.File)), uint64(f.Line)))
	}
	for i, l := range t.Locations {
		body := appendNumbers(nil, uint64(i+1), 1, l.Address) // of the one mapping
		for _, line := range t.Lines[l.LineLo:l.LineHi] {
			body = appendBytes(body, locationLine, appendNumbers(nil, uint64(line.Func+1), uint64(line.Line)))
		}
		b = appendBytes(b, profileLocation, body)
	}
	for s := range t.Each() {
		var stack []byte
		for _, l := range s.Locations {
			stack = appendVarint(stack, uint64(l+1))
		}
		body := appendValues(appendBytes(nil, sampleLocationPacked, stack), s.Values)
		for _, l := range s.Labels {
			body = appendBytes(body, sampleLabel, appendNumbers(nil, x.text(string(t.String(l.Key))), x.text(string(t.String(l.Str))), uint64(l.Num)))
		}
		b = appendBytes(b, profileSample, body)
	}
	return Gzip(append(b, x.written...))
}

// Gzip compresses as runtime/pprof does.
func Gzip(b []byte) []byte {
	var out bytes.Buffer                              // which has no errors
	z, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // there is such a level
	_, _ = z.Write(b)
	_ = z.Close()
	return out.Bytes()
}

// texts are the strings of a profile that is being written.
type texts struct {
	numbers map[string]uint64
	written []byte
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
		packed = appendVarint(packed, uint64(v))
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

func appendVarints(b []byte, first, second uint64) []byte {
	return appendVarint(appendVarint(b, first), second)
}

func appendVarint(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }
