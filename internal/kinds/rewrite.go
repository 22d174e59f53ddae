package kinds

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// A rewriter writes what a profile has grown by: the stacks with growth, and of
// the rest of the profile what these need. In a window most stacks have not grown,
// so the result is small to compress, to decode and to keep.
type rewriter struct {
	out       []byte
	message   []byte
	locations []bool // by id: on a stack that is kept
	functions []bool // by id: at a location that is kept
	strings   []bool // by index: named by anything that is kept
}

// profile returns the raw profile of the growth since t was settled last. It is
// valid until the next call.
func (w *rewriter) profile(s *scan, t *totals, start time.Time, elapsed time.Duration) ([]byte, error) {
	w.out = w.out[:0]
	clear(w.locations)
	clear(w.functions)
	clear(w.strings)
	w.name(0) // the empty string, by which absence is told

	for i, at := range s.samples {
		if grown := t.take(i); grown != (values{}) {
			if err := w.sample(s.body(at), grown); err != nil {
				return nil, err
			}
		}
	}
	for _, m := range s.locations {
		if has(w.locations, uint64(m.id)) {
			w.location(s.body(m.span))
		}
	}
	for _, m := range s.functions {
		if has(w.functions, uint64(m.id)) {
			w.put(profileFunction, s.body(m.span))
			w.names(s.body(m.span), 2, 3, 4) // name, system_name, filename
		}
	}
	if err := w.rest(s.raw); err != nil {
		return nil, err
	}
	w.out = protowire.AppendTag(w.out, profileTime, protowire.VarintType)
	w.out = protowire.AppendVarint(w.out, uint64(start.UnixNano()))
	w.out = protowire.AppendTag(w.out, profileDuration, protowire.VarintType)
	w.out = protowire.AppendVarint(w.out, uint64(elapsed))
	return w.out, nil
}

// sample writes a sample with other values.
func (w *rewriter) sample(body []byte, grown values) error {
	w.message = w.message[:0]
	f := fields{rest: body}
	for f.next() {
		switch f.num {
		case sampleLocation:
			w.message = append(w.message, f.raw...)
			f.integers(func(id uint64) { w.locations = mark(w.locations, id) })
		case sampleLabel:
			w.message = append(w.message, f.raw...)
			w.names(f.bytes, 1, 2, 4) // key, str, num_unit
		}
	}
	for _, v := range grown {
		w.message = protowire.AppendTag(w.message, sampleValue, protowire.VarintType)
		w.message = protowire.AppendVarint(w.message, uint64(v))
	}
	w.put(profileSample, w.message)
	return f.err
}

func (w *rewriter) location(body []byte) {
	w.put(profileLocation, body)
	for f := (fields{rest: body}); f.next(); {
		if f.num != locationLine {
			continue
		}
		for l := (fields{rest: f.bytes}); l.next(); {
			if l.num == lineFunction {
				w.functions = mark(w.functions, l.varint)
			}
		}
	}
}

// rest writes what is neither sample nor symbol. Strings come last, in a second
// pass, when it is known which of them are named; the others are left empty, so
// that indices stay what they are.
func (w *rewriter) rest(raw []byte) error {
	types := 0
	f := fields{rest: raw}
	for f.next() {
		switch f.num {
		case profileSampleType:
			if types++; types > len(values{}) {
				continue
			}
			w.names(f.bytes, 1, 2) // type, unit
		case profilePeriodType:
			w.names(f.bytes, 1, 2)
		case profileMapping:
			w.names(f.bytes, 5, 6) // filename, build_id
		case profileDefaultType:
			w.name(f.varint)
		case profileComment:
			f.integers(w.name)
		case profilePeriod:
		default:
			continue
		}
		w.out = append(w.out, f.raw...)
	}
	if f.err != nil {
		return f.err
	}
	i := uint64(0)
	for f := (fields{rest: raw}); f.next(); {
		if f.num != profileString {
			continue
		}
		if has(w.strings, i) {
			w.put(profileString, f.bytes)
		} else {
			w.put(profileString, nil)
		}
		i++
	}
	return nil
}

func (w *rewriter) put(num protowire.Number, body []byte) {
	w.out = protowire.AppendTag(w.out, num, protowire.BytesType)
	w.out = protowire.AppendBytes(w.out, body)
}

// names marks the strings that fields of a message name.
func (w *rewriter) names(body []byte, in ...protowire.Number) {
	for f := (fields{rest: body}); f.next(); {
		for _, num := range in {
			if f.num == num {
				w.name(f.varint)
			}
		}
	}
}

func (w *rewriter) name(i uint64) { w.strings = mark(w.strings, i) }

// mark sets s[i]. Indices above maxID name nothing in a profile of ours.
func mark(s []bool, i uint64) []bool {
	if i > maxID {
		return s
	}
	s = grown(s, int(i))
	s[i] = true
	return s
}

func has(s []bool, i uint64) bool { return i < uint64(len(s)) && s[i] }
