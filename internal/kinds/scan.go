package kinds

import "fmt"

// maxStacks is how many stacks of one profile are subtracted; the decoder takes
// no more samples either.
const maxStacks = 200_000

// maxID bounds the ids of locations and functions, which runtime/pprof numbers
// from 1; the decoder takes 500,000 locations.
const maxID = 1 << 20

// span is a message's place in the raw profile. Offsets and not slices, so that
// nothing that is kept from window to window holds a large buffer.
type span struct{ lo, hi int32 }

// message is a numbered one: a location or a function.
type message struct {
	id int
	span
}

// A scan is the table of contents of one raw profile.
type scan struct {
	raw       []byte
	samples   []span
	locations []message
	functions []message
	addresses []uint64 // by location id
	strings   int
	period    int64
}

func (s *scan) body(at span) []byte { return s.raw[at.lo:at.hi] }

// read takes the contents of raw, which must not change while s is used.
func (s *scan) read(raw []byte) error {
	s.raw, s.strings, s.period = raw, 0, 0
	s.samples, s.locations, s.functions = s.samples[:0], s.locations[:0], s.functions[:0]
	clear(s.addresses)
	f := fields{rest: raw}
	for f.next() {
		hi := int32(len(raw) - len(f.rest))
		at := span{hi - int32(len(f.bytes)), hi}
		var err error
		switch f.num {
		case profileSample:
			s.samples = append(s.samples, at)
		case profileLocation:
			err = s.location(at)
		case profileFunction:
			var id int
			id, err = s.id(at, functionID)
			s.functions = append(s.functions, message{id, at})
		case profileString:
			s.strings++
		case profilePeriod:
			s.period = int64(f.varint)
		}
		if err != nil {
			return err
		}
	}
	if len(s.samples) > maxStacks {
		return fmt.Errorf("%w: it has %d stacks, at most %d are subtracted", errTooLarge, len(s.samples), maxStacks)
	}
	return f.err
}

func (s *scan) location(at span) error {
	id, err := s.id(at, locationID)
	if err != nil {
		return err
	}
	s.locations = append(s.locations, message{id, at})
	f := fields{rest: s.body(at)}
	for f.next() {
		if f.num == locationAddress {
			s.addresses = grown(s.addresses, id)
			s.addresses[id] = f.varint
		}
	}
	return f.err
}

// id is the message's number.
func (s *scan) id(at span, field int) (int, error) {
	f := fields{rest: s.body(at)}
	for f.next() {
		if int(f.num) == field {
			if f.varint == 0 || f.varint > maxID {
				return 0, fmt.Errorf("read profile of runtime/pprof: id %d is not in 1 to %d", f.varint, maxID)
			}
			return int(f.varint), nil
		}
	}
	if f.err != nil {
		return 0, f.err
	}
	return 0, fmt.Errorf("read profile of runtime/pprof: a location or function has no id")
}

// address is the program counter of a location.
func (s *scan) address(id uint64) (uint64, error) {
	if id >= uint64(len(s.addresses)) {
		return 0, fmt.Errorf("read profile of runtime/pprof: a sample is at location %d, of %d", id, len(s.locations))
	}
	return s.addresses[id], nil
}

// grown is s with room for the index i.
func grown[T any](s []T, i int) []T {
	for len(s) <= i {
		var zero T
		s = append(s, zero)
	}
	return s
}
