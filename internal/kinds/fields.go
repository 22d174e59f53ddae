package kinds

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of fields in profile.proto.
const (
	profileSampleType  = 1
	profileSample      = 2
	profileMapping     = 3
	profileLocation    = 4
	profileFunction    = 5
	profileString      = 6
	profileTime        = 9
	profileDuration    = 10
	profilePeriodType  = 11
	profilePeriod      = 12
	profileComment     = 13
	profileDefaultType = 14

	sampleLocation = 1
	sampleValue    = 2
	sampleLabel    = 3
	labelNum       = 3

	locationID      = 1
	locationAddress = 3
	locationLine    = 4
	lineFunction    = 1
	functionID      = 1
)

// fields walks the fields of one message.
//
//	for f := (fields{rest: msg}); f.next(); {
//		...
//	}
type fields struct {
	rest []byte

	num    protowire.Number
	typ    protowire.Type
	raw    []byte // tag and value
	bytes  []byte // of a BytesType
	varint uint64 // of a VarintType
	err    error
}

func (f *fields) next() bool {
	if len(f.rest) == 0 || f.err != nil {
		return false
	}
	num, typ, n := protowire.ConsumeTag(f.rest)
	if n < 0 {
		return f.fail(n)
	}
	m := 0
	f.bytes, f.varint = nil, 0
	switch typ {
	case protowire.VarintType:
		f.varint, m = protowire.ConsumeVarint(f.rest[n:])
	case protowire.BytesType:
		f.bytes, m = protowire.ConsumeBytes(f.rest[n:])
	default:
		m = protowire.ConsumeFieldValue(num, typ, f.rest[n:])
	}
	if m < 0 {
		return f.fail(m)
	}
	f.num, f.typ, f.raw, f.rest = num, typ, f.rest[:n+m], f.rest[n+m:]
	return true
}

func (f *fields) fail(code int) bool {
	f.err = fmt.Errorf("read profile of runtime/pprof: %w", protowire.ParseError(code))
	return false
}

// integers calls each for the numbers of a repeated field, packed or not.
func (f *fields) integers(each func(uint64)) {
	if f.typ == protowire.VarintType {
		each(f.varint)
		return
	}
	for b := f.bytes; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			f.fail(n)
			return
		}
		each(v)
		b = b[n:]
	}
}
